"""Differences, gradients and integrals of sampled functions."""

from __future__ import annotations

from typing import Any

from ..engine.calls.arguments import Dims, Number, as_python
from ..engine.calls.facts import Kind, Linearity
from ..engine.calls.op import composite
from ..engine.calls.record import Out
from ..engine.tensors.tensor import Tensor
from ..engine.values import dtypes
from .joining import cat
from .reductions import reduced_dims
from .views.views import wrap_dim


@composite(out=Out.UNCHECKED, linearity=Linearity.JOINT)
def diff(input: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None) -> Tensor:
    """Return the `n`-th differences of neighbouring elements along `dim`.

    Args:
        input: a tensor of at least one dimension.
        n: the number of times that differences are taken.
        dim: the dimension along which elements are subtracted.
        prepend, append: tensors that are concatenated with `input` along `dim` beforehand, with the same number of dimensions.
        out: a tensor that the result is written to.

    Raises:
        RuntimeError: `input` is 0-d, or `n` is negative.

    >>> torch.diff(torch.tensor([1, 4, 9])), torch.diff(torch.tensor([1, 4, 9]), n=2)
    (tensor([3, 5]), tensor([2]))
    """

    if not input.ndim:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    if any(tensor is not None and tensor.ndim != input.ndim for tensor in (prepend, append)):
        raise RuntimeError("diff expects prepend or append to be the same dimension as input")
    if not n:
        return input.clone()
    parts = [part for part in (prepend, input, append) if part is not None]
    result = cat(parts, dim) if len(parts) > 1 else input
    for _ in range(min(n, result.shape[dim])):
        after, before = _neighbours(result, dim)
        result = after ^ before if result.dtype is dtypes.bool_ else after - before
    return result.clone() if result is input else result


def _neighbours(input: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """Return all elements along `dim` except the first, and all except the last."""
    dim = wrap_dim(dim, input.ndim)
    count = max(input.shape[dim] - 1, 0)
    return input.narrow(dim, input.shape[dim] - count, count), input.narrow(dim, 0, count)


def _steps(name: str, y: Tensor, x: Tensor | None, dx: Any, dim: int) -> Any:
    if x is None:
        if isinstance(dx, (bool, complex)):
            raise RuntimeError(f"{name}: Currently, we only support dx as a real number.")
        return dx
    if x.ndim == 1 and len(x) != y.shape[wrap_dim(dim, y.ndim)]:
        raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
    spaces = x.diff(dim=-1 if x.ndim == 1 else dim)
    return spaces.reshape((-1,) + (1,) * (y.ndim - 1 - wrap_dim(dim, y.ndim))) if x.ndim == 1 else spaces


def _refuse_bool(name: str, *tensors: Tensor | None) -> None:
    if any(tensor is not None and tensor.dtype is dtypes.bool_ for tensor in tensors):
        raise RuntimeError(f"{name}: received a bool input for `x` or `y`, but bool is not supported")


@composite(
    method=False,
    aliases=("trapz",),
    kind=Kind.REDUCTION,
    schema=(
        "trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor",
        "trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor",
    ),
)
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Number = 1, dim: int = -1) -> Tensor:
    """Integrate `y` over `dim` by the trapezoidal rule; the points are at `x`, or `dx` apart.

    Args:
        y: the values, a tensor.
        x: the points, a vector or a tensor that can be broadcast with `y`; None for equal distances.
        dx: the distance between points, used without `x`.
        dim: the dimension to integrate over.

    >>> torch.trapezoid(torch.tensor([1.0, 2.0, 3.0]), dx=2)
    tensor(8.)
    """
    _refuse_bool("trapezoid", y, x)
    steps = _steps("trapezoid", y, x, dx, dim)
    if x is None and y.shape[wrap_dim(dim, y.ndim)]:
        return (y.sum(dim) - (y.select(dim, 0) + y.select(dim, -1)) * 0.5) * steps  # type: ignore[no-any-return]  # the steps are Any
    after, before = _neighbours(y, dim)
    return ((after + before) * steps).sum(dim) / 2.0  # type: ignore[no-any-return]  # the steps are Any


@composite(
    method=False,
    kind=Kind.SCAN,
    schema=(
        "cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor",
        "cumulative_trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor",
    ),
)
def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Number = 1, dim: int = -1) -> Tensor:
    """Return the cumulative integral of `y` along `dim` by the trapezoidal rule.

    Args:
        y: the values of the integrand; bool is not supported.
        x: the points, a vector or a tensor that can be broadcast with `y`; None for points `dx` apart.
        dx: the distance between points, if `x` is not given.
        dim: the dimension along which to integrate.

    >>> torch.cumulative_trapezoid(torch.tensor([1.0, 3.0, 5.0]))
    tensor([2., 6.])
    """
    _refuse_bool("cumulative_trapezoid", y, x)
    after, before = _neighbours(y, dim)
    return ((after + before) * _steps("cumulative_trapezoid", y, x, dx, dim)).cumsum(dim) / 2.0  # type: ignore[no-any-return]  # the steps are Any


@composite(method=False)
def gradient(input: Tensor, *, spacing: Any = None, dim: Dims | None = None, edge_order: int = 1) -> tuple[Tensor, ...]:
    """Return the derivative along each dimension in `dim`, by central differences and, at the edges, by one-sided ones.

    Args:
        input: a tensor of values of a function on a grid; uint8 is not supported.
        spacing: the distance between points; or a list with, for each dimension, a distance or a vector of coordinates.
        dim: the dimension or dimensions; None for all.
        edge_order: the order of accuracy of the one-sided differences: 1 or 2.

    Raises:
        RuntimeError: a dimension has fewer than `edge_order + 1` elements, or `spacing` has another length than `dim`.

    >>> torch.gradient(torch.tensor([1.0, 4.0, 9.0]))
    (tensor([3., 4., 5.]),)
    """
    if input.dtype is dtypes.uint8:
        raise RuntimeError("torch.gradient does not support uint8 input.")
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    spacing = as_python(spacing)
    if isinstance(spacing, Tensor):
        raise TypeError("gradient(): argument 'spacing' must be a number, a list of numbers or a list of Tensors, not Tensor")
    dims, spacing = reduced_dims(dim, input.ndim), 1 if spacing is None else spacing
    spaces = list(spacing) if isinstance(spacing, (tuple, list)) else [spacing] * len(dims)
    if len(spaces) != len(dims):
        raise RuntimeError(f"torch.gradient expected spacing to be unspecified, a scalar, or a list of length {len(dims)}")
    for d in dims:
        if dims.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    return tuple(_gradient_along(input, space, d, edge_order) for space, d in zip(spaces, dims, strict=True))


def _gradient_along(input: Tensor, space: Any, dim: int, edge_order: int) -> Tensor:
    from .creation.ranges import arange

    n = input.shape[dim]
    if n < edge_order + 1:
        raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
    real = input.dtype.to_real() if input.dtype.category >= dtypes.FLOATING else dtypes.get_default_dtype()
    if isinstance(space, Tensor):
        x, input = space, input.to(dtypes.promote_types(input.dtype, space.dtype))  # before differences lose digits
    else:
        x = arange(n, device=input.device).to(real) * space
    x = x.reshape((-1,) + (1,) * (input.ndim - 1 - dim))
    h = x.narrow(0, 1, n - 1) - x.narrow(0, 0, n - 1)
    slope = (input.narrow(dim, 1, n - 1) - input.narrow(dim, 0, n - 1)) / h
    if n == 2:
        return cat([slope, slope], dim)
    left, right = slope.narrow(dim, 0, n - 2), slope.narrow(dim, 1, n - 2)
    h0, h1 = h.narrow(0, 0, n - 2), h.narrow(0, 1, n - 2)
    if isinstance(space, Tensor):
        middle = (left * h1 + right * h0) / (h0 + h1)
    else:  # not the mean of `left` and `right`, which is NaN where the middle element is infinite
        middle = (input.narrow(dim, 2, n - 2) - input.narrow(dim, 0, n - 2)) / (2 * space)
    first, last = slope.narrow(dim, 0, 1), slope.narrow(dim, n - 2, 1)
    if edge_order == 2:
        first = first + (first - slope.narrow(dim, 1, 1)) * h.narrow(0, 0, 1) / (h.narrow(0, 0, 1) + h.narrow(0, 1, 1))
        last = last + (last - slope.narrow(dim, n - 3, 1)) * h.narrow(0, n - 2, 1) / (
            h.narrow(0, n - 2, 1) + h.narrow(0, n - 3, 1)
        )
    return cat([first, middle, last], dim)
