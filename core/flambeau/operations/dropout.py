"""Dropout: set random elements, or whole channels, to zero."""

from __future__ import annotations

import math
from typing import Any

from ..engine.calls.facts import Kind, declare
from ..engine.calls.inplace import in_place
from ..engine.calls.op import op
from ..engine.calls.tables import FUSED, PUBLIC
from ..engine.devices.devices import DispatchKey
from ..engine.tape.grad_mode import no_grad
from ..engine.tape.node import rename_node
from ..engine.tape.transforming import open_batches
from ..engine.tensors.tensor import Tensor
from ..random import raw_generator
from .creation.from_shape import empty_like
from .sampling import lift_to_batch

__all__ = ["alpha_dropout", "dropout", "feature_alpha_dropout", "feature_dropout"]


def _check(input: Tensor, p: float) -> None:
    if not isinstance(input, Tensor):
        raise TypeError(f"dropout(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p}")


def _mask(input: Tensor, p: float, whole_channels: bool) -> Tensor:
    """Return a random mask of elements or channels: 1 to keep, 0 to drop."""
    if whole_channels and input.ndim < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    if whole_channels:
        noise = input.new_empty((*input._array.shape[:2], *(1,) * (input.ndim - 2)))
    else:
        noise = empty_like(input)  # in the memory order of `input`, which is also the order of the random numbers
    return lift_to_batch(noise).bernoulli_(1 - p)


def _fused_forward(xp: Any, input: Any, /, keep: float, generator: Any) -> tuple[Any, Any]:
    noise = generator.bernoulli(input.shape, input.dtype, keep) / keep
    return input * noise, noise


_fused = op(
    "fused_dropout", _fused_forward,
    kind=Kind.POINTWISE, promote="accumulate", results=("result", "noise"), public=False, method=False, out=False,
    grad_fn="NativeDropoutBackward0", vjp=lambda F, g, noise: (g[0] * noise,),
)  # fmt: skip


FUSED.add("fused_dropout")


def _drop(input: Tensor, p: float, train: bool, whole_channels: bool) -> Tensor:
    _check(input, p)
    if p == 0 or not train or 0 in input._array.shape:
        return input
    if p == 1:
        return input * 0
    key = input._key
    rounds_twice = key.dtype.itemsize == 2 and key.device.type == "cpu"  # PyTorch rounds the scaled mask and the product
    fits = type(key) is DispatchKey and not (whole_channels or rounds_twice or open_batches())
    if fits and "fused_dropout" in key.backend.all_kernels:
        result: Tensor = _fused(input, 1 - p, raw_generator(None, key.device))[0]
        return rename_node(result, "MulBackward0") if key.device.type == "cpu" else result
    with no_grad():
        noise = _mask(input, p, whole_channels).div_(1 - p)
    return input * noise


_ALPHA = 1.7580993408473766  # SELU tends to -_ALPHA at minus infinity


def _drop_to_alpha(input: Tensor, p: float, train: bool, whole_channels: bool) -> Tensor:
    _check(input, p)
    if p == 0 or not train or 0 in input._array.shape:
        return input
    if p == 1:
        return input * 0
    scale = 1 / math.sqrt((_ALPHA * _ALPHA * p + 1) * (1 - p))
    with no_grad():
        mask = _mask(input, p, whole_channels)
        shift = (mask - 1) * (_ALPHA * scale) + _ALPHA * scale * p
        noise = mask * scale
    return input * noise + shift


@declare(kind=Kind.POINTWISE, keeps_zero=True, random=True, schema="dropout(Tensor input, float p, bool train) -> Tensor")
def dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """While training, zero each element with probability `p` and scale the others by `1 / (1 - p)`.

    Args:
        input: a tensor of any shape.
        p: the probability of an element to be zeroed.
        train: whether dropout is active; otherwise, `input` is returned.

    Raises:
        RuntimeError: `p` is not in [0, 1].

    >>> torch.dropout(torch.ones(3), 0.5, train=False)
    tensor([1., 1., 1.])
    """
    return _drop(input, p, train, False)


@declare(
    kind=Kind.POINTWISE, keeps_zero=True, random=True, schema=("feature_dropout(Tensor input, float p, bool train) -> Tensor")
)
def feature_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Apply dropout to whole channels: zero each with probability `p`, and scale the others by `1 / (1 - p)`.

    Args:
        input: a tensor `(N, C, *)`.
        p: the probability of a channel to be zeroed.
        train: whether dropout is active; otherwise, `input` is returned.

    Raises:
        RuntimeError: `p` is not in [0, 1].

    >>> torch.feature_dropout(torch.ones(1, 1, 2), 0.5, train=False)
    tensor([[[1., 1.]]])
    """
    return _drop(input, p, train, True)


@declare(kind=Kind.POINTWISE, random=True, schema="alpha_dropout(Tensor input, float p, bool train) -> Tensor")
def alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Apply dropout that sets elements to SELU's lower limit, and rescales to preserve mean 0 and variance 1.

    Args:
        input: a tensor of any shape.
        p: the probability of an element to be replaced.
        train: whether dropout is active; otherwise, `input` is returned.

    Raises:
        RuntimeError: `p` is not in [0, 1].

    >>> torch.alpha_dropout(torch.ones(3), 0.5, train=False)
    tensor([1., 1., 1.])
    """
    return _drop_to_alpha(input, p, train, False)


@declare(kind=Kind.POINTWISE, random=True, schema="feature_alpha_dropout(Tensor input, float p, bool train) -> Tensor")
def feature_alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Apply `alpha_dropout` to whole channels.

    Args:
        input: a tensor `(N, C, *)`.
        p: the probability of a channel to be replaced.
        train: whether dropout is active; otherwise, `input` is returned.

    Raises:
        RuntimeError: `p` is not in [0, 1].

    >>> torch.feature_alpha_dropout(torch.ones(1, 1, 2), 0.5, train=False)
    tensor([[[1., 1.]]])
    """
    return _drop_to_alpha(input, p, train, True)


def _publish(function: Any) -> None:
    PUBLIC[function.__name__] = function
    PUBLIC[function.__name__ + "_"] = in_place(function.__name__, function)


for _function in (dropout, feature_dropout, alpha_dropout, feature_alpha_dropout):
    _publish(_function)
