"""Initialization of parameters, in place and without recording gradients.

>>> torch.nn.init.constant_(torch.empty(2, 3), 0.5)
tensor([[0.5000, 0.5000, 0.5000],
        [0.5000, 0.5000, 0.5000]])
"""

from __future__ import annotations

import functools
import inspect
import math
import warnings
from collections.abc import Callable

import flambeau as torch
from flambeau import Generator, Tensor
from flambeau.extension import has_data, open_to_overrides, private_names

__all__ = [
    "calculate_gain",
    "constant",
    "constant_",
    "dirac",
    "dirac_",
    "eye",
    "eye_",
    "kaiming_normal",
    "kaiming_normal_",
    "kaiming_uniform",
    "kaiming_uniform_",
    "normal",
    "normal_",
    "ones_",
    "orthogonal",
    "orthogonal_",
    "sparse",
    "sparse_",
    "trunc_normal_",
    "uniform",
    "uniform_",
    "xavier_normal",
    "xavier_normal_",
    "xavier_uniform",
    "xavier_uniform_",
    "zeros_",
]

UNIT_GAIN = {"linear", "sigmoid", *(f"conv{way}{n}d" for way in ("", "_transpose") for n in (1, 2, 3))}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Return the recommended gain of an initialization: the factor that compensates for the variance lost in a nonlinearity.

    Args:
        nonlinearity: the name of the function that follows: "linear", "sigmoid", "conv1d" to "conv3d",
            "conv_transpose1d" to "conv_transpose3d" (1), "tanh" (5 / 3), "relu" (sqrt(2)), "leaky_relu" (sqrt(2 / (1 +
            param ** 2))) or "selu" (3 / 4).
        param: the slope of "leaky_relu"; None for 0.01.

    Raises:
        ValueError: the nonlinearity is unknown, or the slope is not a number.

    Example:
        >>> torch.nn.init.calculate_gain("leaky_relu", 1.0)
        1.0
    """
    if nonlinearity in UNIT_GAIN:
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity == "selu":
        return 3.0 / 4
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """Return `(fan_in, fan_out)` of a weight: the numbers of inputs per output and of outputs per input."""
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    outputs, inputs, *kernel = tensor.shape
    return inputs * math.prod(kernel), outputs * math.prod(kernel)


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    modes = ["fan_in", "fan_out"]
    if mode.lower() not in modes:
        raise ValueError(f"Mode {mode.lower()} not supported, please use one of {modes}")
    return _calculate_fan_in_and_fan_out(tensor)[modes.index(mode.lower())]


def _bias_uniform_(bias: Tensor | None, weight: Tensor) -> None:
    """Fill a layer's bias from U(-k, k) with k = 1 / sqrt(fan_in of its weight)."""
    if bias is not None:
        fan_in, _ = _calculate_fan_in_and_fan_out(weight)
        bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
        uniform_(bias, -bound, bound)


@torch.no_grad()
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fills a tensor with samples from the uniform distribution between `a` and `b`.

    Args:
        tensor: the tensor to fill; it is returned.
        a: the lower bound.
        b: the upper bound.
        generator: the random number generator; None for the default one of the device.

    Example:
        >>> weight = torch.nn.init.uniform_(torch.empty(100), -1.0, 1.0)
        >>> bool((weight.abs() <= 1.0).all())
        True
    """
    return tensor.uniform_(a, b, generator=generator)


@torch.no_grad()
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fills a tensor with samples from a normal distribution.

    Args:
        tensor: the tensor to fill; it is returned.
        mean: the mean of the distribution.
        std: its standard deviation.
        generator: the random number generator; None for the default one of the device.

    Example:
        >>> weight = torch.nn.init.normal_(torch.empty(10000), 5.0, 0.01)
        >>> round(weight.mean().item(), 2), round(weight.std().item(), 2)
        (5.0, 0.01)
    """
    return tensor.normal_(mean, std, generator=generator)


@torch.no_grad()
def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Fills a tensor with samples from a normal distribution truncated to the interval [a, b].

    Args:
        tensor: the tensor to fill; it is returned.
        mean: the mean of the distribution before it is cut off. A warning is given if it is outside the
            interval by more than 2 `std`.
        std: its standard deviation.
        a: the lower bound of the values (not in units of `std`).
        b: the upper bound.
        generator: the random number generator; None for the default one of the device.

    Example:
        >>> values = torch.nn.init.trunc_normal_(torch.empty(1000), a=-1.0, b=0.5)
        >>> bool((values >= -1.0).all() and (values <= 0.5).all())
        True
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be incorrect.",
            stacklevel=2,
        )
    if not has_data(tensor):
        return tensor
    accepted = (math.erf((b - mean) / std / math.sqrt(2)) - math.erf((a - mean) / std / math.sqrt(2))) / 2
    if accepted > 0.3:
        return _redraw_normal_(tensor, mean, std, a, b, generator)
    return _reject_uniform_(tensor, mean, std, a, b, generator)


def _redraw_normal_(tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Generator | None) -> Tensor:
    low, high = torch.tensor([a, b], dtype=tensor.dtype, device="cpu").tolist()
    tensor.normal_(mean, std, generator=generator)
    while (outside := (tensor < low) | (tensor > high)).any():
        fresh = torch.empty_like(tensor).normal_(mean, std, generator=generator)
        tensor.copy_(torch.where(outside, fresh, tensor))
    return tensor


def _reject_uniform_(tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Generator | None) -> Tensor:
    """Sample the truncated normal distribution by rejection from U(a, b), for intervals that normal samples rarely hit."""
    log_peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2
    pending = torch.ones_like(tensor, dtype=torch.bool)
    while pending.any():
        candidates = torch.empty_like(tensor).uniform_(a, b, generator=generator)
        tensor.copy_(torch.where(pending, candidates, tensor))
        log_density = candidates.sub_(mean).div_(std).pow_(2).mul_(-0.5).sub_(log_peak)
        pending = pending & (torch.empty_like(tensor).uniform_(generator=generator).log_() > log_density)
    return tensor


@torch.no_grad()
def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fills a tensor with one value.

    Args:
        tensor: the tensor to fill; it is returned.
        val: the value.

    Example:
        >>> torch.nn.init.constant_(torch.empty(2, 3), 0.5)
        tensor([[0.5000, 0.5000, 0.5000],
                [0.5000, 0.5000, 0.5000]])
    """
    return tensor.fill_(val)


@torch.no_grad()
def ones_(tensor: Tensor) -> Tensor:
    """Fills a tensor with 1.

    Args:
        tensor: the tensor to fill; it is returned.

    Example:
        >>> torch.nn.init.ones_(torch.empty(3))
        tensor([1., 1., 1.])
    """
    return tensor.fill_(1.0)


@torch.no_grad()
def zeros_(tensor: Tensor) -> Tensor:
    """Fills a tensor with 0.

    Args:
        tensor: the tensor to fill; it is returned.

    Example:
        >>> torch.nn.init.zeros_(torch.empty(3))
        tensor([0., 0., 0.])
    """
    return tensor.zero_()


@torch.no_grad()
def eye_(tensor: Tensor) -> Tensor:
    """Fills a matrix with the identity: a `Linear` with this weight returns its first `min(in, out)` inputs unchanged.

    Args:
        tensor: the tensor to fill, of 2 dimensions, or ValueError is raised; it is returned.

    Example:
        >>> torch.nn.init.eye_(torch.empty(2, 3))
        tensor([[1., 0., 0.],
                [0., 1., 0.]])
    """
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return tensor.copy_(torch.eye(*tensor.shape, dtype=tensor.dtype, device=tensor.device))


@torch.no_grad()
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fills a weight with the identity of convolution: the layer returns its first `min(in, out)` channels unchanged.

    Args:
        tensor: the tensor to fill, of 3, 4 or 5 dimensions, or ValueError is raised; it is returned.
        groups: the number of groups of the convolution; each group gets an identity. ValueError unless it divides the
            first dimension.

    Example:
        >>> torch.nn.init.dirac_(torch.empty(1, 1, 3))
        tensor([[[0., 1., 0.]]])
    """
    if tensor.dim() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.shape[0] % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    center = tuple(length // 2 for length in tensor.shape[2:])
    tensor.zero_()
    for group in tensor.chunk(groups):
        for channel in range(min(group.shape[:2])):
            group[(channel, channel, *center)] = 1
    return tensor


@torch.no_grad()
def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fills a weight from U(-k, k) with k = gain * sqrt(6 / (fan_in + fan_out)); also known as Glorot initialization.

    With it the variances of activations and of gradients stay about the same from layer to layer. For a weight
    `(out, in, *kernel)`, fan_in is `in * prod(kernel)` and fan_out `out * prod(kernel)`.

    Glorot and Bengio, *Understanding the difficulty of training deep feedforward neural networks*, 2010.

    Args:
        tensor: the weight to fill, of at least 2 dimensions, or ValueError is raised; it is returned.
        gain: the scaling factor, such as the result of `calculate_gain`.
        generator: the random number generator; None for the default one of the device.

    Example:
        >>> weight = torch.nn.init.xavier_uniform_(torch.empty(30, 20))
        >>> bool((weight.abs() <= (6 / 50) ** 0.5).all())
        True
    """
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    std = gain * math.sqrt(2.0 / (fan_in + fan_out))
    bound = math.sqrt(3.0) * std
    return tensor.uniform_(-bound, bound, generator=generator)


@torch.no_grad()
def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fills a weight from a normal distribution of std gain * sqrt(2 / (fan_in + fan_out)); see `xavier_uniform_`.

    Glorot and Bengio, *Understanding the difficulty of training deep feedforward neural networks*, 2010.

    Args:
        tensor: the weight to fill, of at least 2 dimensions, or ValueError is raised; it is returned.
        gain: the scaling factor, such as the result of `calculate_gain`.
        generator: the random number generator; None for the default one of the device.

    Example:
        >>> weight = torch.nn.init.xavier_normal_(torch.empty(300, 500))
        >>> round(weight.std().item(), 2)
        0.05
    """
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return tensor.normal_(0.0, gain * math.sqrt(2.0 / (fan_in + fan_out)), generator=generator)


@torch.no_grad()
def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Fills a weight from U(-k, k) with k = gain * sqrt(3 / fan); also known as He initialization.

    It keeps variances the same through rectifiers, and uses their `calculate_gain`. For a weight `(out, in, *kernel)`,
    fan_in is `in * prod(kernel)` and fan_out `out * prod(kernel)`.

    He et al., *Delving deep into rectifiers: surpassing human-level performance on ImageNet classification*, 2015.

    Args:
        tensor: the weight to fill, of at least 2 dimensions, or ValueError is raised; it is returned.
        a: the negative slope of the "leaky_relu" that follows; 0 is "relu".
        mode: "fan_in" to keep the variance of activations, "fan_out" to keep the variance of gradients; ValueError for others.
        nonlinearity: the activation after the layer, a name that `calculate_gain` accepts.
        generator: the random number generator; None for the default one of the device.

    Example:
        >>> weight = torch.nn.init.kaiming_uniform_(torch.empty(30, 24), nonlinearity="relu")
        >>> bool((weight.abs() <= 0.5).all())
        True
    """
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=2)
        return tensor
    std = calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))
    bound = math.sqrt(3.0) * std
    return tensor.uniform_(-bound, bound, generator=generator)


@torch.no_grad()
def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Fills a weight from a normal distribution of std gain / sqrt(fan); see `kaiming_uniform_`.

    He et al., *Delving deep into rectifiers: surpassing human-level performance on ImageNet classification*, 2015.

    Args:
        tensor: the weight to fill, of at least 2 dimensions, or ValueError is raised; it is returned.
        a: the negative slope of the "leaky_relu" that follows; 0 is "relu".
        mode: "fan_in" to keep the variance of activations, "fan_out" to keep the variance of gradients; ValueError for others.
        nonlinearity: the activation after the layer, a name that `calculate_gain` accepts.
        generator: the random number generator; None for the default one of the device.

    Example:
        >>> weight = torch.nn.init.kaiming_normal_(torch.empty(300, 200), nonlinearity="relu")
        >>> round(weight.std().item(), 2)
        0.1
    """
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=2)
        return tensor
    std = calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))
    return tensor.normal_(0, std, generator=generator)


@torch.no_grad()
def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """Fills a weight with a random orthogonal matrix, whose rows (or columns, where these are fewer) are orthonormal.

    Saxe et al., *Exact solutions to the nonlinear dynamics of learning in deep linear neural networks*, 2013.

    Args:
        tensor: the weight to fill, of at least 2 dimensions, or ValueError is raised; all dimensions after the first are
            flattened. It is returned.
        gain: the factor that the matrix is multiplied by.
        generator: the random number generator; None for the default one of the device.

    Example:
        >>> weight = torch.nn.init.orthogonal_(torch.empty(2, 5))
        >>> torch.allclose(weight @ weight.T, torch.eye(2), atol=1e-6)
        True
    """
    if tensor.dim() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.shape[0]
    columns = tensor.numel() // rows
    draw = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator)
    q, r = torch.linalg.qr(draw.t() if rows < columns else draw)
    q = q * r.diagonal().sign()  # makes the draw uniform over orthogonal matrices
    return tensor.copy_((q.t() if rows < columns else q).reshape(tensor.shape)).mul_(gain)


@torch.no_grad()
def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None) -> Tensor:
    """Fills a matrix from the normal distribution N(0, std ** 2), then sets a fraction of each column to zero.

    Martens, *Deep learning via Hessian-free optimization*, 2010.

    Args:
        tensor: the matrix to fill, of 2 dimensions, or ValueError is raised; it is returned.
        sparsity: the fraction of zeros in each column, from 0 to 1; the number of zeros is rounded up.
        std: the standard deviation of the nonzero elements.
        generator: the random number generator; None for the default one of the device.

    Example:
        >>> (torch.nn.init.sparse_(torch.empty(10, 3), sparsity=0.75) == 0).sum(0)
        tensor([8, 8, 8])
    """
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    tensor.normal_(0, std, generator=generator)
    for column in range(columns):
        tensor[torch.randperm(rows)[:zeros], column] = 0
    return tensor


def _deprecated(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return `function` under its deprecated name, without the trailing underscore."""
    new_name, old_name = function.__name__, function.__name__.removesuffix("_")

    @functools.wraps(function)
    def deprecated(*args: object, **kwargs: object) -> Tensor:
        warnings.warn(f"`nn.init.{old_name}` is now deprecated in favor of `nn.init.{new_name}`.", FutureWarning, stacklevel=2)
        return function(*args, **kwargs)

    deprecated.__name__ = deprecated.__qualname__ = old_name
    after_summary = inspect.cleandoc(function.__doc__ or "").partition("\n\n")[2]
    deprecated.__doc__ = f"The deprecated name of `{new_name}`, which gives a FutureWarning.\n\n{after_summary}"
    return deprecated


uniform = _deprecated(uniform_)
normal = _deprecated(normal_)
constant = _deprecated(constant_)
eye = _deprecated(eye_)
dirac = _deprecated(dirac_)
xavier_uniform = _deprecated(xavier_uniform_)
xavier_normal = _deprecated(xavier_normal_)
kaiming_uniform = _deprecated(kaiming_uniform_)
kaiming_normal = _deprecated(kaiming_normal_)
orthogonal = _deprecated(orthogonal_)
sparse = _deprecated(sparse_)

__getattr__ = private_names(__name__)
open_to_overrides(
    globals(), ("constant_", "kaiming_uniform_", "normal_", "uniform_")
)  # only these, as in PyTorch, can be overridden by `__torch_function__`
