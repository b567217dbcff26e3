"""Linear algebra: the namespace `torch.linalg`, and the functions that `torch` has as well.

Importing `torch_names` does not load the routines, which are imported when one of them is first called.
"""
