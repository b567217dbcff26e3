"""Reductions: sums, products, means, extremes, any and all, log-sum-exp, norms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..engine.calls.arguments import Dims
from ..engine.calls.dispatch import refusing, require_dtype, whole_numbers
from ..engine.calls.facts import Autocast, Kind, Linearity, Narrow
from ..engine.calls.op import composite, formula, no_slope, op
from ..engine.calls.record import Out
from ..engine.calls.results import result_type
from ..engine.calls.tables import OPS
from ..engine.tape.node import rename_node
from ..engine.tensors.tensor import Tensor
from ..engine.values import dtypes
from .indexing.standard import getitem
from .joining import cat
from .views.views import wrap_dim


def reduced_dims(dim: Any, ndim: int) -> tuple[int, ...]:
    """Convert `dim` (None, an int or a sequence) to a tuple of non-negative dimensions."""
    if type(dim) is int and ndim:
        return (dim + ndim if dim < 0 else dim,)
    if not ndim or dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return tuple(range(ndim))
    return tuple([d + ndim if d < 0 else d for d in (dim if isinstance(dim, (tuple, list)) else (dim,))])


def spread(F: Any, g: Any, shape: Sequence[int], dim: Any, keepdim: bool) -> Any:
    """Expand the gradient of a reduction's result to the shape of its input."""
    if dim is not None and not keepdim and len(g.shape) != len(shape):
        reduced = set(reduced_dims(dim, len(shape)))
        g = F.reshape(g, tuple(1 if i in reduced else n for i, n in enumerate(shape)))
    return F.expand(g, tuple(shape))


def count(shape: Sequence[int], dim: Any) -> int:
    """Return the number of input elements that are reduced to one element of the result."""
    return math.prod([shape[d] for d in reduced_dims(dim, len(shape))])


def axis_of(dim: Any, input: Any) -> Any:
    """Convert `dim` to an `axis` argument of array libraries.

    It is None for a 0-d array, for which PyTorch accepts the dimensions 0 and -1, but array libraries do not.
    """
    if not input.ndim and dim is not None:
        for d in dim if isinstance(dim, (tuple, list)) else (dim,):
            wrap_dim(d, 0)
        return None
    return tuple(dim) or None if isinstance(dim, (tuple, list)) else dim


sum = op(
    "sum", lambda xp, input, /, dim=None, keepdim=False, *, dtype=None: xp.sum(input, axis=axis_of(dim, input), keepdims=keepdim),
    kind=Kind.REDUCTION, linearity=Linearity.JOINT, autocast={"cuda": Autocast.FLOAT32},
    out=Out.SETS_DTYPE | Out.UNCHECKED, promote="sum", grad_fn=("SumBackward0", "SumBackward1"),
    doc="""Return the sum of all elements, or over the dimensions `dim`; integers are summed in int64.

    Args:
        dim: the dimensions to reduce, an int or a tuple; None for all.
        keepdim: whether the reduced dimensions are kept with length 1.
        dtype: the dtype of the result, to which `input` is converted before the summation; None for that of `input`, or for int64
            if it is an integer or bool dtype.

    >>> torch.tensor([[1, 2], [3, 4]]).sum(0, keepdim=True)
    tensor([[4, 6]])
    """,
    input=lambda F, g, input_shape, dim, keepdim: (
        F.expand(g, input_shape) if dim is None else spread(F, g, input_shape, dim, keepdim)),
    schema=(
        "sum(Tensor self, *, ScalarType? dtype=None) -> Tensor",
        "sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    ),
)  # fmt: skip


def mean_grad(F: Any, g: Any, input_shape: Any, dim: Any, keepdim: bool) -> Any:
    return spread(F, g / count(input_shape, dim), input_shape, dim, keepdim)


_mean = op(
    "mean", lambda xp, input, /, dim=None, keepdim=False, *, dtype=None:
        xp.mean(input, axis=axis_of(dim, input), keepdims=keepdim),
    kind=Kind.REDUCTION, linearity=Linearity.JOINT,
    promote="accumulate", public=False, method=False, grad_fn=("MeanBackward0", "MeanBackward1"),
    input=mean_grad,
    schema=(
        "mean(Tensor self, *, ScalarType? dtype=None) -> Tensor",
        "mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    ),
)  # fmt: skip


@composite(out=Out.UNCHECKED)
def mean(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: dtypes.dtype | None = None) -> Tensor:
    """Return the mean of all elements, or over the dimensions `dim`.

    Args:
        dim: the dimensions to reduce, an int or a tuple; None for all.
        keepdim: whether the reduced dimensions are kept with length 1.
        dtype: the dtype of the result, to which `input` is converted before the summation; None for that of `input`.

    Raises:
        RuntimeError: the dtype is neither floating point nor complex.

    >>> torch.tensor([[1.0, 2.0], [3.0, 4.0]]).mean(0)
    tensor([2., 3.])
    """
    if (dtype or input.dtype).category < dtypes.FLOATING:
        problem = "could not infer output dtype. Input dtype" if dtype is None else "the desired output dtype"
        raise RuntimeError(
            f"mean(): {problem} must be either a floating point or complex dtype. Got: {(dtype or input.dtype).legacy_name}"
        )
    return _mean(input, dim, keepdim, dtype=dtype)


# --- products, extremes, any and all ------------------------------------------------------------------------------


@formula(kind=Kind.OTHER, rounds_once=True)
def prod_backward(F: Any, g: Any, input: Any, out: Any, input_shape: Any, dim: Any, keepdim: bool) -> Any:
    """Multiply `g` by the product of all other elements, computed without division, so that it is exact if elements are 0."""
    if not input_shape:
        return g
    flat = dim is None
    source = F.reshape(input, (-1,)) if flat else input
    axis = 0 if flat else dim
    before = F.cumprod(source, axis)
    after = F.flip(F.cumprod(F.flip(source, (axis,)), axis), (axis,))
    others = F.shifted(before, axis, 1) * F.shifted(after, axis, -1)
    # In slices without zeros, PyTorch divides the product by each element, so that the gradient of a NaN element is NaN.
    others = others + F.masked(source, (source != source) & F.all(source != 0, axis, True))
    return spread(F, g, input_shape, dim, keepdim) * F.conj(F.reshape(others, tuple(input_shape)))


_prod = op(
    "prod", lambda xp, input, /, dim=None, keepdim=False, *, dtype=None:
        xp.prod(input, axis=axis_of(dim, input), keepdims=keepdim),
    kind=Kind.REDUCTION, autocast=Autocast.FLOAT32,
    promote="sum", public=False, method=False, grad_fn=("ProdBackward0", "ProdBackward1"),
    input=lambda F, g, input, out, input_shape, dim, keepdim: prod_backward(F, g, input, out, input_shape, dim, keepdim),
    schema=(
        "prod(Tensor self, *, ScalarType? dtype=None) -> Tensor",
        "prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    ),
)  # fmt: skip


def _shifted_forward(xp: Any, input: Any, /, dim: int, by: int) -> Any:
    index = [slice(None)] * input.ndim
    index[dim] = slice(0, 1)
    ones = xp.ones_like(getitem(xp, input, tuple(index)))
    index[dim] = slice(0, -1) if by > 0 else slice(1, None)
    rest = getitem(xp, input, tuple(index))
    parts = [ones, rest] if by > 0 else [rest, ones]
    return xp.concat(parts, axis=dim)


def _shifted_grad(F: Any, g: Any, dim: int, by: int, input_shape: Any) -> Any:
    length = input_shape[dim]
    index = (slice(None),) * dim + (slice(1, length) if by > 0 else slice(0, length - 1),)
    place = (slice(None),) * dim + (slice(0, length - 1) if by > 0 else slice(1, length),)
    return F.getitem_backward(F.getitem_slice(g, index), tuple(input_shape), place)


op(
    "shifted", _shifted_forward, public=False, method=False, out=False, input=_shifted_grad,
    doc="Shift the elements by one along `dim`, and fill the free end with 1.",
)  # fmt: skip


def _one_dim(name: str, input: Tensor, dim: Any) -> int:
    if isinstance(dim, (tuple, list)):
        raise TypeError(f"{name}(): argument 'dim' must be int, not {type(dim).__name__}")
    return wrap_dim(dim, input.ndim)


@composite(out=Out.SETS_DTYPE | Out.UNCHECKED)
def prod(input: Tensor, dim: int | None = None, keepdim: bool = False, *, dtype: dtypes.dtype | None = None) -> Tensor:
    """Return the product of all elements, or over one dimension; integers are multiplied in int64.

    Args:
        dim: the dimension to reduce; None for all.
        keepdim: whether the reduced dimensions are kept with length 1.
        dtype: the dtype of the result, to which `input` is converted before the multiplication; None for that of `input`, or for
            int64 if it is an integer or bool dtype.

    >>> torch.tensor([[1, 2], [3, 4]]).prod(1)
    tensor([ 2, 12])
    """
    return _prod(input, None if dim is None else _one_dim("prod", input, dim), keepdim, dtype=dtype)


def _split_among_extremes(F: Any, g: Any, input: Any, out: Any, input_shape: Any, dim: Any, keepdim: bool) -> Any:
    """Split the gradient evenly among the elements that equal the extreme value."""
    is_extreme = input == spread(F, out, input_shape, dim, keepdim)
    ones = F.masked(F.ones_of(input), is_extreme)
    share = F.sum(ones, tuple(reduced_dims(dim, len(input_shape))), True)
    return ones * spread(F, g, input_shape, dim, keepdim) / share


def _split_among_equals(F: Any, g: Any, input: Any, value: Any) -> Any:
    equal = F.masked(F.ones_of(input), (input == value) | ((input != input) & (value != value)))
    return equal * (g / F.sum(equal))


one_of = op(
    "one_of", lambda xp, input, value: xp.asarray(value, copy=True),
    kind=Kind.FACTORY, public=False, method=False, out=False,
    doc="Return `value`, an element of the input; all elements equal to it (also NaN) share the gradient.",
    input=_split_among_equals,
)  # fmt: skip
op(
    "ones_of", lambda xp, input: xp.ones_like(input),
    kind=Kind.FACTORY, public=False, method=False, out=False, operator="ones_like",
)  # fmt: skip
amax_ = op(
    "amax", lambda xp, input, /, dim=(), keepdim=False: xp.max(input, axis=axis_of(dim, input), keepdims=keepdim),
    kind=Kind.REDUCTION, rounds_once=True,
    dtypes="real", public=False, method=False,
    input=_split_among_extremes,
    schema="amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
)  # fmt: skip
amin_ = op(
    "amin", lambda xp, input, /, dim=(), keepdim=False: xp.min(input, axis=axis_of(dim, input), keepdims=keepdim),
    kind=Kind.REDUCTION, rounds_once=True,
    dtypes="real", public=False, method=False,
    input=_split_among_extremes,
    schema="amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
)  # fmt: skip


def _extremes_grad(F: Any, g: Any, input: Any, out: Any, input_shape: Any, dim: Any, keepdim: bool) -> Any:
    least, greatest = (
        _split_among_extremes(F, gradient, input, extreme, input_shape, dim, keepdim)
        for gradient, extreme in zip(g, out, strict=True)
    )
    return (least + greatest,)


aminmax_ = op(
    "aminmax", lambda xp, input, /, dim=(), keepdim=False: (
        xp.min(input, axis=axis_of(dim, input), keepdims=keepdim),
        xp.max(input, axis=axis_of(dim, input), keepdims=keepdim),
    ),
    kind=Kind.REDUCTION, rounds_once=True, results=("min", "max"), dtypes="real", public=False, method=False, out=False,
    vjp=_extremes_grad,
)  # fmt: skip


def refuse_empty(name: str, input: Tensor, dim: Any) -> None:
    shape = input._array.shape
    if 0 in shape:
        if dim is None or dim == ():
            error = IndexError if name.startswith("arg") else RuntimeError
            raise error(
                f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim "
                "with the 'dim' argument."
            )
        for d in reduced_dims(dim, len(shape)):
            if shape[d] == 0:
                raise IndexError(f"{name}(): Expected reduction dim {d} to have non-zero size.")


@composite(out=Out.OWN_DTYPE | Out.UNCHECKED)
def amax(input: Tensor, dim: Any = (), keepdim: bool = False) -> Tensor:
    """Return the largest of all elements, or over the dimensions `dim`; equal elements share the gradient.

    Args:
        input: a tensor of a real dtype.
        dim: the dimension or dimensions to reduce; () for all.
        keepdim: whether reduced dimensions are kept with size 1.
        out: a tensor that the result is written to.

    Raises:
        IndexError: a reduced dimension is empty.

    >>> torch.amax(torch.tensor([[1, 5], [3, 2]]), 1)
    tensor([5, 3])
    """
    refuse_empty("amax", input, dim)
    return amax_(input, dim, keepdim)


@composite(out=Out.OWN_DTYPE | Out.UNCHECKED)
def amin(input: Tensor, dim: Any = (), keepdim: bool = False) -> Tensor:
    """Return the smallest of all elements, or over the dimensions `dim`; equal elements share the gradient.

    Args:
        input: a tensor of a real dtype.
        dim: the dimension or dimensions to reduce; () for all.
        keepdim: whether reduced dimensions are kept with size 1.
        out: a tensor that the result is written to.

    Raises:
        IndexError: a reduced dimension is empty.

    >>> torch.amin(torch.tensor([[1, 5], [3, 2]]), 1)
    tensor([1, 2])
    """
    refuse_empty("amin", input, dim)
    return amin_(input, dim, keepdim)


def _extreme(name: str, arg: str) -> Any:
    """Define `max(dim)` or `min(dim)`, which return the extreme values and their indices."""

    def forward(xp: Any, input: Any, /, dim: int, keepdim: bool = False) -> Any:
        where = getattr(xp, arg)(input, axis=dim, keepdims=True)
        values = xp.take_along_axis(input, where, axis=dim)
        where = xp.astype(where, xp.int64)
        return (values, where) if keepdim else (xp.squeeze(values, axis=dim), xp.squeeze(where, axis=dim))

    return op(
        f"{name}_dim",
        forward,
        kind=Kind.REDUCTION,
        rounds_once=True,
        results=("values", "indices"),
        result_promotions=("same", "index"),
        public=False,
        method=False,
        dtypes="real",
        check=refusing(dtypes.COMPLEX, f"{name}(): does not support complex input"),
        operator=name,
        grad_fn=f"{name.capitalize()}Backward0",
        vjp=lambda F, g, indices, input_shape, dim, keepdim: (select_backward(F, g[0], indices, input_shape, dim, keepdim),),
    )


def select_backward(F: Any, g: Any, indices: Any, shape: Any, dim: int, keepdim: bool) -> Any:
    """Scatter the gradients to `indices` along `dim`."""
    if not shape:
        return g
    if not keepdim:
        keepdim_shape = tuple(1 if d == dim else length for d, length in enumerate(shape))
        g, indices = F.reshape(g, keepdim_shape), F.reshape(indices, keepdim_shape)
    return F.scatter_add_along(F.zeros_of(g, tuple(shape)), g, indices, dim)


_max_dim, _min_dim = _extreme("max", "argmax"), _extreme("min", "argmin")


def _max_or_min(name: str, along: Any, of_all: Any, of_two: str) -> Any:
    def function(input: Tensor, *args: Any, dim: Any = None, keepdim: bool = False, other: Any = None) -> Any:
        if args:
            dim, keepdim = (args[0], args[1] if len(args) > 1 else keepdim)
            if type(dim) is not int and not isinstance(dim, Tensor):
                raise TypeError(f"{name}(): argument 'dim' (position 2) must be int or Tensor, not {type(dim).__name__}")
        if isinstance(dim, Tensor):
            dim, other = None, dim
        if other is not None:
            return getattr(input, of_two)(other)
        if dim is None:
            refuse_empty(name, input, None)
            result = one_of(input, of_all(input.detach(), ())) if input._requires_grad else of_all(input, ())
            return rename_node(result, f"{name.capitalize()}Backward1")
        refuse_empty(name, input, (dim,)) if 0 in input._array.shape else None
        if not input.ndim:
            wrap_dim(dim, 0)
            values, indices = along(input.reshape(1), 0, keepdim=False)
            return result_type(OPS[f"{name}_dim"])((values, indices))
        return along(input, wrap_dim(dim, input.ndim), keepdim)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""Return the {name}imum of all elements, of each slice over `dim` with its index, or of two tensors.

    The forms are `{name}(input)`, `{name}(input, dim, keepdim)`, which returns `(values, indices)`, and `{name}(input, other)`.

    Args:
        dim: the dimension to reduce.
        keepdim: whether the reduced dimension is kept with length 1.
        other: a tensor that can be broadcast with `input`, to compare element by element; see `torch.{name}imum`.

    Raises:
        RuntimeError: `input` is empty and no `dim` is given.
        IndexError: the length of `dim` is 0.

    >>> torch.{name}(torch.tensor([[1, 4], [3, 2]]), 1).values
    tensor([{"4, 3" if name == "max" else "1, 2"}])
    """
    schema = (
        f"{name}(Tensor self) -> Tensor",
        f"{name}.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
        f"{name}.other(Tensor self, Tensor other) -> Tensor",
    )
    return composite(function, out=Out.OWN_DTYPES | Out.UNCHECKED, kind=Kind.REDUCTION, schema=schema)


max = _max_or_min("max", _max_dim, amax_, "maximum")
min = _max_or_min("min", _min_dim, amin_, "minimum")


def _arg(name: str) -> Any:
    def forward(xp: Any, input: Any, /, dim: Any = None, keepdim: bool = False) -> Any:
        if dim is None and keepdim:
            where = xp.reshape(getattr(xp, name)(xp.reshape(input, (-1,)), axis=0), (1,) * input.ndim)
        else:
            where = getattr(xp, name)(input, axis=dim, keepdims=keepdim) if dim is not None else getattr(xp, name)(input)
        return xp.astype(where, xp.int64, copy=False)  # some libraries return narrow or unsigned indices

    record = op(name, forward, kind=Kind.REDUCTION, promote="index", public=False, method=False)

    def function(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
        refuse_empty(name, input, None if dim is None else (dim,)) if 0 in input._array.shape else None
        if input._key.dtype.category in (dtypes.BOOL, dtypes.COMPLEX):
            raise RuntimeError(f"{name}(): does not support {'complex' if input.is_complex() else 'bool'} input")
        if not input.ndim:
            return input.new_zeros((), dtype=dtypes.int64)
        return record(input, None if dim is None else wrap_dim(dim, input.ndim), keepdim)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""Return the index of the {name[3:]}imum in the flattened tensor, or of each slice over `dim`.

    Args:
        input: a tensor of an integer or floating-point dtype.
        dim: the dimension to reduce; None for all.
        keepdim: whether reduced dimensions are kept with size 1.
        out: a tensor that the result is written to.

    Raises:
        IndexError: the reduced dimension is empty.

    >>> torch.{name}(torch.tensor([[1, 5], [3, 2]]), 1)
    tensor({[1, 0] if name == "argmax" else [0, 1]})
    """
    return composite(function, out=Out.OWN_DTYPE)


argmax, argmin = _arg("argmax"), _arg("argmin")


def _any_or_all(name: str, word: str) -> Any:
    record = op(
        name,
        lambda xp, input, /, dim=None, keepdim=False: getattr(xp, name)(
            input if input.dtype == xp.bool else input != 0, axis=axis_of(dim, input), keepdims=keepdim
        ),
        kind=Kind.REDUCTION,
        narrow=Narrow.ALL,
        promote="truth",
        out=Out.OWN_DTYPE,
        doc=f"""Whether {word} nonzero, in the whole tensor or in each slice over `dim`.

    Args:
        input: a tensor of any shape.
        dim: the dimension or dimensions to reduce; None for all.
        keepdim: whether reduced dimensions are kept with size 1.
        out: a tensor that the result is written to.

    >>> torch.{name}(torch.tensor([[True, False], [True, True]]), 1)
    tensor([{"False,  True" if name == "all" else "True, True"}])
    """,
        schema=(
            f"{name}(Tensor self) -> Tensor",
            f"{name}.dim(Tensor self, int dim, bool keepdim=False) -> Tensor",
            f"{name}.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
        ),
    )
    return record


all, any = _any_or_all("all", "every element is"), _any_or_all("any", "an element is")


# --- log-sum-exp ------------------------------------------------------------------------------------------------


def _logsumexp_forward(xp: Any, input: Any, /, dim: Any, keepdim: bool = False) -> Any:
    size = xp.real(input) if xp.isdtype(input.dtype, "complex floating") else input
    over_what = xp.sum if 0 in input.shape else xp.max  # the maximum of an empty array is undefined
    largest = over_what(size, axis=axis_of(dim, input), keepdims=True)
    largest = xp.where(xp.isfinite(largest), largest, xp.zeros_like(largest))
    total = xp.log(xp.sum(xp.exp(input - largest), axis=axis_of(dim, input), keepdims=True)) + largest
    if keepdim:
        return total
    shape = tuple(length for d, length in enumerate(input.shape) if d not in reduced_dims(dim, input.ndim))
    return xp.reshape(total, shape)


_logsumexp = op(
    "logsumexp", _logsumexp_forward,
    kind=Kind.REDUCTION, autocast={"cuda": Autocast.FLOAT32}, promote="float_accumulate", public=False, method=False,
    input=lambda F, g, input, out, input_shape, dim, keepdim:
        spread(F, g, input_shape, dim, keepdim) * F.conj(F.exp(input - spread(F, out, input_shape, dim, keepdim))),
)  # fmt: skip


@composite(out=Out.UNCHECKED)
def logsumexp(input: Tensor, dim: Dims, keepdim: bool = False) -> Tensor:
    """Return `log(sum(exp(input)))` over `dim` without overflow.

    Args:
        input: a tensor of any shape; an integer tensor is converted to the default dtype.
        dim: the dimension or dimensions to reduce.
        keepdim: whether reduced dimensions are kept with size 1.
        out: a tensor that the result is written to.

    >>> torch.logsumexp(torch.tensor([1000.0, 1000.0]), 0)
    tensor(1000.6932)
    """
    if not input.ndim:
        return _logsumexp(input.reshape(1), reduced_dims(dim, 1), False)
    return _logsumexp(input, dim, keepdim)


# --- norms --------------------------------------------------------------------------------------------------------


def _norm_forward(xp: Any, input: Any, /, p: float, dim: Any = None, keepdim: bool = False) -> Any:
    size = xp.abs(input)
    axis = axis_of(dim, input)
    if p == 0:
        return xp.astype(xp.count_nonzero(size, axis=axis, keepdims=keepdim), size.dtype)
    if math.isinf(p):
        return (xp.max if p > 0 else xp.min)(size, axis=axis, keepdims=keepdim)
    if p == 1:
        return xp.sum(size, axis=axis, keepdims=keepdim)
    if p == 2:
        return xp.sqrt(xp.sum(size * size, axis=axis, keepdims=keepdim))
    return xp.pow(xp.sum(xp.pow(size, p), axis=axis, keepdims=keepdim), 1 / p)


def safe_reciprocal(F: Any, x: Any) -> Any:
    """Return `1 / x`, or 0 with gradient 0 where `x` is 0."""
    zero = x == 0
    return F.masked(1 / (x + F.masked(F.ones_of(x), zero)), ~zero)


def _norm_grad(F: Any, g: Any, input: Any, out: Any, input_shape: Any, p: float, dim: Any, keepdim: bool) -> Any:
    """Return the gradient; where undefined (norm 0, or an element 0 with `p < 1`) it is 0, and the second derivative is NaN."""
    g, whole = spread(F, g, input_shape, dim, keepdim), spread(F, out, input_shape, dim, keepdim)
    if p == 0:
        return no_slope(F, g)
    if p == 2:
        return g * F.masked(input / whole, whole != 0)
    if p == 1:
        return g * F.sgn(input)
    size = F.abs(input)
    if math.isinf(p):
        is_extreme = F.masked(F.ones_of(size), (size == whole) | (size != size))
        return g * F.sgn(input) * is_extreme / F.sum(is_extreme, tuple(reduced_dims(dim, len(input_shape))), True)
    if p < 1:
        return g * F.sgn(input) * F.masked(F.pow_scalar(size, p - 1), size != 0) * F.pow_scalar(whole, 1 - p)
    slope = F.sgn(input) * F.pow_scalar(size, p - 1) if p < 2 else input * F.pow_scalar(size, p - 2)
    return g * slope * safe_reciprocal(F, F.pow_scalar(whole, p - 1))


unchecked_vector_norm = op(
    "vector_norm", _norm_forward,
    kind=Kind.REDUCTION, narrow=Narrow.COMPLEX32, promote="real_accumulate", public=False, method=False,
    grad_fn="LinalgVectorNormBackward0",
    input=_norm_grad,
    dispatches=lambda input, order, dim, keepdim: (
        "linalg_vector_norm", input, order,
        dim if dim is None else [dim] if isinstance(dim, int) else list(dim), keepdim),
)  # fmt: skip


# --- hashes ----------------------------------------------------------------------------------------------------------


@composite(out=Out.OWN_DTYPE, kind=Kind.REDUCTION)
def hash_tensor(input: Tensor, dim: Dims | None = (), *, keepdim: bool = False, mode: int = 0) -> Tensor:
    """Return a uint64 hash of all elements, or over `dim`: the exclusive or of their bits as 64-bit numbers.

    Args:
        input: a tensor of a real dtype.
        dim: the dimension or dimensions to reduce; () or None for all.
        keepdim: whether reduced dimensions are kept with size 1.
        mode: the kind of hash, of which there is one: 0.
        out: a tensor that the result is written to.

    Raises:
        RuntimeError: the tensor is empty, or the mode is unknown.

    >>> torch.hash_tensor(torch.tensor([[1, 2], [3, 4]]), 1)
    tensor([3, 7], dtype=torch.uint64)
    """
    if mode != 0:
        raise RuntimeError(f"hash_tensor: Unknown mode {mode}; only 0 (exclusive or) is supported")
    require_dtype("xor_sum_cpu", input, "real")
    chosen: Sequence[int] = whole_numbers("dim", () if dim is None else dim) or range(input.ndim)
    if not input.ndim:
        chosen, input = [wrap_dim(d, 0) for d in chosen][:0], input.clone()
    dims = sorted(wrap_dim(d, input.ndim) for d in chosen)
    if not input.numel():
        raise RuntimeError(
            "hash_tensor: Expected reduction dim to be specified for input.numel() == 0. Specify the reduction "
            "dim with the 'dim' argument."
        )
    place, has = input.device, input._key.backend.dtypes
    if dtypes.float64 not in has or dtypes.uint64 not in has:
        input = input.cpu()
    wide = input.to(dtypes.float64 if input.is_floating_point() else dtypes.int64)
    kept_dims = [d for d in range(input.ndim) if d not in dims]
    shape = [input.shape[d] for d in kept_dims]
    flat = wide.detach().permute(kept_dims + dims).reshape(*shape, math.prod(input.shape[d] for d in dims))
    bits = flat.contiguous().view(dtypes.uint64)
    while bits.shape[-1] > 1:
        half = bits.shape[-1] // 2
        folded = bits[..., :half] ^ bits[..., half : 2 * half]
        bits = cat([folded, bits[..., 2 * half :]], -1)
    bits = bits.reshape([1 if d in dims else length for d, length in enumerate(input.shape)] if keepdim else shape)
    return bits if dtypes.uint64 not in has else bits.to(place)
