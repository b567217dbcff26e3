"""Writing by index with a reduction: `scatter_reduce` and `index_reduce`."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from ..engine.calls.dispatch import require_dtype
from ..engine.calls.facts import Autocast, Kind
from ..engine.calls.inplace import write_elements
from ..engine.calls.op import composite, op
from ..engine.calls.record import Out
from ..engine.devices.warning import warn_once
from ..engine.tape.grad_mode import is_grad_enabled
from ..engine.tensors.tensor import Tensor
from ..engine.values import dtypes
from .indexing.gather import check_index_dtype, copy_depending_on, lined_up, scatter_add
from .indexing.standard import getitem
from .indexing.subscripts import reduce_at, sum_at
from .scatter import check_scatter, check_source, flat_positions, scatter
from .views.views import wrap_dim

_COMBINE: dict[str, Callable[[Any], Callable[[Any, Any], Any]]] = {
    "prod": lambda xp: xp.multiply,
    "mean": lambda xp: xp.add,
    "amax": lambda xp: xp.maximum,
    "amin": lambda xp: xp.minimum,
}


def _forward(xp: Any, input: Any, src: Any, index: Any, /, dim: int, reduce: str, include_self: bool, neutral: Any) -> Any:
    """Reduce the elements of `src` for each position, together with the element of `input` at this position.

    Args:
        neutral: the element that does not change others when it is combined with them
    """
    size, combine = prod(input.shape), _COMBINE[reduce](xp)
    positions = xp.reshape(flat_positions(xp, index, dim, input.shape), (-1,))
    terms = xp.reshape(getitem(xp, src, tuple(slice(0, n) for n in index.shape)), (-1,))
    hits = sum_at(xp, xp.ones_like(positions), positions, size)
    neutral = xp.asarray(neutral, dtype=input.dtype)
    kept = xp.reshape(input, (-1,))
    kept = kept if include_self else xp.where(hits > 0, neutral, kept)
    result = combine(kept, reduce_at(xp, terms, positions, size, combine, neutral))
    if reduce == "mean":
        count = xp.astype(xp.clip(hits + int(include_self), 1, None), input.dtype)
        result = result // count if xp.isdtype(input.dtype, "integral") else result / count
    return xp.reshape(result, input.shape)


def _gradient_of_input(F: Any, g: Any, out: Any, input: Any, src: Any, index: Any, dim: int, reduce: str, include_self: bool,
                       neutral: Any) -> Any:  # fmt: skip
    if reduce == "prod":
        factor = F.where(input == 0, 1.0, input)
        product = F.scatter_reduce_along(factor, src, index, dim, reduce, include_self, neutral)
        gradient = g * F.conj(product / factor)
    elif reduce == "mean":
        gradient = g / _count(F, input, src, index, dim, include_self)
    else:
        gradient = F.masked(_share(F, g, out, input, src, index, dim), input == out)
    return gradient if include_self else F.scatter_along(gradient, F.zeros_of(gradient, tuple(index.shape)), index, dim)


def _gradient_of_src(F: Any, g: Any, out: Any, input: Any, src: Any, index: Any, dim: int, reduce: str, include_self: bool,
                     neutral: Any) -> Any:  # fmt: skip
    if reduce == "mean":
        return F.gather_along(g / _count(F, input, src, index, dim, include_self), index, dim)
    if reduce != "prod":
        share = F.gather_along(_share(F, g, out, input, src, index, dim), index, dim)
        return F.masked(share, src == F.gather_along(out, index, dim))
    zero = src == 0
    zeros = F.scatter_add_along(F.zeros_of(src, tuple(out.shape)), F.masked(F.ones_of(src), zero), index, dim)
    only_zero = zero & (F.gather_along(zeros, index, dim) == 1)  # its gradient is the product of the other elements
    others = F.scatter_reduce_along(input, F.where(only_zero, 1.0, src), index, dim, reduce, include_self, neutral)
    by_other_elements = F.gather_along(g * F.conj(others), index, dim)
    by_result = F.gather_along(g * F.conj(out), index, dim) / F.conj(F.where(zero, 1.0, src))
    return F.where(only_zero, by_other_elements, by_result)


def _count(F: Any, input: Any, src: Any, index: Any, dim: int, include_self: bool) -> Any:
    """Return how many elements each element of the mean is computed from."""
    start = F.ones_of(input) if include_self else F.zeros_of(input, tuple(input.shape))
    count = F.scatter_add_along(start, F.ones_of(src), index, dim)
    return count + F.masked(F.ones_of(count), count == 0)


def _share(F: Any, g: Any, out: Any, input: Any, src: Any, index: Any, dim: int) -> Any:
    """Divide the gradient of each extreme by the number of elements that equal it."""
    equal = F.masked(F.ones_of(src), src == F.gather_along(out, index, dim))
    return g / F.scatter_add_along(F.masked(F.ones_of(input), input == out), equal, index, dim)


_reduce = op(
    "scatter_reduce_along", _forward,
    kind=Kind.SCATTER, keeps_dtype=("index",), promote="match", public=False, method=False,
    input=_gradient_of_input, src=_gradient_of_src,
)  # fmt: skip


def _limits(dtype: dtypes.dtype) -> tuple[Any, Any]:
    if dtype is dtypes.bool_:
        return False, True
    if dtype.is_floating_point:
        return float("-inf"), float("inf")
    limits = dtypes.iinfo(dtype)
    return limits.min, limits.max


@composite(
    inplace=True,
    out=Out.OWN_DTYPE | Out.DISJOINT_BUT_FIRST,
    grad_fn="ScatterReduceBackward0",
    kind=Kind.SCATTER,
    autocast=Autocast.WHOLE,
    schema=(
        "scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> Tensor",
        "scatter_reduce_.two(Tensor(a!) self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True)"
        " -> Tensor(a!)",
    ),
)
def scatter_reduce(input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True) -> Tensor:
    """Scatter `src`, and combine all elements for one position by "sum", "prod", "mean", "amax" or "amin".

    Without `include_self`, the elements of `input` at the written positions are left out.

    Args:
        dim: the dimension along which `index` refers to elements.
        index: an integer tensor with the number of dimensions of `input`; no size is larger than that of `src`.
        src: the elements to combine, with the dtype of `input`.
        reduce: "sum", "prod", "mean", "amax" or "amin".
        include_self: whether the elements of `input` take part.

    Raises:
        RuntimeError: the shapes or dtypes do not match, or an index is out of range.

    >>> torch.zeros(2).scatter_reduce(0, torch.tensor([0, 0, 1]), torch.tensor([1.0, 3.0, 2.0]), "amax")
    tensor([3., 2.])
    """
    if reduce != "sum" and reduce not in _COMBINE:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if reduce in ("amax", "amin", "mean"):
        require_dtype(f"scatter_gather_tensor_cpu_reduce_{reduce}", input, "numbers" if reduce == "mean" else "real")
    dim = wrap_dim(dim, input.ndim)
    if not input.ndim:
        return scatter_reduce(input.reshape(1), 0, index.reshape(-1), src.reshape(-1), reduce, include_self=include_self).reshape(
            ()
        )
    check_index_dtype("scatter", index)
    if not index.numel():
        return copy_depending_on(input, src)
    index, src = lined_up(input, index, src)
    check_scatter(input, dim, index, src)
    if reduce == "sum":
        return scatter_add(input if include_self else scatter(input, dim, index, 0), dim, index, src)
    src = src[tuple(slice(0, n) for n in index.shape)]
    neutral = {"prod": 1, "mean": 0}.get(reduce)
    if neutral is None:
        neutral = _limits(input.dtype)[0 if reduce == "amax" else 1]
    if is_grad_enabled() and (input.requires_grad or src.requires_grad):  # the gradients need the original `input`
        return _reduce(input, src, index, dim, reduce, include_self, neutral)
    return write_elements("scatter_reduce_along", input, src, index, dim, reduce, include_self, neutral)


@composite(
    inplace=True,
    out=Out.OWN_DTYPE | Out.DISJOINT_BUT_FIRST,
    grad_fn="IndexReduceBackward0",
    kind=Kind.SCATTER,
    autocast=Autocast.WHOLE,
)
def index_reduce(input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True) -> Tensor:
    """Return `input` with the slices at the positions `index` of `dim` reduced with the slices of `source`.

    Args:
        input: a tensor of any shape.
        dim: the dimension of the slices.
        index: an integer vector of positions.
        source: a tensor with the dtype of `input`, and its shape except in `dim`, where it has the length of `index`.
        reduce: the reduction: "prod", "mean", "amax" or "amin".
        include_self: whether the slices of `input` are part of the reduction; otherwise, they are replaced.
        out: a tensor that the result is written to.

    Raises:
        IndexError: a position is out of range.
        RuntimeError: another reduction, or shapes that do not fit.

    >>> torch.index_reduce(torch.ones(2), 0, torch.tensor([0, 0]), torch.tensor([2.0, 5.0]), "prod")
    tensor([10.,  1.])
    """
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"reduce argument must be either prod, mean, amax or amin, got {reduce}.")
    warn_once("index_reduce() is in beta and the API may change at any time.")
    dim = check_source("index_reduce", input, dim, index, source)
    require_dtype("index_func_", input, "real numbers" if not input.ndim else "numbers" if reduce == "mean" else "all")
    outer_shapes = [[size for d, size in enumerate(tensor.shape) if d != dim] for tensor in (input, source)]
    if source.ndim and outer_shapes[0] != outer_shapes[1]:
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape "
            f"= {list(input.shape)} source.shape = {list(source.shape)}"
        )
    if not input.ndim:
        return scatter_reduce(input, 0, index.reshape(()), source.reshape(()), reduce, include_self=include_self)
    shape = [1] * input.ndim
    shape[dim] = index.numel()
    spread = index.reshape(shape).expand_as(source)
    return scatter_reduce(input, dim, spread, source, reduce, include_self=include_self)
