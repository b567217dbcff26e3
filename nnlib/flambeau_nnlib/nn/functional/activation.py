"""Activation functions and softmax."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau as torch
from flambeau import Tensor
from flambeau.extension import Autocast, Kind, declare, warn
from flambeau.extension import functions as ops
from flambeau.extension.functions import (
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
)

__all__ = [
    "celu", "celu_", "elu", "elu_", "gelu", "glu", "gumbel_softmax", "hardshrink", "hardsigmoid", "hardswish", "hardtanh",
    "hardtanh_", "leaky_relu", "leaky_relu_", "log_softmax", "logsigmoid", "mish", "prelu", "relu", "relu6", "relu_", "rrelu",
    "rrelu_", "selu", "selu_", "sigmoid", "silu", "softmax", "softmin", "softplus", "softshrink", "softsign", "tanh",
    "tanhshrink",
    "threshold", "threshold_",
]  # fmt: skip


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """Apply the rectified linear unit `max(0, x)` to each element; see `nn.ReLU`.

    Args:
        input: a tensor of any shape.
        inplace: whether to overwrite `input` with the result instead of returning a new tensor.

    Example:
        >>> F.relu(torch.tensor([-1.0, 2.0]))
        tensor([0., 2.])
    """
    return torch.relu_(input) if inplace else torch.relu(input)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """Replace each element that is not above `threshold` by `value`; see `nn.Threshold`.

    Args:
        input: a tensor of any shape.
        threshold: the threshold; elements equal to it are replaced.
        value: the replacement.
        inplace: whether to overwrite `input` with the result instead of returning a new tensor.

    Example:
        >>> F.threshold(torch.tensor([0.0, 0.5]), 0.1, 20.0)
        tensor([20.0000,  0.5000])
    """
    return (ops.threshold_ if inplace else ops.threshold)(input, threshold, value)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """Compute `x` for positive elements and `negative_slope * x` for others; see `nn.LeakyReLU`.

    Args:
        input: a tensor of any shape.
        negative_slope: the slope for negative elements.
        inplace: whether to overwrite `input` with the result instead of returning a new tensor.

    Example:
        >>> F.leaky_relu(torch.tensor([-1.0, 2.0]), 0.1)
        tensor([-0.1000,  2.0000])
    """
    return (ops.leaky_relu_ if inplace else ops.leaky_relu)(input, negative_slope)


def rrelu(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False) -> Tensor:
    """Apply a leaky ReLU whose slope is drawn from U(lower, upper) for each element in training; see `nn.RReLU`.

    Xu et al., *Empirical evaluation of rectified activations in convolutional network*, 2015.

    Args:
        input: a tensor of any shape.
        lower: the smallest slope.
        upper: the largest slope; RuntimeError if it is below `lower` in training.
        training: whether to draw slopes; False uses the slope `(lower + upper) / 2`.
        inplace: whether to overwrite `input` with the result instead of returning a new tensor.

    Example:
        >>> F.rrelu(torch.tensor([-1.0, 2.0]), 0.1, 0.3)
        tensor([-0.2000,  2.0000])
    """
    return (ops.rrelu_ if inplace else ops.rrelu)(input, lower, upper, training)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """Compute `min(max(0, x), 6)` of each element; see `nn.ReLU6`.

    Args:
        input: a tensor of any shape.
        inplace: whether to overwrite `input` with the result instead of returning a new tensor.

    Example:
        >>> F.relu6(torch.tensor([-1.0, 3.0, 8.0]))
        tensor([0., 3., 6.])
    """
    return (ops.relu6_ if inplace else ops.relu6)(input)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """Clamp each element to the range from `min_val` to `max_val`; see `nn.Hardtanh`.

    Args:
        input: a tensor of any shape.
        min_val: the lower bound.
        max_val: the upper bound; ValueError if it is below `min_val`.
        inplace: whether to overwrite `input` with the result instead of returning a new tensor.

    Example:
        >>> F.hardtanh(torch.tensor([-3.0, 0.5, 4.0]))
        tensor([-1.0000,  0.5000,  1.0000])
    """
    return (ops.hardtanh_ if inplace else ops.hardtanh)(input, min_val, max_val)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """Compute a piecewise linear sigmoid, `x / 6 + 1 / 2` clamped to [0, 1]; see `nn.Hardsigmoid`.

    Args:
        input: a tensor of any shape.
        inplace: whether to overwrite `input` with the result instead of returning a new tensor.

    Example:
        >>> F.hardsigmoid(torch.tensor([-4.0, 0.0, 1.5]))
        tensor([0.0000, 0.5000, 0.7500])
    """
    return (ops.hardsigmoid_ if inplace else ops.hardsigmoid)(input)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """Compute `x * hardsigmoid(x)` of each element; see `nn.Hardswish`.

    Howard et al., *Searching for MobileNetV3*, 2019.

    Args:
        input: a tensor of any shape.
        inplace: whether to overwrite `input` with the result instead of returning a new tensor.

    Example:
        >>> F.hardswish(torch.tensor([-4.0, 0.0, 3.0]))
        tensor([-0., 0., 3.])
    """
    return (ops.hardswish_ if inplace else ops.hardswish)(input)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Compute `x` for positive elements and `alpha * (exp(x) - 1)` for others; see `nn.ELU`.

    Clevert et al., *Fast and accurate deep network learning by exponential linear units*, 2015.

    Args:
        input: a tensor of any shape.
        alpha: the limit of the result is `-alpha` for large negative elements.
        inplace: whether to overwrite `input` with the result instead of returning a new tensor.

    Example:
        >>> F.elu(torch.tensor([-1.0, 2.0]))
        tensor([-0.6321,  2.0000])
    """
    return (ops.elu_ if inplace else ops.elu)(input, alpha)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """Apply a scaled ELU, which keeps activations of deep networks near mean 0 and variance 1; see `nn.SELU`.

    Klambauer et al., *Self-normalizing neural networks*, 2017.

    Args:
        input: a tensor of any shape.
        inplace: whether to overwrite `input` with the result instead of returning a new tensor.

    Example:
        >>> F.selu(torch.tensor([-1.0, 0.0, 1.0]))
        tensor([-1.1113,  0.0000,  1.0507])
    """
    return (ops.selu_ if inplace else ops.selu)(input)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Compute `x` for positive elements and `alpha * (exp(x / alpha) - 1)` for others; see `nn.CELU`.

    Barron, *Continuously differentiable exponential linear units*, 2017.

    Args:
        input: a tensor of any shape.
        alpha: the limit of the result is `-alpha` for large negative elements; RuntimeError if it is 0.
        inplace: whether to overwrite `input` with the result instead of returning a new tensor.

    Example:
        >>> F.celu(torch.tensor([-1.0, 2.0]), 2.0)
        tensor([-0.7869,  2.0000])
    """
    return (ops.celu_ if inplace else ops.celu)(input, alpha)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """Compute `x * sigmoid(x)` of each element, also called swish; see `nn.SiLU`.

    Args:
        input: a tensor of any shape.
        inplace: whether to overwrite `input` with the result instead of returning a new tensor.

    Example:
        >>> F.silu(torch.tensor([-1.0, 0.0, 1.0]))
        tensor([-0.2689,  0.0000,  0.7311])
    """
    return (ops.silu_ if inplace else ops.silu)(input)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """Compute `x * tanh(softplus(x))` of each element; see `nn.Mish`.

    Misra, *Mish: a self regularized non-monotonic activation function*, 2019.

    Args:
        input: a tensor of any shape.
        inplace: whether to overwrite `input` with the result instead of returning a new tensor.

    Example:
        >>> F.mish(torch.tensor([-1.0, 0.0, 1.0]))
        tensor([-0.3034,  0.0000,  0.8651])
    """
    return (ops.mish_ if inplace else ops.mish)(input)


def sigmoid(input: Tensor) -> Tensor:
    """Compute the logistic function `1 / (1 + exp(-x))` of each element; the same as `torch.sigmoid`.

    Args:
        input: a tensor of any shape.

    Example:
        >>> F.sigmoid(torch.tensor([0.0, 1.0]))
        tensor([0.5000, 0.7311])
    """
    return input.sigmoid()


def tanh(input: Tensor) -> Tensor:
    """Compute the hyperbolic tangent of each element; the same as `torch.tanh`.

    Args:
        input: a tensor of any shape.

    Example:
        >>> F.tanh(torch.tensor([0.0, 1.0]))
        tensor([0.0000, 0.7616])
    """
    return input.tanh()


@declare(kind=Kind.POINTWISE, keeps_zero=True)
def tanhshrink(input: Tensor) -> Tensor:
    """Compute `x - tanh(x)` of each element; see `nn.Tanhshrink`.

    Args:
        input: a tensor of any shape.

    Example:
        >>> F.tanhshrink(torch.tensor([0.0, 1.0]))
        tensor([0.0000, 0.2384])
    """
    return input - input.tanh()


@declare(kind=Kind.POINTWISE, keeps_zero=True)
def softsign(input: Tensor) -> Tensor:
    """Compute `x / (1 + |x|)` of each element; see `nn.Softsign`.

    Args:
        input: a tensor of any shape.

    Example:
        >>> F.softsign(torch.tensor([-1.0, 3.0]))
        tensor([-0.5000,  0.7500])
    """
    return input / (input.abs() + 1)


# --- softmax ------------------------------------------------------------------------------------------------------


def implicit_dim(name: str, ndim: int) -> int:
    """Return the default dimension of a softmax called without `dim`, and warn."""
    warn(f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.")
    return 0 if ndim in (0, 1, 3) else 1


def _call_along(function: Callable[..., Tensor], input: Tensor, dim: int | None, name: str, dtype: Any) -> Tensor:
    if dim is None:
        dim = implicit_dim(name, input.dim())
    return function(input, dim) if dtype is None else function(input, dim, dtype=dtype)


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: torch.dtype | None = None) -> Tensor:
    """Compute `exp(x) / sum(exp(x))` along a dimension: positive values that sum to 1; see `nn.Softmax`.

    Args:
        input: a tensor of any shape.
        dim: the dimension along which the values sum to 1. None, deprecated, means 0 for input of 0, 1 or 3 dimensions
            and 1 for other input, with a warning.
        _stacklevel: no effect; the warning always refers to the caller's line.
        dtype: the dtype that `input` is cast to first, such as float32 for a float16 input; None for no cast.

    Example:
        >>> F.softmax(torch.tensor([[0.0, 0.0]]), dim=1)
        tensor([[0.5000, 0.5000]])
    """
    return _call_along(torch.softmax, input, dim, "softmax", dtype)


@declare(kind=Kind.NORMALIZATION, autocast={"cuda": Autocast.FLOAT32})
def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: torch.dtype | None = None) -> Tensor:
    """Compute the softmax of `-x` along a dimension: the smallest element gets the largest value; see `nn.Softmin`.

    Args:
        input: a tensor of any shape.
        dim: the dimension along which the values sum to 1. None, deprecated, means 0 for input of 0, 1 or 3 dimensions
            and 1 for other input, with a warning.
        _stacklevel: no effect; the warning always refers to the caller's line.
        dtype: the dtype that `input` is cast to first, such as float32 for a float16 input; None for no cast.

    Example:
        >>> F.softmin(torch.tensor([[1.0, 1.0, 2.0]]), dim=1)
        tensor([[0.4223, 0.4223, 0.1554]])
    """
    return _call_along(torch.softmax, -input, dim, "softmin", dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: torch.dtype | None = None) -> Tensor:
    """Compute the logarithm of the softmax along a dimension, without overflow; see `nn.LogSoftmax`.

    Args:
        input: a tensor of any shape.
        dim: the dimension along which the exponentials sum to 1. None, deprecated, means 0 for input of 0, 1 or 3
            dimensions and 1 for other input, with a warning.
        _stacklevel: no effect; the warning always refers to the caller's line.
        dtype: the dtype that `input` is cast to first, such as float32 for a float16 input; None for no cast.

    Example:
        >>> F.log_softmax(torch.tensor([[1.0, 1.0, 2.0]]), dim=1)
        tensor([[-1.5514, -1.5514, -0.5514]])
    """
    return _call_along(torch.log_softmax, input, dim, "log_softmax", dtype)


@declare(kind=Kind.NORMALIZATION, random=True)
def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """Sample one class per row in a differentiable relaxation: the softmax of logits plus Gumbel noise.

    Jang et al., *Categorical reparameterization with Gumbel-softmax*, 2017.

    Args:
        logits: log-probabilities of the classes, up to a constant, along `dim`; a tensor of any shape.
        tau: the temperature, above 0; the result approaches one-hot for small values.
        hard: whether to return one-hot vectors, with the gradient of the relaxed sample.
        eps: deprecated; no effect.
        dim: the dimension of the classes.

    Example:
        >>> F.gumbel_softmax(torch.zeros(4, 3), hard=True).sum(1)
        tensor([1., 1., 1., 1.])
    """
    if eps != 1e-10:
        warn("`eps` parameter is deprecated and has no effect.")
    noise = -torch.empty_like(logits).exponential_().log()
    relaxed = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return relaxed
    index = relaxed.max(dim, keepdim=True)[1]
    one_hot = torch.zeros_like(logits).scatter_(dim, index, 1.0)
    return one_hot - relaxed.detach() + relaxed
