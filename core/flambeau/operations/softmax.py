"""Softmax and its logarithm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..engine.calls.facts import Autocast, Kind, Order
from ..engine.calls.node_names import merge_nodes
from ..engine.calls.op import composite, formula, op
from ..engine.calls.record import Out
from ..engine.tensors.tensor import Tensor
from ..engine.values import dtypes
from .views.views import wrap_dim

__all__ = ["log_softmax", "softmax"]


def _softmax_forward(xp: Any, input: Any, /, dim: int) -> Any:
    if not input.size:
        return xp.asarray(input, copy=True)
    exponentials = xp.exp(input - xp.max(input, axis=dim, keepdims=True))
    return exponentials / xp.sum(exponentials, axis=dim, keepdims=True)


def _log_softmax_forward(xp: Any, input: Any, /, dim: int) -> Any:
    if not input.size:
        return xp.asarray(input, copy=True)
    shifted = input - xp.max(input, axis=dim, keepdims=True)
    return shifted - xp.log(xp.sum(xp.exp(shifted), axis=dim, keepdims=True))


@formula(kind=Kind.OTHER, rounds_once=True)
def softmax_backward(F: Any, g: Any, out: Any, dim: int) -> Any:
    return out * (g - F.sum(g * out, dim, True))


@formula(kind=Kind.OTHER, rounds_once=True)
def log_softmax_backward(F: Any, g: Any, out: Any, dim: int) -> Any:
    return g - F.exp(out) * F.sum(g, dim, True)


_softmax = op(
    "softmax", _softmax_forward,
    kind=Kind.NORMALIZATION, order=Order.ROW_MAJOR, autocast={"cuda": Autocast.FLOAT32},
    promote="accumulate", public=False, method=False, out=False,
    input=lambda F, g, out, dim: softmax_backward(F, g, out, dim),
    schema="softmax.int", dispatches=lambda input, dim: ("_softmax", input, dim, False),
)  # fmt: skip
_log_softmax = op(
    "log_softmax", _log_softmax_forward,
    kind=Kind.NORMALIZATION, order=Order.ROW_MAJOR, autocast={"cuda": Autocast.FLOAT32},
    promote="accumulate", public=False, method=False, out=False,
    input=lambda F, g, out, dim: log_softmax_backward(F, g, out, dim),
    schema="log_softmax.int", dispatches=lambda input, dim: ("_log_softmax", input, dim, False),
)  # fmt: skip


def _prepared(name: str, input: Tensor, dim: int, dtype: Any) -> tuple[Tensor, int]:
    if dtype is not None:
        input = input.to(dtype=dtype)
    dim = wrap_dim(dim, input._array.ndim)
    if input._key.dtype.category != dtypes.FLOATING:
        kernel = name + ("_lastdim" if dim == (input.ndim or 1) - 1 else "") + "_kernel_impl"
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{input.dtype.legacy_name}'")
    return input, dim


@composite(out=Out.OWN_DTYPE | Out.RECORDED | Out.UNCHECKED)
def softmax(input: Tensor, dim: int, dtype: dtypes.dtype | None = None) -> Tensor:
    """Return `exp(input)`, divided by its sum along `dim`.

    Args:
        dim: the dimension along which the elements sum to 1.
        dtype: the dtype to convert `input` to before the computation; None for no conversion.

    >>> torch.softmax(torch.tensor([0.0, 0.0]), 0)
    tensor([0.5000, 0.5000])
    """
    input, dim = _prepared("softmax", input, dim, dtype)
    return _softmax(input, dim) if input._array.ndim else _for_scalar(_softmax, input, "SoftmaxBackward0")


@composite(out=Out.OWN_DTYPE | Out.RECORDED | Out.UNCHECKED)
def log_softmax(input: Tensor, dim: int, dtype: dtypes.dtype | None = None) -> Tensor:
    """Return the logarithm of the softmax along `dim`, computed without overflow.

    Args:
        input: a floating-point tensor, or a tensor of any dtype if `dtype` is given.
        dim: the dimension along which the exponentials sum to 1.
        dtype: the dtype of the result, to which `input` is converted first; None for the dtype of `input`.
        out: a tensor that the result is written to.

    >>> torch.log_softmax(torch.tensor([0.0, 0.0]), 0)
    tensor([-0.6931, -0.6931])
    """
    input, dim = _prepared("log_softmax", input, dim, dtype)
    return _log_softmax(input, dim) if input._array.ndim else _for_scalar(_log_softmax, input, "LogSoftmaxBackward0")


def _for_scalar(function: Callable[..., Tensor], input: Tensor, name: str) -> Tensor:
    return merge_nodes(function(input.reshape(1), 0).reshape(()), name, (input,))
