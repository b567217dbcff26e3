"""Activation modules: elementwise functions, and normalization along one dimension."""

from __future__ import annotations

import flambeau as torch
from flambeau import Tensor

from ....nn import functional as F
from .module import Module

__all__ = [
    "ELU",
    "Abs",
    "AddConstant",
    "Clamp",
    "Exp",
    "GradientReversal",
    "HardShrink",
    "HardTanh",
    "LeakyReLU",
    "Log",
    "LogSigmoid",
    "LogSoftMax",
    "MulConstant",
    "Normalize",
    "PReLU",
    "Power",
    "RReLU",
    "ReLU",
    "ReLU6",
    "Sigmoid",
    "SoftMax",
    "SoftMin",
    "SoftPlus",
    "SoftShrink",
    "SoftSign",
    "SpatialSoftMax",
    "Sqrt",
    "Square",
    "Tanh",
    "TanhShrink",
    "Threshold",
]


class Abs(Module):
    """`|x|`"""

    def compute(self, input: Tensor) -> Tensor:
        return input.abs()


class Exp(Module):
    """`exp(x)`"""

    def compute(self, input: Tensor) -> Tensor:
        return input.exp()


class Log(Module):
    """Compute `log(x)`, elementwise."""

    def compute(self, input: Tensor) -> Tensor:
        return input.log()


class Sqrt(Module):
    """`sqrt(x)`"""

    def compute(self, input: Tensor) -> Tensor:
        return input.sqrt()


class Square(Module):
    """Compute `x ** 2`, elementwise."""

    def compute(self, input: Tensor) -> Tensor:
        return input * input


class Power(Module):
    """Compute `x ** p`, elementwise."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.pow = p

    def compute(self, input: Tensor) -> Tensor:
        return input.pow(self.pow)


class AddConstant(Module):
    """Compute `x + constant_scalar`, elementwise."""

    def __init__(self, constant_scalar: float, inplace: bool = False) -> None:
        super().__init__()
        self.constant_scalar = constant_scalar

    def compute(self, input: Tensor) -> Tensor:
        return input + self.constant_scalar


class MulConstant(Module):
    """Compute `x * constant_scalar`, elementwise."""

    def __init__(self, constant_scalar: float, inplace: bool = False) -> None:
        super().__init__()
        self.constant_scalar = constant_scalar

    def compute(self, input: Tensor) -> Tensor:
        return input * self.constant_scalar


class GradientReversal(Module):
    """Return `x`; multiply its gradient by `-lambd`."""

    def __init__(self, lambd: float = 1) -> None:
        super().__init__()
        self.lambd = lambd

    def setLambda(self, lambd: float) -> None:
        """Set the factor: `backward` multiplies gradients by `-lambd`."""
        self.lambd = lambd

    def compute(self, input: Tensor) -> Tensor:
        return input.detach() - self.lambd * (input - input.detach())


class Sigmoid(Module):
    """Compute `1 / (1 + exp(-x))`, elementwise."""

    def compute(self, input: Tensor) -> Tensor:
        return input.sigmoid()


class LogSigmoid(Module):
    """Compute `log(1 / (1 + exp(-x)))`, elementwise."""

    def compute(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


class Tanh(Module):
    """`tanh(x)`"""

    def compute(self, input: Tensor) -> Tensor:
        return input.tanh()


class TanhShrink(Module):
    """Compute `x - tanh(x)`, elementwise."""

    def compute(self, input: Tensor) -> Tensor:
        return F.tanhshrink(input)


class Threshold(Module):
    """Compute x where it is above `threshold`, else `value`."""

    def __init__(self, threshold: float = 0, value: float = 0, inplace: bool = False) -> None:
        super().__init__()
        self.threshold = threshold
        self.val = value

    def compute(self, input: Tensor) -> Tensor:
        return F.threshold(input, self.threshold, self.val)


class ReLU(Threshold):
    """Compute `max(x, 0)`, elementwise."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0, 0, inplace)


class HardTanh(Module):
    """Clamp x to `[min_value, max_value]`."""

    def __init__(self, min_value: float = -1, max_value: float = 1, inplace: bool = False) -> None:
        super().__init__()
        self.min_val = min_value
        self.max_val = max_value

    def compute(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val)


class Clamp(HardTanh):
    """Clamp x to `[min_value, max_value]`."""

    def __init__(self, min_value: float, max_value: float) -> None:
        super().__init__(min_value, max_value)


class ReLU6(HardTanh):
    """Compute `min(max(x, 0), 6)`, elementwise."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0, 6)


class ELU(Module):
    """Compute x where it is positive, else `alpha * (exp(x) - 1)`."""

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha

    def compute(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha)


class LeakyReLU(Module):
    """Compute x where it is positive, else `negval * x`."""

    def __init__(self, negval: float = 1 / 100, inplace: bool = False) -> None:
        super().__init__()
        self.negval = negval

    def compute(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negval)


class PReLU(Module):
    """Compute x where it is positive, else `weight * x`, with a single weight or one per channel."""

    def __init__(self, nOutputPlane: int = 0) -> None:
        super().__init__()
        self.nOutputPlane = nOutputPlane
        self._add_parameters(weight=torch.full((nOutputPlane or 1,), 0.25))

    def compute(self, input: Tensor, weight: Tensor) -> Tensor:
        return F.prelu(input, weight)


class RReLU(Module):
    """Compute x where it is positive, else `a * x`. In training, a is random in `[lower, upper]`; in evaluation, the mean."""

    def __init__(self, lower: float = 1 / 8, upper: float = 1 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower = lower
        self.upper = upper

    def compute(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.train)


class SoftPlus(Module):
    """Compute `log(1 + exp(beta * x)) / beta`, and x where `beta * x` is above `threshold`."""

    def __init__(self, beta: float = 1, threshold: float = 20) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def compute(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)


class SoftSign(Module):
    """Compute `x / (1 + |x|)`, elementwise."""

    def compute(self, input: Tensor) -> Tensor:
        return F.softsign(input)


class HardShrink(Module):
    """Compute 0 within `[-lambd, lambd]`, else x."""

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def compute(self, input: Tensor) -> Tensor:
        return F.hardshrink(input, self.lambd)


class SoftShrink(Module):
    """Compute 0 within `[-lambd, lambd]`, else x moved towards 0 by `lambd`."""

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def compute(self, input: Tensor) -> Tensor:
        return F.softshrink(input, self.lambd)


def _channel_dim(input: Tensor) -> int:
    """Return the channel dimension: 0 for a vector or a `(c, h, w)` image, 1 for a batch."""
    return 0 if input.dim() in (1, 3) else 1


class SoftMax(Module):
    """Softmax over channels, for vectors, for each pixel of `(c, h, w)` images, or for batches of them."""

    def compute(self, input: Tensor) -> Tensor:
        return torch.softmax(input, _channel_dim(input))


class SoftMin(Module):
    """Softmax of `-x` over channels."""

    def compute(self, input: Tensor) -> Tensor:
        return torch.softmax(-input, _channel_dim(input))


class LogSoftMax(Module):
    """Logarithm of `SoftMax`.

    >>> torch.legacy.nn.LogSoftMax().forward(torch.zeros(1, 2))
    tensor([[-0.6931, -0.6931]])
    """

    def compute(self, input: Tensor) -> Tensor:
        return torch.log_softmax(input, _channel_dim(input))


class SpatialSoftMax(SoftMax):
    """Softmax over the channels of images, at each pixel."""


class Normalize(Module):
    """Divide vectors by their p-norm."""

    def __init__(self, p: float, eps: float = 1e-10) -> None:
        super().__init__()
        self.p = p
        self.eps = eps

    def compute(self, input: Tensor) -> Tensor:
        return F.normalize(input, self.p, -1, self.eps)
