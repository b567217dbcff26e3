"""Special functions, as in `scipy.special`: the namespace `torch.special`, and the functions that `torch` has as well."""
