"""Sums, products, means, extremes and truths over dimensions, and running ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import dtypes
from ..op import composite, op
from .._tensor import Tensor
from .views import wrap_dim


def reduced_dims(dim: Any, ndim: int) -> tuple[int, ...]:
    """The dimensions that ``dim`` (None, an int or a sequence) means."""
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return tuple(range(ndim))
    return tuple(each + ndim if each < 0 else each for each in (dim if isinstance(dim, (tuple, list)) else (dim,)))


def spread(F: Any, g: Any, shape: Sequence[int], dim: Any, keepdim: bool) -> Any:
    """Undo a reduction's loss of shape: the gradient again for every element that went into it."""
    if not keepdim and len(g.shape) != len(shape):
        kept = set(reduced_dims(dim, len(shape)))
        g = F.reshape(g, tuple(1 if i in kept else n for i, n in enumerate(shape)))
    return F.expand(g, tuple(shape))


def count(shape: Sequence[int], dim: Any) -> int:
    """How many elements a reduction takes together."""
    return math.prod(shape[each] for each in reduced_dims(dim, len(shape)))


def _axis(dim: Any) -> Any:
    return tuple(dim) or None if isinstance(dim, (tuple, list)) else dim


sum = op(
    "sum", lambda xp, input, /, dim=None, keepdim=False, *, dtype=None: xp.sum(input, axis=_axis(dim), keepdims=keepdim),
    promote="sum",
    doc="""The sum of all elements, or over the dimensions ``dim``; integers are summed in int64.

    >>> import flambeau as torch
    >>> torch.tensor([[1, 2], [3, 4]]).sum(0, keepdim=True)
    tensor([[4, 6]])
    """,
    input=lambda F, g, input_shape, dim, keepdim: spread(F, g, input_shape, dim, keepdim),
)  # fmt: skip

_mean = op(
    "mean", lambda xp, input, /, dim=None, keepdim=False, *, dtype=None: xp.mean(input, axis=_axis(dim), keepdims=keepdim),
    promote="accumulate", public=False, method=False,
    input=lambda F, g, input_shape, dim, keepdim: spread(F, g / count(input_shape, dim), input_shape, dim, keepdim),
)  # fmt: skip


@composite(out=True)
def mean(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The mean of all elements, or over the dimensions ``dim``.

    Raises:
        RuntimeError: the dtype is neither floating point nor complex.
    """
    if input.dtype.category < dtypes.FLOATING and dtype is None:
        raise RuntimeError("mean(): could not infer output dtype. Input dtype must be either a floating point or complex "
                           f"dtype. Got: {input.dtype.legacy_name}")  # fmt: skip
    return _mean(input, dim, keepdim, dtype=dtype)  # type: ignore[no-any-return]
