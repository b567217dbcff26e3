"""Batch, layer, group, instance and RMS normalization.

All except RMS normalization share one gradient formula.  It takes the dimensions over which mean and variance are computed;
`weight` and `bias` have a shape that broadcasts against the input.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from ..engine.calls.arguments import as_float
from ..engine.calls.dispatch import require_constant, require_dtype
from ..engine.calls.facts import Autocast, Kind, Order, declare
from ..engine.calls.node_names import merge_nodes
from ..engine.calls.op import formula, op
from ..engine.calls.overriding import should_offer
from ..engine.calls.tables import PUBLIC
from ..engine.calls.transform_hooks import hooks
from ..engine.devices.devices import DispatchKey
from ..engine.devices.state import state
from ..engine.tape.fast_path import FAST
from ..engine.tape.grad_mode import grad_flag
from ..engine.tape.node import rename_node
from ..engine.tensors.tensor import Tensor, alias, wrap
from ..engine.values import dtypes
from .conversion import in_format_of

__all__ = ["batch_norm", "group_norm", "instance_norm", "layer_norm", "rms_norm"]

Dims = Sequence[int]


# --- gradients ----------------------------------------------------------------------------------------------------


def _standardized(F: Any, input: Any, dims: Dims, eps: float) -> tuple[Any, Any]:
    """Return `((input - mean) * scale, scale)` with `scale = 1 / sqrt(variance + eps)`; mean and variance are over `dims`."""
    centered = input - F.mean(input, dims, True)
    variance = F.mean(centered * centered, dims, True) + eps
    scale = F.sqrt(variance) / variance  # NaN, not 0, if the variance overflows
    return centered * scale, scale


def _through_statistics(F: Any, g: Any, normalized: Any, scale: Any, dims: Dims) -> Any:
    """Return the gradient of the input of `(input - mean) * scale`, where mean and scale also depend on the input."""
    return (g - F.mean(g, dims, True) - normalized * F.mean(g * normalized, dims, True)) * scale


def _sum_broadcast(F: Any, g: Any, like: Any) -> Any:
    """Return the gradient of a broadcast parameter: the sum over the dimensions where it is broadcast."""
    extra = len(g.shape) - len(like.shape)
    dims = (*range(extra), *(i + extra for i, n in enumerate(like.shape) if n == 1 and g.shape[i + extra] != 1))
    return F.reshape(F.sum(g, dims, True) if dims else g, tuple(like.shape))


def _affine_gradients(F: Any, g: Any, normalized: Any, weight: Any, bias: Any) -> tuple[Any, Any]:
    return None if weight is None else _sum_broadcast(F, g * normalized, weight), None if bias is None else _sum_broadcast(
        F, g, bias
    )


@formula(kind=Kind.OTHER, rounds_once=True)
def norm_backward(
    F: Any, g: Any, input: Any, weight: Any, bias: Any, mean: Any, variance: Any, dims: Dims, eps: float, workspace: Any
) -> Any:
    """Return the gradients of input, weight and bias.

    Only kernels use `mean`, `variance` and `workspace`, in which a kernel's forward stores values for its backward.  This formula
    recomputes mean and variance, so that the gradients can be differentiated with respect to `input`.
    """
    normalized, scale = _standardized(F, input, dims, eps)
    g_normalized = g if weight is None else g * weight
    return (_through_statistics(F, g_normalized, normalized, scale, dims), *_affine_gradients(F, g, normalized, weight, bias))


@formula(kind=Kind.OTHER, rounds_once=True)
def fixed_norm_backward(F: Any, g: Any, input: Any, weight: Any, bias: Any, mean: Any, variance: Any, eps: float) -> Any:
    """Return the gradients of input, weight and bias for a constant mean and variance."""
    scale = F.rsqrt(variance + eps)
    normalized = (input - mean) * scale
    return ((g if weight is None else g * weight) * scale, *_affine_gradients(F, g, normalized, weight, bias))


# --- operation records --------------------------------------------------------------------------------------------


def _moments_forward(xp: Any, input: Any, /, dims: Dims) -> tuple[Any, Any]:
    mean = xp.mean(input, axis=dims, keepdims=True)
    return mean, xp.mean((input - mean) ** 2, axis=dims, keepdims=True)


def _norm_forward(
    xp: Any,
    input: Any,
    weight: Any = None,
    bias: Any = None,
    mean: Any = None,
    variance: Any = None,
    /,
    dims: Dims = (),
    eps: float = 0.0,
    workspace: Any = None,
) -> Any:
    if mean is None:
        mean, variance = _moments_forward(xp, input, dims)
        output = (input - mean) * (xp.sqrt(variance + eps) / (variance + eps))  # NaN, not 0, if the variance overflows
    else:
        output = (input - mean) / xp.sqrt(variance + eps)
    output = output if weight is None else output * weight
    return output if bias is None else output + bias


def _norm_record(name: str, grad_fn: str) -> Callable[..., Tensor]:
    return op(
        name,
        _norm_forward,
        kind=Kind.NORMALIZATION,
        promote="accumulate",
        dtypes="floating",
        public=False,
        method=False,
        out=False,
        grad_fn=grad_fn,
        nondifferentiable=("mean", "variance"),
        vjp=lambda F, g, input, weight, bias, mean, variance, dims, eps, workspace: norm_backward(
            F, g, input, weight, bias, mean, variance, dims, eps, workspace
        ),
    )


_moments = op(
    "moments", _moments_forward,
    kind=Kind.REDUCTION, promote="accumulate", dtypes="floating", results=("mean", "variance"), public=False,
    method=False,
    out=False,
)  # fmt: skip


def _rms_forward(xp: Any, input: Any, weight: Any = None, /, count: int = 1, eps: float = 0.0) -> Any:
    squares = xp.mean(input * input, axis=tuple(range(-count, 0)), keepdims=True)
    output = input / xp.sqrt(squares + eps)
    return output if weight is None else output * weight


_rms_norm_unrecorded = op(
    "rms_norm_rows", _rms_forward,
    kind=Kind.NORMALIZATION, promote="accumulate", dtypes="floating", public=False, method=False, out=False,
)  # fmt: skip
_batch_norm = _norm_record("batch_norm", "NativeBatchNormBackward0")
_layer_norm = _norm_record("layer_norm", "NativeLayerNormBackward0")
_group_norm = _norm_record("group_norm", "NativeGroupNormBackward0")
_fixed_norm = op(
    "fixed_norm", _norm_forward,
    kind=Kind.NORMALIZATION, order=Order.IMAGE, promote="accumulate", dtypes="floating", public=False, method=False, out=False,
    grad_fn="NativeBatchNormBackward0", nondifferentiable=("mean", "variance"),
    vjp=lambda F, g, input, weight, bias, mean, variance, eps: (
        fixed_norm_backward(F, g, input, weight, bias, mean, variance, eps)),
)  # fmt: skip


def _without_history(input: Tensor) -> Tensor:
    """Return the same elements for statistics that autograd does not record.  A wrapper subclass detaches itself."""
    return input.detach() if input._key.wraps else alias(input)


def _workspace(*tensors: Any) -> Any:
    """Return an empty dictionary in which the forward stores values for the backward, or None if there is no backward."""
    return {} if _is_recorded(*tensors) else None


def _is_recorded(*tensors: Tensor | None) -> bool:
    """Whether autograd records a call with these arguments."""
    for tensor in tensors:
        if tensor is not None and tensor._requires_grad:
            return grad_flag.get()
    return False


# --- batches ------------------------------------------------------------------------------------------------------


def _along_channels(parameter: Tensor | None, ndim: int, recorded: bool) -> Any:
    """Reshape a vector of channel parameters to broadcast against an input of `ndim` dimensions."""
    if parameter is None or ndim == 2:
        return parameter
    shape = (1, -1, *(1,) * (ndim - 2))
    return parameter.reshape(shape) if recorded else _reshape_unrecorded(parameter, shape)


def _reshape_unrecorded(tensor: Tensor, shape: tuple[int, ...]) -> Any:
    """Reshape a tensor without recording a view or autograd history."""
    key = tensor._key
    if type(tensor) in FAST and type(key) is DispatchKey:
        return wrap(key.F.reshape(tensor._array, shape), key)
    return tensor.reshape(shape)


def _check_dtypes(input: Tensor, *parameters: Tensor | None) -> None:
    """Raise RuntimeError if the dtype of a parameter is not that of the input.

    Float32 parameters are allowed for half-precision inputs, and any dtype if an override such as autocast handles the call.
    """
    for parameter in parameters:
        if parameter is not None and parameter._key is not input._key:
            break
    else:
        return
    other_dtypes = [parameter.dtype for parameter in parameters if parameter is not None and parameter._key is not input._key]
    if should_offer((input, *parameters)) or (input.dtype in dtypes.HALF and {*other_dtypes} <= {input.dtype, dtypes.float32}):
        return
    if all(dtype is input.dtype for dtype in other_dtypes):  # the dispatch keys differ, but only by device
        return
    raise RuntimeError(
        "mixed dtype (CPU): "
        + (
            "all inputs must share same datatype."
            if {*other_dtypes} == {dtypes.float32}
            else "expect parameter to have scalar type of Float"
        )
    )


def _check_channels(input: Tensor, *parameters: Tensor | None) -> None:
    expected = input._array.shape[1:2]
    for position, parameter in enumerate(parameters):
        if parameter is not None and parameter._array.shape != expected:
            name = ("running_mean", "running_var", "weight", "bias")[position]
            raise RuntimeError(f"{name} should contain {sum(input.shape[1:2])} elements not {parameter.numel()}")


def _check_both(running_mean: Tensor | None, running_var: Tensor | None) -> None:
    if (running_mean is None) is not (running_var is None):
        raise ValueError("running_mean and running_var must either both be None or neither be None")


@declare(
    kind=Kind.NORMALIZATION,
    order=Order.IMAGE,
    schema=(
        "batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, "
        "float momentum, float eps, bool cudnn_enabled) -> Tensor"
    ),
)
def batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = True,
) -> Tensor:
    """Normalize each channel (dimension 1) over all other dimensions (Ioffe & Szegedy 2015, "Batch normalization").

    In training, the mean and variance of the batch are used, and the running statistics, if given, are updated:
    `running * (1 - momentum) + batch * momentum`.  Otherwise, the running statistics are used.

    Args:
        input: a tensor `(N, C, *)`.
        weight, bias: vectors of length `C` that scale and shift the normalized channels; None for 1 and 0.
        running_mean, running_var: vectors of length `C`, updated in place in training; None for no running statistics.
        training: whether to use the statistics of the batch.
        momentum: the weight of the batch in the update of the running statistics.
        eps: a number added to the variance.
        cudnn_enabled: ignored.

    Raises:
        RuntimeError: the lengths do not fit, or `training` is False without running statistics.

    >>> torch.batch_norm(torch.tensor([[1.0], [3.0]]), None, None, None, None, True, 0.1, 1e-5, True)
    tensor([[-1.0000],
            [ 1.0000]])
    """
    if input.ndim < 2 and not input.numel():
        return input.clone()
    _check_channels(input, running_mean, running_var, weight, bias)
    _check_dtypes(input, running_mean, running_var, weight, bias)
    require_constant("native_batch_norm", running_mean=running_mean, running_var=running_var)
    ndim, arguments = input.ndim, (input, weight, bias)
    recorded = _is_recorded(*arguments)
    weight, bias = _along_channels(weight, ndim, recorded), _along_channels(bias, ndim, recorded)
    if not training:
        if running_mean is None or running_var is None:
            raise RuntimeError("Expected running_mean and running_var to be defined when training=False")
        if state.forward_levels and all(map(hooks.forward.has_tangent, ((running_mean, running_var), arguments))):
            raise RuntimeError(
                "batch_norm is not differentiable wrt running_mean and running_var, they cannot have forward grad defined"
            )
        mean, variance = _along_channels(running_mean, ndim, recorded), _along_channels(running_var, ndim, recorded)
        return _with_original_parameters(_fixed_norm(input, weight, bias, mean, variance, (), eps, None), *arguments)
    _check_both(running_mean, running_var)
    dims = (0, *range(2, ndim))
    mean, variance = _moments(_without_history(input), dims)
    if input.numel() and (running_mean is not None or running_var is not None):
        count = input.numel() // max(input.shape[1], 1)
        _update_running_stats(running_mean, running_var, mean, variance, count, momentum)
    return _with_original_parameters(_batch_norm(input, weight, bias, mean, variance, dims, eps, None), *arguments)


def _with_original_parameters(result: Tensor, input: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    """Return the result with an autograd node that refers to the original parameters instead of the reshaped ones."""
    if input._array.ndim == 2 or (weight is None and bias is None):
        return result
    return merge_nodes(result, "NativeBatchNormBackward0", (input, weight, bias))


def _update_running_stats(
    running_mean: Any, running_var: Any, mean: Tensor, variance: Tensor, count: int, momentum: float
) -> None:
    """Update the running statistics: `running * (1 - momentum) + batch * momentum`."""
    momentum = as_float("batch_norm", "momentum", momentum)
    if running_mean is not None:
        running_mean.mul_(1 - momentum).add_(_reshape_unrecorded(mean, (-1,)), alpha=momentum)
    if running_var is not None:
        unbiased = _reshape_unrecorded(variance, (-1,)) * (count / max(count - 1, 1))
        running_var.mul_(1 - momentum).add_(unbiased, alpha=momentum)


@declare(
    kind=Kind.NORMALIZATION,
    schema=(
        "instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, "
        "bool use_input_stats, float momentum, float eps, bool cudnn_enabled) -> Tensor"
    ),
)
def instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = True,
) -> Tensor:
    """Normalize each channel of each sample separately (Ulyanov et al. 2016, "Instance normalization").

    Args:
        input: a tensor `(N, C, *)`.
        weight, bias: vectors of length `C` that scale and shift the normalized channels; None for 1 and 0.
        running_mean, running_var: vectors of length `C`, updated in place with the means over the batch; None for no running
            statistics.
        use_input_stats: whether to use the statistics of each sample instead of the running ones.
        momentum: the weight of the new statistics in the update of the running ones.
        eps: a number added to the variance.
        cudnn_enabled: ignored.

    >>> torch.instance_norm(torch.tensor([[[1.0, 3.0]]]), None, None, None, None, True, 0.1, 1e-5, True)
    tensor([[[-1.0000,  1.0000]]])
    """
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false")
    if not use_input_stats:
        return batch_norm(input, weight, bias, running_mean, running_var, False, momentum, eps)
    _check_both(running_mean, running_var)
    eps = as_float("instance_norm", "eps", eps)
    _check_channels(input, running_mean, running_var, weight, bias)
    _check_dtypes(input, running_mean, running_var, weight, bias)
    dims = tuple(range(2, input.ndim))
    if running_mean is not None or running_var is not None:
        mean, variance = _moments(_without_history(input), dims)
        _update_running_stats(running_mean, running_var, mean.mean(0), variance.mean(0), prod(input.shape[2:]), momentum)
    shape = (-1, *(1,) * len(dims))
    weight, bias = (None if parameter is None else parameter.reshape(shape) for parameter in (weight, bias))
    output = _group_norm(input, weight, bias, None, None, dims, eps, _workspace(input, weight, bias))
    return rename_node(output, "ViewBackward0")


# --- layers and groups --------------------------------------------------------------------------------------------


def _check_layer(input: Tensor, shape: tuple[int, ...], weight: Tensor | None, bias: Tensor | None) -> None:
    if weight is not None and weight._array.shape != shape:
        raise _shape_error("weight", weight, shape)
    if bias is not None and bias._array.shape != shape:
        raise _shape_error("bias", bias, shape)
    if not shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but "
            "got normalized_shape = []"
        )
    if tuple(input._array.shape[-len(shape) :]) != shape:
        expected = ", ".join(["*", *map(str, shape)])
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape [{expected}], but got input of size"
            f"{list(input.shape)}"
        )


def _shape_error(name: str, parameter: Tensor, shape: tuple[int, ...]) -> RuntimeError:
    return RuntimeError(
        f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape "
        f"{list(parameter.shape)} and normalized_shape = {list(shape)}"
    )


@declare(
    kind=Kind.NORMALIZATION,
    order=Order.ROW_MAJOR,
    autocast={"cuda": Autocast.FLOAT32},
    schema=(
        "layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float "
        "eps=1e-05, bool cudnn_enable=True) -> Tensor"
    ),
)
def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Tensor:
    """Normalize over the last dimensions, which have the shape `normalized_shape` (Ba et al. 2016, "Layer normalization").

    Args:
        input: a tensor `(*, *normalized_shape)`.
        normalized_shape: the sizes of the last dimensions.
        weight, bias: tensors of the shape `normalized_shape` that scale and shift the result; None for 1 and 0.
        eps: a number added to the variance.
        cudnn_enable: ignored.

    Raises:
        RuntimeError: the shapes do not fit.

    >>> torch.layer_norm(torch.tensor([[1.0, 3.0]]), [2])
    tensor([[-1.0000,  1.0000]])
    """
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    _check_layer(input, shape, weight, bias)
    _check_dtypes(input, weight, bias)
    dims = (-1,) if len(shape) == 1 else tuple(range(-len(shape), 0))
    return _layer_norm(input, weight, bias, None, None, dims, eps, _workspace(input, weight, bias))


@declare(
    kind=Kind.NORMALIZATION,
    order=Order.ROW_MAJOR,
    autocast={"cuda": Autocast.FLOAT32},
    schema=(
        "group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool "
        "cudnn_enabled=True) -> Tensor"
    ),
)
def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Tensor:
    """Normalize groups of channels of each sample (Wu & He 2018, "Group normalization").

    Args:
        input: a tensor `(N, C, *)`.
        num_groups: the number of groups, which must divide `C`.
        weight, bias: vectors of length `C` that scale and shift the normalized channels; None for 1 and 0.
        eps: a number added to the variance.
        cudnn_enabled: ignored.

    Raises:
        RuntimeError: `C` is not divisible by the number of groups.

    >>> torch.group_norm(torch.tensor([[1.0, 3.0, 4.0, 8.0]]), 2)
    tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
    """
    batch, channels, *space = input.shape
    if not isinstance(num_groups, int):
        raise TypeError(f"group_norm(): argument 'num_groups' (position 2) must be int, not {type(num_groups).__name__}")
    eps = as_float("group_norm", "eps", eps)
    if num_groups <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    if channels % num_groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(input.shape)} and num_groups={num_groups}"
        )
    for name, parameter in (("weight", weight), ("bias", bias)):
        if parameter is not None and tuple(parameter.shape) != (channels,):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got "
                f"{name} of shape {list(parameter.shape)} and input of shape {list(input.shape)}"
            )
    _check_dtypes(input, weight, bias)
    shape, parameters = (num_groups, channels // num_groups, *(1,) * len(space)), (input, weight, bias)
    grouped = input.reshape(batch, num_groups, channels // num_groups, *space)
    weight, bias = (None if parameter is None else parameter.reshape(shape) for parameter in (weight, bias))
    dims = tuple(range(-1 - len(space), 0))
    output = _group_norm(grouped, weight, bias, None, None, dims, eps, _workspace(input, weight, bias))
    return merge_nodes(in_format_of(output.reshape(input.shape), input), "NativeGroupNormBackward0", parameters)


@declare(
    kind=Kind.NORMALIZATION,
    schema=("rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor"),
)
def rms_norm(input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    """Divide by the root of the mean square over the last dimensions (Zhang & Sennrich 2019, "Root mean square layer norm").

    Args:
        normalized_shape: the shape of the last dimensions, which are normalised together.
        weight: a tensor of that shape that scales the result; None for 1.
        eps: a number added to the mean square; None for the machine epsilon.

    Raises:
        RuntimeError: the shapes do not match.

    >>> torch.rms_norm(torch.tensor([3.0, 4.0]), (2,))
    tensor([0.8485, 1.1314])
    """
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    if input.ndim < len(shape):
        raise ValueError(f"Input tensor must have at least {len(shape)} dimensions, but got {input.ndim}")
    _check_layer(input, shape, weight, None)
    require_dtype("rms_norm", input, "inexact")
    if _is_plain(input, weight):
        eps = dtypes.finfo(dtypes.float32 if input.dtype in dtypes.HALF else input.dtype).eps if eps is None else eps
        return _rms_norm_unrecorded(input, weight, len(shape), eps)
    wide = (input.float() if input.dtype in dtypes.HALF else input).contiguous()
    eps = dtypes.finfo(wide.dtype).eps if eps is None else eps
    scale = ((wide * wide).mean(tuple(range(-len(shape), 0)), keepdim=True) + eps).rsqrt()
    output = wide * scale
    return (output if weight is None else output * weight).to(input.dtype)


def _is_plain(input: Tensor, weight: Tensor | None) -> bool:
    """Whether a kernel may compute `rms_norm`: no gradients, transforms or overrides, and a weight of the same dtype."""
    key = input._key
    if type(key) is not DispatchKey or (weight is not None and weight._key is not key) or state.forward_levels:
        return False
    if _is_recorded(input, weight) or should_offer((input,) if weight is None else (input, weight)):
        return False
    return "rms_norm_rows" in key.backend.all_kernels and key.dtype.category == dtypes.FLOATING and bool(input._array.size)


for _function in (batch_norm, group_norm, instance_norm, layer_norm, rms_norm):
    PUBLIC[_function.__name__] = _function
