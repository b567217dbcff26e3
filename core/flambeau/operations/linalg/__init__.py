"""Linear algebra: the namespace `torch.linalg`, and the functions that `torch` has as well.

The routines are imported when one of them is first called, not when `torch_names` is imported.
"""
