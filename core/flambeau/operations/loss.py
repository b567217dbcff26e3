"""Loss functions of predictions and targets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from ..engine.calls.arguments import as_float, as_int
from ..engine.calls.dispatch import common_shape, require_constant
from ..engine.calls.facts import Autocast, Kind, Order, declare
from ..engine.calls.node_names import become, merge_nodes, step
from ..engine.calls.op import formula, op
from ..engine.calls.overriding import should_offer
from ..engine.calls.tables import PUBLIC
from ..engine.tape.engine import key_of_edge, shape_of
from ..engine.tape.node import rename_node
from ..engine.tensors.tensor import Tensor, alias
from ..engine.values import dtypes
from .indexing.standard import extremes, has_data
from .softmax import log_softmax, log_softmax_backward

__all__ = [
    "binary_cross_entropy", "check_reduction", "cross_entropy", "cross_entropy_of_logits", "huber_loss", "mse_loss", "nll_loss",
    "reduced",
    "smooth_l1_loss", "soft_margin_loss",
]  # fmt: skip


def check_reduction(reduction: str) -> None:
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")


def reduced(values: Tensor, reduction: str) -> Tensor:
    """Return the losses ("none"), their sum or their mean, as `reduction` specifies."""
    check_reduction(reduction)
    return values if reduction == "none" else values.mean() if reduction == "mean" else values.sum()


def _reduced_array(xp: Any, values: Any, reduction: str) -> Any:
    return values if reduction == "none" else xp.mean(values) if reduction == "mean" else xp.sum(values)


# --- squared error ------------------------------------------------------------------------------------------------


@formula(kind=Kind.OTHER, rounds_once=True)
def mse_loss_backward(F: Any, g: Any, input: Any, target: Any, reduction: str) -> Any:
    error = input - target
    return error * (g * (2.0 / max(prod(error.shape), 1) if reduction == "mean" else 2.0))


def _reduction_call(name: str) -> Callable[..., tuple[Any, ...]]:
    """Return a function that returns the call of PyTorch's operator `name`, which takes the reduction as a number."""
    return lambda *arguments: (
        name, *(("none", "mean", "sum").index(value) if isinstance(value, str) else value for value in arguments)
    )  # fmt: skip


_mse_loss = op(
    "mse_loss", lambda xp, input, target, /, reduction: _reduced_array(xp, (input - target) ** 2, reduction),
    kind=Kind.LOSS, autocast=Autocast.FLOAT32,
    promote="arithmetic", dtypes="floating", public=False, method=False, out=False,
    input=lambda F, g, input, target, reduction: F.mse_loss_backward(g, input, target, reduction),
    target=lambda F, g, input, target, reduction: F.mse_loss_backward(g, target, input, reduction),
    schema="mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor", dispatches=_reduction_call("mse_loss"),
)  # fmt: skip


def mse_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Compute the squared error `(input - target) ** 2`.

    >>> torch.nn.functional.mse_loss(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]))
    tensor(2.)
    """
    check_reduction(reduction)
    return _mse_loss(input, target, reduction)


# --- other losses of one element each -----------------------------------------------------------------------------


def _reduce_slope(g: Any, slope: Any, reduction: str) -> Any:
    """Multiply the elementwise derivatives by `g`, and also by `1 / number of elements` for the reduction "mean"."""
    return slope * (g * (1.0 / max(prod(slope.shape), 1)) if reduction == "mean" else g)


def _smooth_l1_forward(xp: Any, input: Any, target: Any, /, reduction: str, beta: float) -> Any:
    error = xp.abs(input - target)
    return _reduced_array(xp, xp.where(error < beta, 0.5 * error * error / beta, error - 0.5 * beta), reduction)


def _huber_forward(xp: Any, input: Any, target: Any, /, reduction: str, delta: float) -> Any:
    error = xp.abs(input - target)
    return _reduced_array(xp, xp.where(error <= delta, 0.5 * error * error, delta * (error - 0.5 * delta)), reduction)


_smooth_l1 = op(
    "smooth_l1_loss", _smooth_l1_forward,
    kind=Kind.LOSS, autocast=Autocast.FLOAT32, promote="arithmetic", dtypes="floating", public=False, method=False, out=False,
    input=lambda F, g, input, target, reduction, beta: _reduce_slope(g, F.clamp((input - target) / beta, -1.0, 1.0), reduction),
    target=lambda F, g, input, target, reduction, beta: _reduce_slope(g, F.clamp((target - input) / beta, -1.0, 1.0), reduction),
    schema="smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float beta=1.) -> Tensor",
    dispatches=_reduction_call("smooth_l1_loss"),
)  # fmt: skip
_huber = op(
    "huber_loss", _huber_forward,
    kind=Kind.LOSS, autocast=Autocast.FLOAT32, promote="arithmetic", dtypes="floating", public=False, method=False, out=False,
    input=lambda F, g, input, target, reduction, delta: _reduce_slope(g, F.clamp(input - target, -delta, delta), reduction),
    target=lambda F, g, input, target, reduction, delta: _reduce_slope(g, F.clamp(target - input, -delta, delta), reduction),
    schema="huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.) -> Tensor",
)  # fmt: skip


def smooth_l1_loss(input: Tensor, target: Tensor, reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """Compute `0.5 * error ** 2 / beta` if `error = |input - target|` is below `beta`, else `error - 0.5 * beta`.

    R. Girshick, "Fast R-CNN" (2015).
    """
    check_reduction(reduction)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    beta = as_float("smooth_l1_loss", "beta", beta)
    return _smooth_l1(input, target, reduction, beta) if beta else reduced((input - target).abs(), reduction)


def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0) -> Tensor:
    """Compute `0.5 * error ** 2` if `error = |input - target|` is at most `delta`, else `delta * (error - 0.5 * delta)`.

    P. J. Huber, "Robust estimation of a location parameter" (1964).
    """
    check_reduction(reduction)
    delta = as_float("huber_loss", "delta", delta)
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    if not dtypes.can_cast(target.dtype, input.dtype):
        raise RuntimeError(
            f"result type {target.dtype.legacy_name} can't be cast to the desired output type {input.dtype.legacy_name}"
        )
    return _huber(input, target, reduction, delta)


# --- soft margin --------------------------------------------------------------------------------------------------


def _soft_margin_slope_grad(F: Any, g: Any, input: Any, target: Any) -> Any:
    """Compute the second derivative of the loss by a formula without subtraction, which would lose the digits of small values."""
    exponential = F.exp(-target * input)
    above = exponential + 1
    return g * F.conj(target * target * exponential / (above * above))


def _soft_margin_slope_forward(xp: Any, input: Any, target: Any) -> Any:
    exponential = xp.exp(-target * input)
    return -target * exponential / (exponential + 1)


op(
    "soft_margin_slope", _soft_margin_slope_forward,
    kind=Kind.POINTWISE, public=False, method=False, out=False, input=_soft_margin_slope_grad,
)  # fmt: skip
_soft_margin = op(
    "soft_margin", lambda xp, input, target: xp.log1p(xp.exp(-target * input)),
    kind=Kind.LOSS, public=False, method=False, out=False,
    input=lambda F, g, input, target: g * F.conj(F.soft_margin_slope(input, target)),
)  # fmt: skip


@declare(
    kind=Kind.LOSS, autocast=Autocast.FLOAT32, schema="soft_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor"
)
def soft_margin_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Compute `log(1 + exp(-target * input))` for targets 1 and -1."""
    require_constant("soft_margin_loss", target=target)
    return merge_nodes(reduced(_soft_margin(input, target.to(input.dtype)), reduction), "SoftMarginLossBackward0", (input,))


# --- binary cross entropy -----------------------------------------------------------------------------------------


def _bce_forward(xp: Any, input: Any, target: Any, weight: Any = None, /, reduction: str = "mean") -> Any:
    low, high = extremes(xp, input) if input.size else (0, 1)
    if has_data(xp) and not (low >= 0 and high <= 1):
        raise RuntimeError("all elements of input should be between 0 and 1")
    yes, no = xp.clip(xp.log(input), -100.0, None), xp.clip(xp.log1p(-input), -100.0, None)
    losses = (target - 1) * no - target * yes
    return _reduced_array(xp, losses if weight is None else losses * weight, reduction)


def _bce_slope_forward(xp: Any, input: Any, target: Any) -> Any:
    return (input - target) / xp.clip(input * (1 - input), 1e-12, None)


def _bce_slope_grad(F: Any, g: Any, input: Any, target: Any) -> Any:
    """Return the second derivative by PyTorch's formula, which adds small numbers to the factors instead of clamping them."""
    right, wrong = input + 1e-12, 1 - input + 1e-12
    return g * ((input * input - 2 * input * target + target) / (right * right * wrong * wrong))


op(
    "bce_slope", _bce_slope_forward,
    kind=Kind.POINTWISE, promote="accumulate", public=False, method=False, out=False,
    input=_bce_slope_grad, target=lambda F, g, input: -g / F.clamp(input * (1 - input), 1e-12, None),
)  # fmt: skip


def _bce_input(F: Any, g: Any, input: Any, target: Any, weight: Any, reduction: str) -> Any:
    slope = F.bce_slope(input, target)
    return _reduce_slope(g, slope if weight is None else slope * weight, reduction)


def _bce_target(F: Any, g: Any, input: Any, weight: Any, reduction: str) -> Any:
    slope = F.clamp(F.log1p(-input), -100.0, None) - F.clamp(F.log(input), -100.0, None)
    return _reduce_slope(g, slope if weight is None else slope * weight, reduction)


def _logits_forward(
    xp: Any, input: Any, target: Any, weight: Any = None, pos_weight: Any = None, /, reduction: str = "mean"
) -> Any:
    below = xp.maximum(-input, xp.zeros((), dtype=input.dtype)) + xp.log1p(xp.exp(-xp.abs(input)))
    losses = (1 - target) * input + (below if pos_weight is None else ((pos_weight - 1) * target + 1) * below)
    return _reduced_array(xp, losses if weight is None else losses * weight, reduction)


def _logits_input(F: Any, g: Any, input: Any, target: Any, weight: Any, pos_weight: Any, reduction: str) -> Any:
    above = F.sigmoid(input)
    slope = above - target if pos_weight is None else (1 - target) + ((pos_weight - 1) * target + 1) * (above - 1)
    return _reduce_slope(g, slope if weight is None else slope * weight, reduction)


def _logits_target(F: Any, g: Any, input: Any, target: Any, weight: Any, pos_weight: Any, reduction: str) -> Any:
    slope = -input if pos_weight is None else (pos_weight - 1) * F.softplus(-input, 1.0, 20.0) - input
    slope = slope + 0 * target
    return _reduce_slope(g, slope if weight is None else slope * weight, reduction)


_bce = op(
    "binary_cross_entropy", _bce_forward,
    kind=Kind.LOSS, autocast={"cpu": Autocast.FLOAT32, "cuda": Autocast.UNSAFE},
    promote="accumulate", dtypes="floating", public=False, method=False, out=False,
    input=lambda F, g, input, target, weight, reduction: _bce_input(F, g, input, target, weight, reduction),
    target=lambda F, g, input, weight, reduction: _bce_target(F, g, input, weight, reduction),
    schema="binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=1) -> Tensor",
    dispatches=_reduction_call("binary_cross_entropy"),
)  # fmt: skip
_bce_with_logits = op(
    "binary_cross_entropy_with_logits", _logits_forward,
    kind=Kind.LOSS, autocast=Autocast.FLOAT32, promote="accumulate", dtypes="floating",
    public=False, method=False, out=False, own_arguments=True,
    dispatches=_reduction_call("binary_cross_entropy_with_logits"),
    input=lambda F, g, input, target, weight, pos_weight, reduction: _logits_input(
        F, g, input, target, weight, pos_weight, reduction),
    target=lambda F, g, input, target, weight, pos_weight, reduction: _logits_target(
        F, g, input, target, weight, pos_weight, reduction),
    schema=(
        "binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, int "
        "reduction=1) -> Tensor",
    ),
)  # fmt: skip


def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: str = "mean") -> Tensor:
    """Compute the cross entropy of predicted and true probabilities; logarithms are clamped to at least -100."""
    check_reduction(reduction)
    if input.dtype is not target.dtype and not should_offer((input, target)):
        raise RuntimeError(f"Found dtype {target.dtype.legacy_name} but expected {input.dtype.legacy_name}")
    if weight is not None:
        require_constant("binary_cross_entropy", weight=weight)
    return _bce(input, target, weight, reduction)


def _check_weights(target: Tensor, weight: Tensor | None, pos_weight: Tensor | None) -> None:
    for tensor, refused in ((weight, ()), (pos_weight, (dtypes.bool_,))):
        if tensor is not None and (tensor.dtype in refused or (tensor.is_complex() and not target.is_complex())):
            raise RuntimeError(f"weights of {tensor.dtype.legacy_name} are not supported")
        if tensor is not None and common_shape(tensor.shape, target.shape) != target.shape:
            raise RuntimeError(f"weights of shape {list(tensor.shape)} do not broadcast to the target's, {list(target.shape)}")


def cross_entropy_of_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, pos_weight: Tensor | None = None, reduction: str = "mean"
) -> Tensor:
    """Compute the cross entropy of `sigmoid(input)` and true probabilities, without overflow."""
    check_reduction(reduction)
    if target.dtype is not input.dtype:
        if target.dtype.category != dtypes.FLOATING:
            raise RuntimeError(
                f"result type {input.dtype.legacy_name} can't be cast to the desired output type {target.dtype.legacy_name}"
            )
        input = input.to(target.dtype)
    if weight is not None or pos_weight is not None:
        require_constant("binary_cross_entropy_with_logits", weight=weight, pos_weight=pos_weight)
        _check_weights(target, weight, pos_weight)
    return _bce_with_logits(input, target, weight, pos_weight, reduction)


# --- negative log likelihood --------------------------------------------------------------------------------------


def _class_weights(xp: Any, like: Any, target: Any, weight: Any, ignore_index: int) -> tuple[Any, Any]:
    """Return the targets, with ignored targets replaced by 0, and the weight of each target, which is 0 for ignored ones."""
    counted = target != ignore_index
    safe = xp.where(counted, target, xp.zeros_like(target))
    smallest, largest = extremes(xp, safe) if safe.size else (0, -1)
    if smallest < 0 or largest >= like.shape[1]:
        raise IndexError(f"Target {smallest if smallest < 0 else largest} is out of bounds.")
    if weight is None:
        return safe, xp.astype(counted, like.dtype)
    return safe, xp.reshape(xp.take(weight, xp.reshape(safe, (-1,))), safe.shape) * xp.astype(counted, like.dtype)


def _nll_loss_forward(
    xp: Any, input: Any, target: Any, weight: Any = None, /, reduction: str = "mean", ignore_index: int = -100
) -> Any:
    safe, weights = _class_weights(xp, input, target, weight, ignore_index)
    picked = -xp.squeeze(xp.take_along_axis(input, xp.expand_dims(safe, axis=1), axis=1), axis=1)
    losses = xp.where(weights == 0, xp.zeros_like(picked), picked * weights)
    return xp.sum(losses) / xp.sum(weights) if reduction == "mean" else _reduced_array(xp, losses, reduction)


def _nll_loss_backward_forward(
    xp: Any,
    input: Any,
    target: Any,
    weight: Any = None,
    /,
    shape: Sequence[int] = (),
    reduction: str = "mean",
    ignore_index: int = -100,
) -> Any:
    one_class = xp.zeros((1, shape[1]), dtype=input.dtype)
    safe, weights = _class_weights(xp, one_class, target, weight, ignore_index)
    slope = -input * (weights / xp.sum(weights) if reduction == "mean" else weights)
    slope = xp.where(target != ignore_index, slope, xp.zeros_like(slope))  # no NaN for ignored targets if the weights add up to 0
    classes = xp.reshape(xp.arange(shape[1]), (1, shape[1]) + (1,) * (len(shape) - 2))
    return xp.where(xp.expand_dims(safe, axis=1) == classes, xp.expand_dims(slope, axis=1), xp.zeros((), dtype=input.dtype))


_nll_loss = op(
    "nll_loss", _nll_loss_forward,
    kind=Kind.LOSS, autocast=Autocast.FLOAT32, promote="accumulate", dtypes="floating",
    keeps_dtype=("target",), public=False, method=False, out=False,
    input=lambda F, g, input, target, weight, reduction, ignore_index: F.tied(F.nll_loss_backward(
        g, target, weight, tuple(input.shape), reduction, ignore_index), input),
    schema="nll_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100) -> Tensor",
)  # fmt: skip
op(
    "nll_loss_backward", _nll_loss_backward_forward,
    kind=Kind.LOSS, order=Order.ROW_MAJOR, promote="accumulate", keeps_dtype=("target",), public=False, method=False,
    out=False,
    input=lambda F, g, target, weight, reduction, ignore_index: F.nll_loss(g, target, weight, reduction, ignore_index),
)  # fmt: skip


# --- cross entropy: log-softmax and negative log likelihood -------------------------------------------------------


def _log_sum_exp_forward(xp: Any, input: Any, /, dim: int) -> Any:
    """Return log-sum-exp along `dim` in two parts: the maximum, and `log(sum(exp(x - maximum)))`.

    Their sum would lose the digits of the second part for large logits, and with them the digits of small losses.
    """
    largest = xp.max(input, axis=dim, keepdims=True)
    return xp.concat([largest, xp.log(xp.sum(xp.exp(input - largest), axis=dim, keepdims=True))], axis=dim)


def _cross_entropy_forward(
    xp: Any, input: Any, log_sum: Any, target: Any, weight: Any = None, /, reduction: str = "mean", ignore_index: int = -100
) -> Any:
    return _nll_loss_forward(xp, input - log_sum[:, :1, ...] - log_sum[:, 1:, ...], target, weight, reduction, ignore_index)


@formula(kind=Kind.OTHER, rounds_once=True)
def cross_entropy_backward(
    F: Any, g: Any, input: Any, log_sum: Any, target: Any, weight: Any, reduction: str, ignore_index: int
) -> Any:
    """Return the gradient of the logits.

    Only kernels use `log_sum`.  This formula recomputes it, so that the gradient can be differentiated with respect to `input`.
    """
    slope = F.nll_loss_backward(g, target, weight, tuple(input.shape), reduction, ignore_index)
    return log_softmax_backward(F, slope, F.log_softmax(input, 1), 1)


def _decompose(node: Any) -> None:
    """Replace the node of `cross_entropy` by the two nodes that PyTorch records: log-softmax and negative log likelihood."""
    (input,) = node.edges
    shape = shape_of(input)
    parent = step(node, "LogSoftmaxBackward0", 1, (input,), key_of_edge(input), shape, _log_softmax_rule, takes_saved=True)
    node.input = None
    become(node, type(node).__name__, (parent,), _nll_rule)


def _log_softmax_rule(node: Any, F: Any, g: Any, unpack: Any) -> tuple[Any]:
    return (log_softmax_backward(F, g, F.log_softmax(unpack(node.input, node), 1), 1),)


def _nll_rule(node: Any, F: Any, g: Any, unpack: Any) -> tuple[Any]:
    target, weight = unpack(node.target, node), unpack(node.weight, node)
    return (F.nll_loss_backward(g, target, weight, node.edges[0].shape, node.reduction, node.ignore_index),)


_log_sum_exp = op(
    "log_sum_exp",
    _log_sum_exp_forward,
    kind=Kind.REDUCTION,
    promote="accumulate",
    dtypes="floating",
    public=False,
    method=False,
    out=False,
)
_cross_entropy = op(
    "cross_entropy", _cross_entropy_forward,
    kind=Kind.LOSS, autocast=Autocast.FLOAT32, promote="accumulate", dtypes="floating",
    keeps_dtype=("target",), public=False, method=False, out=False,
    grad_fn="NllLossBackward0", decompose=_decompose,
    input=lambda F, g, input, log_sum, target, weight, reduction, ignore_index: cross_entropy_backward(
        F, g, input, log_sum, target, weight, reduction, ignore_index),
)  # fmt: skip


# --- targets that are class indices -------------------------------------------------------------------------------


def _check_classes(input: Tensor, target: Tensor, weight: Tensor | None) -> None:
    shape, target_shape = input._array.shape, target._array.shape
    if weight is not None:
        require_constant("nll_loss_forward" if len(shape) <= 2 else "nll_loss2d_forward", weight=weight)
    if len(shape) > 1 and (not target_shape or shape[0] != target_shape[0]):
        raise ValueError(
            f"Expected input batch_size ({shape[0]}) to match target batch_size ({target_shape[0] if target_shape else 0})."
        )
    if len(shape) <= 2 and len(target_shape) > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if target._key.dtype not in (dtypes.int64, dtypes.uint8):
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {target.dtype.legacy_name}")
    if len(shape) == len(target_shape) == 1 and target_shape != (1,):
        raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {target_shape[0]}")
    if len(shape) == 4 and len(target_shape) != 3:
        raise RuntimeError(
            f"only batches of spatial targets supported (3D tensors) but got targets of dimension: {len(target_shape)}"
        )
    if len(shape) > 2 and shape[2:] != target_shape[1:]:
        raise RuntimeError(f"Expected target size {[shape[0], *shape[2:]]}, got {list(target_shape)}")
    if weight is None:
        return
    classes = shape[min(len(shape) - 1, 1)]
    if weight.shape != (classes,):
        raise RuntimeError(
            f"weight tensor should be defined either for all {classes} classes or no classes but got weight "
            f"tensor of shape: {list(weight.shape)}"
        )
    if weight.dtype is not input.dtype:
        raise RuntimeError(f"expected scalar type {input.dtype.legacy_name} but found {weight.dtype.legacy_name}")


def _batched_classes(
    loss: Any, input: Tensor, target: Tensor, weight: Tensor | None, reduction: str, ignore_index: int
) -> Tensor:
    """Call `loss` for a batch.  A single sample is passed to it as a batch of one."""
    check_reduction(reduction)
    ignore_index = as_int("nll_loss", "ignore_index", ignore_index)
    if not input._array.ndim:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    _check_classes(input, target, weight)
    if target._key.dtype is not dtypes.int64:
        target = target.long()
    if input._array.ndim > 1:
        result = loss(input, target, weight, reduction, ignore_index)
        return result if input._array.ndim == 2 else rename_node(result, "NllLoss2DBackward0")
    result = loss(input.unsqueeze(0), target.reshape(1), weight, reduction, ignore_index)
    return rename_node(result.reshape(target.shape), "NllLossBackward0") if reduction == "none" else result


def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean"
) -> Tensor:
    """Return the negative log-probability of the target class; targets equal to `ignore_index` are ignored.

    Shapes: input `(N, C, *)` or `(C,)`, target `(N, *)` or `()`.
    """
    return _batched_classes(_nll_loss, input, target, weight, reduction, ignore_index)


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Compute the cross entropy of logits and targets, which are class indices or class probabilities.

    Shapes: input `(N, C, *)` or `(C,)`, target `(N, *)` or `()`, or the shape of input.

    >>> torch.nn.functional.cross_entropy(torch.zeros(1, 2), torch.tensor([0]))
    tensor(0.6931)
    """
    if input._array.shape == target._array.shape:
        if target._key.dtype.category != dtypes.FLOATING:
            raise RuntimeError(
                f"Expected floating point type for target with class probabilities, got {target.dtype.legacy_name}"
            )
        if ignore_index >= 0:
            raise RuntimeError("ignore_index is not supported for floating point target")
        return _cross_entropy_of_probabilities(input, target, weight, reduction, label_smoothing)
    if label_smoothing:
        return _smoothed_cross_entropy(input, target, weight, ignore_index, reduction, label_smoothing)
    return _batched_classes(_fused_cross_entropy, input, target, weight, reduction, ignore_index)


def _fused_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None, reduction: str, ignore_index: int) -> Tensor:
    # Half precision uses log-softmax: `_cross_entropy` would round the logarithm of the sum before it is subtracted.
    if input._key.dtype in dtypes.HALF or input._key.wraps:
        return _nll_loss(log_softmax(input, 1), target, weight, reduction, ignore_index)
    return _cross_entropy(input, _log_sum_exp(alias(input), 1), target, weight, reduction, ignore_index)


def _cross_entropy_of_probabilities(
    input: Tensor, target: Tensor, weight: Tensor | None, reduction: str, label_smoothing: float
) -> Tensor:
    check_reduction(reduction)
    _check_smoothing(label_smoothing)
    dim = min(input.ndim - 1, 1)
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / input.shape[dim]
    weighted = log_softmax(input, dim) * target
    if weight is not None:
        weighted = weighted * weight.reshape(-1, *(1,) * max(input.ndim - 2, 0))
    if reduction == "none":
        return -weighted.sum(dim)
    loss = -weighted.sum()
    if reduction == "sum":
        return loss
    count = prod(length for d, length in enumerate(input.shape) if d != dim)
    return rename_node(loss / count, "DivBackward1")


def _check_smoothing(label_smoothing: float) -> None:
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")


def _smoothed_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str, label_smoothing: float
) -> Tensor:
    """Compute the cross entropy with label smoothing (Szegedy et al. 2016, "Rethinking the Inception architecture")."""
    _check_smoothing(label_smoothing)
    dim = min(input.ndim - 1, 1)
    log_probs = log_softmax(input, dim)
    sharp = nll_loss(log_probs, target, weight, ignore_index, reduction)
    ignored = target == ignore_index
    weighted = log_probs if weight is None else log_probs * weight.reshape(-1, *(1,) * max(input.ndim - 2, 0))
    flat = (-weighted.sum(dim)).masked_fill(ignored, 0.0)
    if reduction == "mean":
        counts = ~ignored if weight is None else weight[target.masked_fill(ignored, 0)].masked_fill(ignored, 0.0)
        flat = flat.sum() / counts.sum()
    elif reduction == "sum":
        flat = flat.sum()
    return sharp * (1 - label_smoothing) + flat * (label_smoothing / input.shape[dim])  # type: ignore[no-any-return]  # `weight` is Any


# --- functions of `torch`, whose reduction is a number ------------------------------------------------------------


def reduction_of(number: int) -> str:
    """Return the name of a reduction: "mean" for 1, "sum" for 2, and "none" for any other number, as in PyTorch."""
    return {1: "mean", 2: "sum"}.get(number, "none")


def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, pos_weight: Tensor | None = None, reduction: int = 0
) -> Tensor:
    """Compute the binary cross entropy of `sigmoid(input)` and `target`.

    Args:
        input: a floating-point tensor of logits.
        target: a tensor of probabilities with the shape of `input`.
        weight: a factor for each loss, a tensor that can be broadcast to the shape of `input`; None for 1.
        pos_weight: a factor for the loss of positive targets, a tensor that can be broadcast to the shape of `input`; None for 1.
        reduction: 0 for none, 1 for the mean, 2 for the sum.

    >>> torch.binary_cross_entropy_with_logits(torch.zeros(2), torch.tensor([0.0, 1.0]), reduction=1)
    tensor(0.6931)
    """
    word = reduction_of(as_int("binary_cross_entropy_with_logits", "reduction", reduction))
    if target.shape != input.shape:
        common = common_shape(target.shape, input.shape)
        if target.shape != common:
            raise RuntimeError(f"output with shape {list(target.shape)} doesn't match the broadcast shape {list(common)}")
        input = input.expand(common)
    return cross_entropy_of_logits(input, target, weight, pos_weight, word)


PUBLIC.update(binary_cross_entropy_with_logits=binary_cross_entropy_with_logits)
