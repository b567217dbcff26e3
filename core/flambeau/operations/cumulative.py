"""Cumulative sums, products, extremes and log-sum-exp along a dimension."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..engine.calls.facts import Autocast, Kind, Linearity, Order
from ..engine.calls.op import composite, op
from ..engine.calls.record import Out
from ..engine.calls.results import result_type
from ..engine.calls.tables import OPS
from ..engine.tensors.tensor import Tensor
from ..engine.values import dtypes
from .pointwise import logaddexp_forward
from .reductions import select_backward
from .views.views import wrap_dim

# --- sums and products --------------------------------------------------------------------------------------------

_cumsum = op(
    "cumsum", lambda xp, input, /, dim, *, dtype=None: xp.cumulative_sum(input, axis=dim),
    kind=Kind.SCAN, linearity=Linearity.JOINT, order=Order.ROW_MAJOR, autocast={"cuda": Autocast.FLOAT32},
    promote="sum", public=False,
    method=False,
    input=lambda F, g, dim: F.flip(F.cumsum(F.flip(g, (dim,)), dim), (dim,)),
)  # fmt: skip


def _cumprod_grad(F: Any, g: Any, input: Any, dim: int, input_shape: Any) -> Any:
    """Return `p_i * s_i`, where `p_i` is the product of the elements before i, and `s_i = g_i + x_{i+1} s_{i+1}`.

    This formula is exact if elements are 0, as it does not divide.  A doubling scan over 1, 2, 4, ... elements solves the
    recurrence of `s_i` (Hillis & Steele 1986, "Data parallel algorithms").
    """
    n = input_shape[dim]

    def part(array: Any, start: int, stop: int) -> Any:
        return F.getitem_slice(array, (slice(None),) * dim + (slice(start, stop),))

    sums, factors, span = g, F.conj(part(input, 1, n)), 1
    while span < n:
        rest = n - span
        sums = F.cat([part(sums, 0, rest) + factors * part(sums, span, n), part(sums, rest, n)], dim)
        if span < rest:
            factors = part(factors, 0, rest - span) * part(factors, span, rest)
        span *= 2
    return F.conj(F.shifted(F.cumprod(input, dim), dim, 1)) * sums if n else g


_cumprod = op(
    "cumprod", lambda xp, input, /, dim, *, dtype=None: xp.cumulative_prod(input, axis=dim),
    kind=Kind.SCAN, order=Order.ROW_MAJOR, autocast={"cuda": Autocast.FLOAT32}, promote="sum", public=False,
    method=False,
    input=_cumprod_grad,
)  # fmt: skip


def _cumulative(name: str, record: Callable[..., Tensor]) -> Any:
    def function(input: Tensor, dim: int, *, dtype: dtypes.dtype | None = None) -> Tensor:
        if not input.ndim:
            wrap_dim(dim, 0)
            return record(input.reshape(1), 0, dtype=dtype).reshape(())
        if dtype is dtypes.bool_ and input.numel():
            raise NotImplementedError(f"\"{name}_out_cpu\" not implemented for 'Bool'")
        return record(input, wrap_dim(dim, input.ndim), dtype=dtype)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""Return the cumulative {"sum" if name == "cumsum" else "product"} along `dim`.

    Args:
        input: a tensor of any shape.
        dim: the dimension along which to accumulate.
        dtype: the dtype of the result, to which `input` is converted first; None for the dtype of `input`, or for int64 if that
            is an integer dtype or bool.
        out: a tensor that the result is written to.

    >>> torch.{name}(torch.tensor([1, 2, 3]), 0)
    tensor([1, {"3, 6" if name == "cumsum" else "2, 6"}])
    """
    return composite(function, inplace=True, out=Out.SETS_DTYPE)


cumsum, cumprod = _cumulative("cumsum", _cumsum), _cumulative("cumprod", _cumprod)


# --- extremes -----------------------------------------------------------------------------------------------------


def _running_extreme(name: str, of_two: str) -> Any:
    """Define `cummax` or `cummin`.

    They are doubling scans: after step k, each position holds the extreme of the last 2**k positions.
    """

    def forward(xp: Any, input: Any, /, dim: int) -> Any:
        values, length = input, input.shape[dim]
        if length < 2:
            return xp.asarray(input, copy=True), xp.zeros(input.shape, dtype=xp.int64)
        shape = [1] * input.ndim
        shape[dim] = length
        where = xp.broadcast_to(xp.reshape(xp.arange(length, dtype=xp.int64), tuple(shape)), input.shape)
        before: tuple[Any, ...] = (slice(None),) * dim
        step = 1
        while step < length:
            old, new = values[(*before, slice(0, -step), ...)], values[(*before, slice(step, None), ...)]
            keeps = new >= old if of_two == "max" else new <= old
            if xp.isdtype(input.dtype, "real floating"):
                keeps = keeps | xp.isnan(new)
                keeps = keeps & ~(xp.isnan(old) & ~xp.isnan(new))
            head, head_where = values[(*before, slice(0, step), ...)], where[(*before, slice(0, step), ...)]
            values = xp.concat([head, xp.where(keeps, new, old)], axis=dim)
            old_where, new_where = where[(*before, slice(0, -step), ...)], where[(*before, slice(step, None), ...)]
            where = xp.concat([head_where, xp.where(keeps, new_where, old_where)], axis=dim)
            step *= 2
        return values, where

    record: Callable[..., Any] = op(
        name,
        forward,
        kind=Kind.SCAN,
        dtypes="real",
        results=("values", "indices"),
        result_promotions=("same", "index"),
        public=False,
        method=False,
        vjp=lambda F, g, indices, input_shape, dim: (select_backward(F, g[0], indices, input_shape, dim, True),),
    )

    def function(input: Tensor, dim: int) -> Any:
        if not input.ndim:
            wrap_dim(dim, 0)
            return result_type(OPS[name])((input.clone(), input.new_zeros((), dtype=dtypes.int64)))
        return record(input, wrap_dim(dim, input.ndim))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""Return the cumulative {of_two}imum along `dim`, and its last index.

    Args:
        input: a tensor of a real dtype.
        dim: the dimension along which to accumulate.
        out: tensors that the results are written to.

    >>> torch.{name}(torch.tensor([2, 3, 1]), 0).values
    tensor([2, {"3, 3" if of_two == "max" else "2, 1"}])
    """
    return composite(function, out=Out.OWN_DTYPE)


cummax, cummin = _running_extreme("cummax", "max"), _running_extreme("cummin", "min")


# --- log-sum-exp --------------------------------------------------------------------------------------------------


def _logcumsumexp_forward(xp: Any, input: Any, /, dim: int) -> Any:
    """Compute a cumulative log-sum-exp by a doubling scan; adjacent partial sums are combined without overflow."""
    sums, step, length = xp.asarray(input, copy=True) if input.shape[dim] < 2 else input, 1, input.shape[dim]
    before: tuple[Any, ...] = (slice(None),) * dim
    while step < length:
        joined = logaddexp_forward(xp, sums[(*before, slice(0, -step), ...)], sums[(*before, slice(step, None), ...)])
        sums = xp.concat([sums[(*before, slice(0, step), ...)], joined], axis=dim)
        step *= 2
    return sums


_logcumsumexp = op(
    "logcumsumexp", _logcumsumexp_forward,
    kind=Kind.SCAN, order=Order.ROW_MAJOR, promote="float_accumulate", dtypes="inexact", public=False, method=False,
    input=lambda F, g, input, out, dim: _logcumsumexp_grad(F, g, input, out, dim),
)  # fmt: skip


def _logcumsumexp_grad(F: Any, g: Any, input: Any, out: Any, dim: int) -> Any:
    """Return the gradient, computed by a doubling scan.

    Each sum receives the gradients of later sums, multiplied by its share in them: `exp(sum - later sum)`, at most 1.
    """
    grad, step, length = g, 1, input.shape[dim]
    before: tuple[Any, ...] = (slice(None),) * dim
    while step < length:
        here, later = (*before, slice(0, -step), ...), (*before, slice(step, None), ...)
        share = F.conj(F.exp(F.getitem_slice(out, here) - F.getitem_slice(out, later)))
        joined = F.getitem_slice(grad, here) + share * F.getitem_slice(grad, later)
        grad = F.cat([joined, F.getitem_slice(grad, (*before, slice(length - step, None), ...))], dim)
        step *= 2
    return grad * F.conj(F.exp(input - out))


@composite(out=Out.OWN_DTYPE)
def logcumsumexp(input: Tensor, dim: int) -> Tensor:
    """Return the cumulative `log(sum(exp(input)))` along `dim`.

    Args:
        input: a floating-point or complex tensor.
        dim: the dimension along which to accumulate.
        out: a tensor that the result is written to.

    >>> torch.logcumsumexp(torch.zeros(3), 0)
    tensor([0.0000, 0.6931, 1.0986])
    """
    if not input.ndim:
        wrap_dim(dim, 0)
        return input.clone()
    return _logcumsumexp(input, wrap_dim(dim, input.ndim))
