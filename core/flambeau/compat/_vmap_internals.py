"""`torch._vmap_internals`, the module of `vmap` in PyTorch 1.9 to 1.13."""

from __future__ import annotations

from typing import Any

from ..func import vmap

__all__ = ["vmap"]


def _vmap(func: Any, in_dims: Any = 0, out_dims: Any = 0, allow_none_pass_through: bool = False) -> Any:
    """Return `torch.func.vmap(func, in_dims, out_dims)`."""
    return vmap(func, in_dims, out_dims)
