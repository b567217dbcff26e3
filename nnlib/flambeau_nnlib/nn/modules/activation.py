"""Activation layers: functions applied to each element, and softmax."""

from __future__ import annotations

import warnings

import flambeau as torch
from flambeau import Tensor

from .. import functional as F
from .. import init as initializers
from ..parameter import Parameter
from .attention import MultiheadAttention
from .module import Module
from .softmax import LogSoftmax, Softmax, Softmax2d, Softmin

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "SELU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "MultiheadAttention",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
]


class _Inplace(Module):
    """A layer whose only setting is `inplace`."""

    __constants__ = ("inplace",)

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


def inplace_suffix(module: Module) -> str:
    """Return ", inplace=True" for the repr of an in-place module, else an empty string."""
    return ", inplace=True" if module.inplace else ""


class ReLU(_Inplace):
    """The rectified linear unit: `max(0, x)` of each element.

    Args:
        inplace: whether to overwrite the input with the result instead of returning a new tensor.

    Shape:
        - Input: `(*)`, any number of dimensions.
        - Output: `(*)`, the shape of the input.

    Example:
        >>> torch.nn.ReLU()(torch.tensor([-1.0, 0.0, 2.0]))
        tensor([0., 0., 2.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, self.inplace)


class SiLU(_Inplace):
    """The sigmoid linear unit, also called swish: `x * sigmoid(x)` of each element.

    Hendrycks and Gimpel, *Gaussian error linear units*, 2016; Ramachandran et al., *Searching for activation functions*, 2017.

    Args:
        inplace: whether to overwrite the input with the result instead of returning a new tensor.

    Shape:
        - Input: `(*)`, any number of dimensions.
        - Output: `(*)`, the shape of the input.

    Example:
        >>> torch.nn.SiLU()(torch.tensor([-1.0, 0.0, 1.0]))
        tensor([-0.2689,  0.0000,  0.7311])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input, self.inplace)


class Mish(_Inplace):
    """A smooth ReLU that dips below zero: `x * tanh(softplus(x))` of each element.

    Misra, *Mish: a self regularized non-monotonic activation function*, 2019.

    Args:
        inplace: whether to overwrite the input with the result instead of returning a new tensor.

    Shape:
        - Input: `(*)`, any number of dimensions.
        - Output: `(*)`, the shape of the input.

    Example:
        >>> torch.nn.Mish()(torch.tensor([-1.0, 0.0, 1.0]))
        tensor([-0.3034,  0.0000,  0.8651])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.mish(input, self.inplace)


class SELU(_Inplace):
    """The scaled ELU: `scale * (max(0, x) + min(0, alpha * (exp(x) - 1)))` of each element.

    With alpha = 1.6733 and scale = 1.0507, deep networks keep activations near mean 0 and variance 1, provided that
    weights are drawn with variance 1 / fan_in (`init.kaiming_normal_` with `nonlinearity="linear"`). For dropout between
    such layers see `AlphaDropout`.

    Klambauer et al., *Self-normalizing neural networks*, 2017.

    Args:
        inplace: whether to overwrite the input with the result instead of returning a new tensor.

    Shape:
        - Input: `(*)`, any number of dimensions.
        - Output: `(*)`, the shape of the input.

    Example:
        >>> torch.nn.SELU()(torch.tensor([-1.0, 0.0, 1.0]))
        tensor([-1.1113,  0.0000,  1.0507])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.selu(input, self.inplace)


class Hardsigmoid(_Inplace):
    """A piecewise linear sigmoid: `relu6(x + 3) / 6` of each element, 0 below -3 and 1 above 3.

    Args:
        inplace: whether to overwrite the input with the result instead of returning a new tensor.

    Shape:
        - Input: `(*)`, any number of dimensions.
        - Output: `(*)`, the shape of the input.

    Example:
        >>> torch.nn.Hardsigmoid()(torch.tensor([-4.0, 0.0, 1.5]))
        tensor([0.0000, 0.5000, 0.7500])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardsigmoid(input, self.inplace)

    def extra_repr(self) -> str:
        return ""


class Hardswish(_Inplace):
    """`SiLU` with a piecewise linear sigmoid: `x * relu6(x + 3) / 6` of each element.

    Howard et al., *Searching for MobileNetV3*, 2019.

    Args:
        inplace: whether to overwrite the input with the result instead of returning a new tensor.

    Shape:
        - Input: `(*)`, any number of dimensions.
        - Output: `(*)`, the shape of the input.

    Example:
        >>> torch.nn.Hardswish()(torch.tensor([-4.0, 0.0, 3.0]))
        tensor([-0., 0., 3.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardswish(input, self.inplace)

    def extra_repr(self) -> str:
        return ""


class Threshold(Module):
    """Keeps each element above `threshold`, and replaces the others by `value`.

    Args:
        threshold: the threshold; elements equal to it are replaced.
        value: the replacement.
        inplace: whether to overwrite the input with the result instead of returning a new tensor.

    Shape:
        - Input: `(*)`, any number of dimensions.
        - Output: `(*)`, the shape of the input.

    Example:
        >>> torch.nn.Threshold(0.1, 20.0)(torch.tensor([0.0, 0.5]))
        tensor([20.0000,  0.5000])
    """

    __constants__ = ("threshold", "value", "inplace")

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        return f"threshold={self.threshold}, value={self.value}{inplace_suffix(self)}"


class RReLU(Module):
    """A leaky ReLU of random slope: in training, each negative element is multiplied by a sample from U(lower, upper).

    In evaluation all negative elements are multiplied by the mean, `(lower + upper) / 2`.

    Xu et al., *Empirical evaluation of rectified activations in convolutional network*, 2015.

    Args:
        lower: the smallest slope.
        upper: the largest slope; the call raises RuntimeError if it is below `lower`.
        inplace: whether to overwrite the input with the result instead of returning a new tensor.

    Shape:
        - Input: `(*)`, any number of dimensions.
        - Output: `(*)`, the shape of the input.

    Example:
        >>> torch.nn.RReLU(0.1, 0.3).eval()(torch.tensor([-1.0, 2.0]))
        tensor([-0.2000,  2.0000])
    """

    __constants__ = ("lower", "upper", "inplace")

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"lower={self.lower}, upper={self.upper}{inplace_suffix(self)}"


class Hardtanh(Module):
    """Clamps each element to the range from `min_val` to `max_val`.

    Args:
        min_val: the lower bound of the output.
        max_val: the upper bound of the output; AssertionError unless it is above `min_val`.
        inplace: whether to overwrite the input with the result instead of returning a new tensor.
        min_value, max_value: deprecated names of `min_val` and `max_val`, which give a FutureWarning.

    Shape:
        - Input: `(*)`, any number of dimensions.
        - Output: `(*)`, the shape of the input.

    Example:
        >>> torch.nn.Hardtanh(-2, 2)(torch.tensor([-3.0, 0.5, 4.0]))
        tensor([-2.0000,  0.5000,  2.0000])
    """

    __constants__ = ("min_val", "max_val", "inplace")

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__()
        for side, deprecated in (("min", min_value), ("max", max_value)):
            if deprecated is not None:
                warnings.warn(
                    f"keyword argument `{side}_value` is deprecated and renamed to `{side}_val`",
                    FutureWarning,
                    stacklevel=2,
                )
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        self.inplace = inplace
        if self.max_val <= self.min_val:
            raise AssertionError(f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})")

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}{inplace_suffix(self)}"


class ReLU6(Hardtanh):
    """A ReLU limited to 6: `min(max(0, x), 6)` of each element, a range suited to low-precision arithmetic.

    Args:
        inplace: whether to overwrite the input with the result instead of returning a new tensor.

    Shape:
        - Input: `(*)`, any number of dimensions.
        - Output: `(*)`, the shape of the input.

    Example:
        >>> torch.nn.ReLU6()(torch.tensor([-1.0, 3.0, 8.0]))
        tensor([0., 3., 6.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class _Alpha(Module):
    """Base class of activations with the arguments `alpha` and `inplace`."""

    __constants__ = ("alpha", "inplace")

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}{inplace_suffix(self)}"


class ELU(_Alpha):
    """The exponential linear unit: `x` for positive elements, `alpha * (exp(x) - 1)` for others.

    Clevert et al., *Fast and accurate deep network learning by exponential linear units*, 2015.

    Args:
        alpha: the limit of the output is `-alpha` for large negative input.
        inplace: whether to overwrite the input with the result instead of returning a new tensor.

    Shape:
        - Input: `(*)`, any number of dimensions.
        - Output: `(*)`, the shape of the input.

    Example:
        >>> torch.nn.ELU()(torch.tensor([-1.0, 2.0]))
        tensor([-0.6321,  2.0000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha, self.inplace)


class CELU(_Alpha):
    """An ELU whose slope has no jump at 0: `max(0, x) + min(0, alpha * (exp(x / alpha) - 1))` of each element.

    Barron, *Continuously differentiable exponential linear units*, 2017.

    Args:
        alpha: the limit of the output is `-alpha` for large negative input; the call raises RuntimeError if it is 0.
        inplace: whether to overwrite the input with the result instead of returning a new tensor.

    Shape:
        - Input: `(*)`, any number of dimensions.
        - Output: `(*)`, the shape of the input.

    Example:
        >>> torch.nn.CELU(2.0)(torch.tensor([-1.0, 2.0]))
        tensor([-0.7869,  2.0000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.celu(input, self.alpha, self.inplace)


class LeakyReLU(Module):
    """A ReLU with a small slope below zero: `x` for positive elements, `negative_slope * x` for others.

    Args:
        negative_slope: the slope for negative elements; 0 gives `ReLU`.
        inplace: whether to overwrite the input with the result instead of returning a new tensor.

    Shape:
        - Input: `(*)`, any number of dimensions.
        - Output: `(*)`, the shape of the input.

    Example:
        >>> torch.nn.LeakyReLU(0.1)(torch.tensor([-1.0, 2.0]))
        tensor([-0.1000,  2.0000])
    """

    __constants__ = ("inplace", "negative_slope")

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        return f"negative_slope={self.negative_slope}{inplace_suffix(self)}"


class PReLU(Module):
    """A leaky ReLU whose slope is learned: `max(0, x) + weight * min(0, x)` of each element.

    Do not apply weight decay to the slope: it would shrink to 0.

    He et al., *Delving deep into rectifiers*, 2015.

    Args:
        num_parameters: 1 for a single slope, or the number of channels for one slope per channel. The call raises
            RuntimeError for other numbers.
        init: the initial value of all slopes.
        device, dtype: device and dtype of the parameter `weight`, which has the shape `(num_parameters,)`.

    Shape:
        - Input: `(*)`, the channels being the second dimension; input of fewer than 2 dimensions has one channel.
        - Output: `(*)`, the shape of the input.

    Example:
        >>> torch.nn.PReLU()(torch.tensor([-1.0, 2.0])).detach()
        tensor([-0.2500,  2.0000])
    """

    __constants__ = ("num_parameters",)

    def __init__(
        self,
        num_parameters: int = 1,
        init: float = 0.25,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(torch.empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set all slopes to `init`."""
        initializers.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class GLU(Module):
    """The gated linear unit: `a * sigmoid(b)`, where a and b are the two halves of the input along `dim`.

    Dauphin et al., *Language modeling with gated convolutional networks*, 2016.

    Args:
        dim: the dimension to halve, the last by default. The call raises RuntimeError if its size is odd.

    Shape:
        - Input: `(*, N, *)`, where N is the size of dimension `dim`.
        - Output: `(*, N / 2, *)`.

    Example:
        >>> torch.nn.GLU()(torch.tensor([[1.0, 2.0, 0.0, 0.0]]))
        tensor([[0.5000, 1.0000]])
    """

    __constants__ = ("dim",)

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class GELU(Module):
    """The Gaussian error linear unit: `x * Phi(x)` of each element, Phi being the standard normal distribution function.

    Hendrycks and Gimpel, *Gaussian error linear units*, 2016.

    Args:
        approximate: "none" for the formula above, or "tanh" for the cheaper
            `0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x ** 3)))`. The call raises RuntimeError for others.

    Shape:
        - Input: `(*)`, any number of dimensions.
        - Output: `(*)`, the shape of the input.

    Example:
        >>> torch.nn.GELU()(torch.tensor([-1.0, 0.0, 1.0]))
        tensor([-0.1587,  0.0000,  0.8413])
    """

    __constants__ = ("approximate",)

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class _Shrink(Module):
    """A layer with setting `lambd`."""

    __constants__ = ("lambd",)

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def extra_repr(self) -> str:
        return str(self.lambd)


class Hardshrink(_Shrink):
    """Sets small elements to 0: `x` where `|x|` is above `lambd`, 0 elsewhere.

    Args:
        lambd: the threshold for absolute values.

    Shape:
        - Input: `(*)`, any number of dimensions.
        - Output: `(*)`, the shape of the input.

    Example:
        >>> torch.nn.Hardshrink()(torch.tensor([-1.0, 0.2, 2.0]))
        tensor([-1.,  0.,  2.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardshrink(input, self.lambd)


class Softshrink(_Shrink):
    """Shrinks absolute values by `lambd`, at most to 0: `sign(x) * max(|x| - lambd, 0)`.

    Args:
        lambd: the amount to subtract; the call raises RuntimeError if it is negative.

    Shape:
        - Input: `(*)`, any number of dimensions.
        - Output: `(*)`, the shape of the input.

    Example:
        >>> torch.nn.Softshrink()(torch.tensor([-1.0, 0.2, 2.0]))
        tensor([-0.5000,  0.0000,  1.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softshrink(input, self.lambd)


class Softplus(Module):
    """A smooth ReLU, always positive: `log(1 + exp(beta * x)) / beta` of each element.

    Args:
        beta: the sharpness of the bend at 0; the function approaches ReLU for large `beta`.
        threshold: for `beta * x` above the threshold the result is `x`, which is almost equal and does not overflow.

    Shape:
        - Input: `(*)`, any number of dimensions.
        - Output: `(*)`, the shape of the input.

    Example:
        >>> torch.nn.Softplus()(torch.tensor([-1.0, 0.0, 30.0]))
        tensor([ 0.3133,  0.6931, 30.0000])
    """

    __constants__ = ("beta", "threshold")

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return f"beta={self.beta}, threshold={self.threshold}"


class Sigmoid(Module):
    """The logistic function `1 / (1 + exp(-x))` of each element, between 0 and 1.

    As the last layer before a loss, it is less accurate than `BCEWithLogitsLoss`, which includes the sigmoid.

    Shape:
        - Input: `(*)`, any number of dimensions.
        - Output: `(*)`, the shape of the input.

    Example:
        >>> torch.nn.Sigmoid()(torch.tensor([0.0, 1.0]))
        tensor([0.5000, 0.7311])
    """

    def forward(self, input: Tensor) -> Tensor:
        return torch.sigmoid(input)


class LogSigmoid(Module):
    """`log(sigmoid(x))` of each element, computed without underflow for large negative values.

    Shape:
        - Input: `(*)`, any number of dimensions.
        - Output: `(*)`, the shape of the input.

    Example:
        >>> torch.nn.LogSigmoid()(torch.tensor([0.0, -200.0]))
        tensor([  -0.6931, -200.0000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


class Tanh(Module):
    """The hyperbolic tangent of each element, between -1 and 1.

    Shape:
        - Input: `(*)`, any number of dimensions.
        - Output: `(*)`, the shape of the input.

    Example:
        >>> torch.nn.Tanh()(torch.tensor([0.0, 1.0]))
        tensor([0.0000, 0.7616])
    """

    def forward(self, input: Tensor) -> Tensor:
        return torch.tanh(input)


class Tanhshrink(Module):
    """`x - tanh(x)` of each element.

    Shape:
        - Input: `(*)`, any number of dimensions.
        - Output: `(*)`, the shape of the input.

    Example:
        >>> torch.nn.Tanhshrink()(torch.tensor([0.0, 1.0]))
        tensor([0.0000, 0.2384])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.tanhshrink(input)


class Softsign(Module):
    """`x / (1 + |x|)` of each element, between -1 and 1; it saturates more slowly than `Tanh`.

    Shape:
        - Input: `(*)`, any number of dimensions.
        - Output: `(*)`, the shape of the input.

    Example:
        >>> torch.nn.Softsign()(torch.tensor([-1.0, 3.0]))
        tensor([-0.5000,  0.7500])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softsign(input)
