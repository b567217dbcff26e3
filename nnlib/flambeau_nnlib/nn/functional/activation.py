"""Activations, and softmax in its forms."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import flambeau as torch
from flambeau import Tensor
from flambeau.ops import activation as ops
from flambeau.ops.activation import (
    celu_,
    elu_,
    gelu,
    glu,
    hardshrink,
    hardtanh_,
    leaky_relu_,
    logsigmoid,
    prelu,
    relu_,
    rrelu_,
    selu_,
    softplus,
    softshrink,
    threshold_,
)  # fmt: skip

__all__ = [
    "celu", "celu_", "elu", "elu_", "gelu", "glu", "gumbel_softmax", "hardshrink", "hardsigmoid", "hardswish", "hardtanh",
    "hardtanh_", "leaky_relu", "leaky_relu_", "log_softmax", "logsigmoid", "mish", "prelu", "relu", "relu6", "relu_", "rrelu",
    "rrelu_", "selu", "selu_", "sigmoid", "silu", "softmax", "softmin", "softplus", "softshrink", "softsign", "tanh",
    "tanhshrink",
    "threshold", "threshold_",
]  # fmt: skip


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """The element where it is positive, else 0.

    >>> import flambeau as torch
    >>> torch.nn.functional.relu(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return torch.relu_(input) if inplace else torch.relu(input)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """The element where it is above ``threshold``, else ``value``."""
    return (ops.threshold_ if inplace else ops.threshold)(input, threshold, value)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """The element where it is positive, else ``negative_slope`` times it."""
    return (ops.leaky_relu_ if inplace else ops.leaky_relu)(input, negative_slope)


def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """Leaky ReLU; while training, with a random slope between ``lower`` and ``upper`` for each element."""
    return (ops.rrelu_ if inplace else ops.rrelu)(input, lower, upper, training)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """The element brought into ``[0, 6]``."""
    return (ops.relu6_ if inplace else ops.relu6)(input)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """The element brought into ``[min_val, max_val]``."""
    return (ops.hardtanh_ if inplace else ops.hardtanh)(input, min_val, max_val)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """``x / 6 + 1 / 2``, brought into ``[0, 1]``."""
    return (ops.hardsigmoid_ if inplace else ops.hardsigmoid)(input)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * hardsigmoid(x)`` (Howard et al. 2019, "Searching for MobileNetV3")."""
    return (ops.hardswish_ if inplace else ops.hardswish)(input)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``x`` where positive, else ``alpha * (exp(x) - 1)``."""
    return (ops.elu_ if inplace else ops.elu)(input, alpha)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """A scaled ELU that keeps mean 0 and variance 1."""
    return (ops.selu_ if inplace else ops.selu)(input)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``x`` where positive, else ``alpha * (exp(x / alpha) - 1)``."""
    return (ops.celu_ if inplace else ops.celu)(input, alpha)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * sigmoid(x)``, also known as swish."""
    return (ops.silu_ if inplace else ops.silu)(input)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * tanh(softplus(x))``."""
    return (ops.mish_ if inplace else ops.mish)(input)


def sigmoid(input: Tensor) -> Tensor:
    """``1 / (1 + exp(-x))``."""
    return input.sigmoid()


def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent."""
    return input.tanh()


def tanhshrink(input: Tensor) -> Tensor:
    """``x - tanh(x)``."""
    return input - input.tanh()


def softsign(input: Tensor) -> Tensor:
    """``x / (1 + |x|)``."""
    return input / (input.abs() + 1)


# --- softmax ------------------------------------------------------------------------------------------------------


def _implicit_dim(name: str, ndim: int, stacklevel: int) -> int:
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        stacklevel=stacklevel,
    )
    return 0 if ndim in (0, 1, 3) else 1


def _along(function: Callable[..., Tensor], input: Tensor, dim: int | None, name: str, stacklevel: int, dtype: Any) -> Tensor:
    if dim is None:
        dim = _implicit_dim(name, input.dim(), stacklevel + 1)
    return function(input, dim) if dtype is None else function(input, dim, dtype=dtype)


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: torch.dtype | None = None) -> Tensor:
    """``exp(input)``, scaled to sum to 1 along ``dim``; without ``dim``, as of old, one is chosen with a warning.

    >>> import flambeau as torch
    >>> torch.nn.functional.softmax(torch.tensor([[0.0, 0.0]]), dim=1)
    tensor([[0.5000, 0.5000]])
    """
    return _along(torch.softmax, input, dim, "softmax", _stacklevel, dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: torch.dtype | None = None) -> Tensor:
    """The softmax of ``-input``."""
    return _along(torch.softmax, -input, dim, "softmin", _stacklevel, dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: torch.dtype | None = None) -> Tensor:
    """The logarithm of the softmax along ``dim``, computed without overflow."""
    return _along(torch.log_softmax, input, dim, "log_softmax", _stacklevel, dtype)


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A sample of one-hot vectors, relaxed so that it can be differentiated (Jang et al. 2017, "Categorical reparameterization").

    ``tau`` is the temperature; with ``hard`` the sample is one-hot, with the gradient of the relaxed one.
    """
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    noise = -torch.empty_like(logits).exponential_().log()
    relaxed = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return relaxed
    index = relaxed.max(dim, keepdim=True)[1]
    sharp = torch.zeros_like(logits).scatter_(dim, index, 1.0)
    return sharp - relaxed.detach() + relaxed
