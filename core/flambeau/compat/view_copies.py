"""Functions such as `torch.permute_copy`: they return copies of the views that `permute` and similar methods return."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..engine.tensors.tensor import Tensor
from ..engine.values.constants import contiguous_format

__all__ = ["VIEWS"]

VIEWS = (
    "as_strided", "ccol_indices", "col_indices", "crow_indices", "detach", "diagonal", "expand", "indices", "permute",
    "row_indices", "select", "split", "split_with_sizes", "squeeze", "t", "transpose", "unbind", "unfold", "unsqueeze",
    "values", "view", "view_as_complex", "view_as_real",
)  # fmt: skip


def slice_copy(
    input: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1, *, out: Any = None
) -> Any:
    """Return a copy of `input[start:end:step]`, along a dimension."""
    whole = slice(None)
    return _copied(input[(*[whole] * (dim % input.ndim), slice(start, end, step))], out)


def alias_copy(input: Tensor, *, out: Any = None) -> Any:
    """Return a copy of a tensor."""
    return _copied(input, out)


def _copied(views: Any, out: Any) -> Any:
    """Copy a tensor, or each tensor of a sequence, to new tensors or into `out`."""
    if isinstance(views, Tensor):
        if out is None:
            return views.clone(memory_format=contiguous_format)
        return (out if out.shape == views.shape else out.resize_(views.shape)).copy_(views)
    if out is None:
        return tuple(_copied(view, None) for view in views)
    for view, target in zip(views, out, strict=True):
        _copied(view, target)
    return None


def _make_copy(name: str) -> Callable[..., Any]:
    def copy_view(input: Tensor, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        return _copied(getattr(Tensor, name)(input, *args, **kwargs), out)

    copy_view.__name__ = copy_view.__qualname__ = f"{name}_copy"
    copy_view.__doc__ = f"Return a copy of `input.{name}(...)`; see `torch.Tensor.{name}`."
    return copy_view


globals().update({f"{_name}_copy": _make_copy(_name) for _name in VIEWS})
