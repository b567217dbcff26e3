"""Variance and standard deviation, alone or with the mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..engine.calls.arguments import Dims, Number
from ..engine.calls.facts import Kind
from ..engine.calls.op import composite, op
from ..engine.calls.record import Out
from ..engine.calls.signatures import with_args
from ..engine.devices.warning import warn
from ..engine.tensors.tensor import Tensor
from ..engine.values import dtypes
from .reductions import axis_of, count, mean_grad, reduced_dims, safe_reciprocal, spread
from .views.views import wrap_dim


def _divisor(shape: Any, dim: Any, correction: float) -> float:
    divisor = count(shape, dim) - correction
    return divisor if divisor > 0 else 0.0


def _variance_forward(xp: Any, input: Any, /, dim: Any = None, correction: float = 1, keepdim: bool = False) -> Any:
    centred = input - xp.mean(input, axis=axis_of(dim, input), keepdims=True)
    total, rest = (xp.sum(x, axis=axis_of(dim, input), keepdims=keepdim) for x in (_squared(xp, centred), centred))
    divisor = _divisor(input.shape, dim, correction)
    if not divisor:
        return total * xp.asarray(float("nan"), dtype=total.dtype) / 1
    # the second term corrects for the rounding error of the mean: exactly computed, it would be 0
    return (total - _squared(xp, rest) / count(input.shape, dim)) / divisor


def _squared(xp: Any, x: Any) -> Any:
    return xp.real(x * xp.conj(x)) if xp.isdtype(x.dtype, "complex floating") else x * x


def _variance_grad(F: Any, g: Any, input: Any, input_shape: Any, dim: Any, correction: float, keepdim: bool) -> Any:
    dims = reduced_dims(dim, len(input_shape))
    divisor = _divisor(input_shape, dim, correction)
    centred = input - F.mean(input, dims, True)
    scale = 2.0 / divisor if divisor else float("nan")
    return spread(F, g, input_shape, dim, keepdim) * centred * scale


def _correction_call(name: str) -> Callable[..., tuple[Any, ...]]:
    """Return a function that returns the call of PyTorch's operator, with the dimensions as a list."""

    def call(input: Any, dim: Any, correction: Number, keepdim: bool) -> tuple[Any, ...]:
        options = {"correction": correction, **({"keepdim": True} if keepdim else {})}
        return name, input, *([] if dim is None else [list(dim)]), options

    return call


_var = op(
    "var",
    _variance_forward,
    kind=Kind.REDUCTION,
    dispatches=_correction_call("var"),
    promote="real_accumulate",
    public=False,
    method=False,
    input=_variance_grad,
    schema=(
        "var(Tensor self, bool unbiased=True) -> Tensor",
        "var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor",
        "var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor",
    ),
)


def _variance_arguments(
    name: str, input: Tensor, dim: Any, unbiased: Any, keepdim: bool, correction: Any
) -> tuple[Any, float, bool]:
    if isinstance(dim, bool):  # the positional call `var(input, unbiased)`
        dim, unbiased = None, dim
    if input._key.dtype.category < dtypes.FLOATING:
        raise RuntimeError("std and var only support floating point and complex dtypes")
    if correction is None:
        correction = 1 if unbiased else 0
    shape = input._array.shape
    if type(dim) is int and shape:
        dim = (wrap_dim(dim, len(shape)),)
        elements = shape[dim[0]]
    else:
        if dim is not None:
            dim = tuple([wrap_dim(d, len(shape)) for d in (dim if isinstance(dim, (tuple, list)) else (dim,))]) or None
        elements = count(shape, dim)
    if elements <= correction:
        warn(
            f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor "
            "(input numel divided by output numel).",
        )
    return dim, correction, keepdim


_VARIANCE_ARGS = """\
    dim: the dimensions to reduce, an int or a tuple; None for all.
    unbiased: whether the divisor of the variance is `n - 1`, not `n`; without effect if `correction` is given.
    keepdim: whether the reduced dimensions are kept with length 1.
    correction: the number subtracted from the number of elements `n`; None for 1 if `unbiased`, else 0."""


@composite(out=Out.UNCHECKED)
@with_args(_VARIANCE_ARGS)
def var(
    input: Tensor,
    dim: Dims | bool | None = None,
    unbiased: bool = True,
    keepdim: bool = False,
    *,
    correction: Number | None = None,
) -> Tensor:
    """Return the variance of all elements, or over `dim`: the sum of squared differences from the mean, divided by
    `n - correction`.

    Raises:
        RuntimeError: the dtype is neither floating-point nor complex.

    >>> torch.tensor([1.0, 2.0, 3.0]).var()
    tensor(1.)
    """
    dim, correction, keepdim = _variance_arguments("var", input, dim, unbiased, keepdim, correction)
    return _var(input, dim, correction, keepdim)


@composite(out=Out.UNCHECKED)
@with_args(_VARIANCE_ARGS)
def std(
    input: Tensor,
    dim: Dims | bool | None = None,
    unbiased: bool = True,
    keepdim: bool = False,
    *,
    correction: Number | None = None,
) -> Tensor:
    """Return the standard deviation of all elements, or over `dim`; the divisor of the variance is `n - correction`.

    Raises:
        RuntimeError: the dtype is neither floating-point nor complex.

    >>> torch.tensor([1.0, 2.0, 3.0]).std()
    tensor(1.)
    """
    return _std(input, *_variance_arguments("std", input, dim, unbiased, keepdim, correction))


def _std_grad(F: Any, g: Any, input: Any, out: Any, input_shape: Any, dim: Any, correction: float, keepdim: bool) -> Any:
    return _variance_grad(F, g * 0.5 * safe_reciprocal(F, out), input, input_shape, dim, correction, keepdim)


_std = op(
    "std",
    lambda xp, input, /, dim=None, correction=1, keepdim=False: xp.sqrt(_variance_forward(xp, input, dim, correction, keepdim)),
    dispatches=_correction_call("std"),
    kind=Kind.REDUCTION,
    promote="real_accumulate", public=False, method=False, input=_std_grad,
    schema=(
        "std(Tensor self, bool unbiased=True) -> Tensor",
        "std.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor",
        "std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor",
    ),
)  # fmt: skip


def _var_mean_grad(F: Any, g: Any, input: Any, input_shape: Any, dim: Any, correction: float, keepdim: bool) -> Any:
    variance = _variance_grad(F, g[0], input, input_shape, dim, correction, keepdim)
    return (variance + mean_grad(F, g[1], input_shape, dim, keepdim),)


def _std_mean_grad(F: Any, g: Any, input: Any, out: Any, input_shape: Any, dim: Any, correction: float, keepdim: bool) -> Any:
    deviation = _std_grad(F, g[0], input, out[0], input_shape, dim, correction, keepdim)
    return (deviation + mean_grad(F, g[1], input_shape, dim, keepdim),)


_var_mean = op(
    "var_mean", lambda xp, input, /, dim=None, correction=1, keepdim=False: (
        _variance_forward(xp, input, dim, correction, keepdim),
        xp.mean(input, axis=axis_of(dim, input), keepdims=keepdim),
    ),
    dispatches=_correction_call("var_mean"),
    kind=Kind.REDUCTION, promote="accumulate", results=("var", "mean"), result_promotions=("real", "same"), public=False,
    method=False, out=False, vjp=_var_mean_grad,
    schema=(
        "var_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)",
        "var_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)",
        "var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor)",
    ),
)  # fmt: skip


@composite(method=False, kind=Kind.REDUCTION)
@with_args(_VARIANCE_ARGS)
def var_mean(
    input: Tensor,
    dim: Dims | bool | None = None,
    unbiased: bool = True,
    keepdim: bool = False,
    *,
    correction: Number | None = None,
) -> Any:
    """Return the variance and the mean, of all elements or over `dim`.

    Raises:
        RuntimeError: the dtype is neither floating-point nor complex.

    >>> torch.var_mean(torch.tensor([1.0, 2.0, 3.0]))
    (tensor(1.), tensor(2.))
    """
    dim, correction, keepdim = _variance_arguments("var_mean", input, dim, unbiased, keepdim, correction)
    return tuple(_var_mean(input, dim, correction, keepdim))


_std_mean = op(
    "std_mean", lambda xp, input, /, dim=None, correction=1, keepdim=False: (
        xp.sqrt(_variance_forward(xp, input, dim, correction, keepdim)),
        xp.mean(input, axis=axis_of(dim, input), keepdims=keepdim),
    ),
    dispatches=_correction_call("std_mean"),
    kind=Kind.REDUCTION, promote="accumulate", results=("std", "mean"), result_promotions=("real", "same"), public=False,
    method=False, out=False, vjp=_std_mean_grad,
    schema=(
        "std_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)",
        "std_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)",
        "std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor)",
    ),
)  # fmt: skip


@composite(method=False, kind=Kind.REDUCTION)
@with_args(_VARIANCE_ARGS)
def std_mean(
    input: Tensor,
    dim: Dims | bool | None = None,
    unbiased: bool = True,
    keepdim: bool = False,
    *,
    correction: Number | None = None,
) -> Any:
    """Return the standard deviation and the mean, of all elements or over `dim`.

    Raises:
        RuntimeError: the dtype is neither floating-point nor complex.

    >>> torch.std_mean(torch.tensor([1.0, 2.0, 3.0]))
    (tensor(1.), tensor(2.))
    """
    dim, correction, keepdim = _variance_arguments("std_mean", input, dim, unbiased, keepdim, correction)
    return tuple(_std_mean(input, dim, correction, keepdim))
