"""Linear algebra in the `torch` namespace: products of tensors, norms, and older names of functions of `torch.linalg`.

The implementations are in `flambeau.linalg`, which is imported when one of them is first called.
"""

from . import norms, products, routines

__all__ = ["norms", "products", "routines"]
