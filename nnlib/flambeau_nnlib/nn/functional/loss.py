"""Losses: of numbers, probabilities and classes.

``size_average`` and ``reduce`` are how ``reduction`` was spelled before PyTorch 0.4.1.
"""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any

import flambeau as torch
from flambeau import Tensor
from flambeau.arguments import Number
from flambeau.dispatch import require_flags
from flambeau.ops import ctc
from flambeau.ops import loss as ops
from flambeau.ops.linear import linear

from .._reduction import legacy_get_string

if TYPE_CHECKING:
    from ..modules.linear_cross_entropy import LinearCrossEntropyOptions

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cross_entropy", "ctc_loss", "gaussian_nll_loss", "huber_loss",
    "kl_div",
    "l1_loss", "linear_cross_entropy", "mse_loss", "nll_loss", "poisson_nll_loss", "smooth_l1_loss",
]  # fmt: skip


def how_reduced(reduction: str, size_average: bool | None, reduce: bool | None) -> str:
    """The reduction that is asked for, in either spelling."""
    if size_average is None and reduce is None:
        return reduction
    return legacy_get_string(size_average, reduce)


# --- errors of numbers --------------------------------------------------------------------------------------------


def _warn_of_sizes(input: Tensor, target: Tensor) -> None:
    if not input.is_same_size(target):
        warnings.warn(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). This will likely lead "
            "to incorrect results due to broadcasting. Please ensure they have the same size.",
            stacklevel=3,
        )


def _weighted(losses: Tensor, weight: Tensor, input: Tensor, reduction: str, by_weight: bool = True) -> Tensor:
    """Losses times weights; their mean is over the sum of the weights."""
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'.")
    if reduction == "mean" and by_weight:
        return (losses * weight).sum() / weight.sum()
    return ops.reduced(losses * weight, reduction)


def l1_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The absolute error ``|input - target|``."""
    _warn_of_sizes(input, target)
    reduction = how_reduced(reduction, size_average, reduce)
    errors = (input - target).abs()
    return ops.reduced(errors, reduction) if weight is None else _weighted(errors, weight, input, reduction)


def mse_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The squared error ``(input - target) ** 2``.

    >>> import flambeau as torch
    >>> torch.nn.functional.mse_loss(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]))
    tensor(2.)
    """
    _warn_of_sizes(input, target)
    reduction = how_reduced(reduction, size_average, reduce)
    return (
        ops.mse_loss(input, target, reduction) if weight is None else _weighted((input - target) ** 2, weight, input, reduction)
    )


def smooth_l1_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:  # fmt: skip
    """Squared error near 0, absolute error beyond ``beta`` (Girshick 2015, "Fast R-CNN")."""
    _warn_of_sizes(input, target)
    return ops.smooth_l1_loss(input, target, how_reduced(reduction, size_average, reduce), beta)


def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """Squared error near 0, ``delta`` times absolute error beyond ``delta`` (Huber 1964)."""
    _warn_of_sizes(input, target)
    if weight is None:
        return ops.huber_loss(input, target, reduction, delta)
    return _weighted(ops.huber_loss(input, target, "none", delta), weight, input, reduction, by_weight=False)


def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool = True, full: bool = False, size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Minus the log-likelihood of Poisson counts, whose rate (or its logarithm) is ``input``.

    ``full`` adds Stirling's approximation of what does not depend on the rate.
    """
    reduction = how_reduced(reduction, size_average, reduce)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not a valid value for reduction")
    require_flags("poisson_nll_loss", log_input=log_input, full=full)
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return ops.reduced(loss, reduction)


def gaussian_nll_loss(
    input: Tensor, target: Tensor | Number, var: Tensor | Number, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """Minus the log-likelihood of normal values of mean ``input`` and variance ``var``, taken as at least ``eps``.

    ``var`` is a number, or has the input's shape, or that shape with the last dimension missing or of length 1.
    Nix & Weigend (1994), "Estimating the mean and variance of the target probability distribution".
    """
    if isinstance(var, float):
        var = torch.full_like(input, var)
    if bool(torch.any(var < 0)):
        raise ValueError("var has negative entry/entries")
    if var.size() != input.size():
        if input.size()[:-1] == var.size():
            var = var.unsqueeze(-1)
        elif var.ndim != input.ndim or sum(v for n, v in zip(input.size(), var.size(), strict=True) if n != v) != 1:
            raise ValueError("var is of incorrect size")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not valid")
    var = var.clone()
    with torch.no_grad():
        var.clamp_(min=eps)
    loss = 0.5 * (var.log() + (input - target) ** 2 / var)
    return ops.reduced(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


# --- probabilities ------------------------------------------------------------------------------------------------


def kl_div(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:  # fmt: skip
    """The Kullback-Leibler divergence of ``target`` from the log-probabilities ``input``.

    ``reduction="batchmean"`` divides by the size of the batch, which is the definition; "mean", by all elements.

    >>> import flambeau as torch
    >>> torch.nn.functional.kl_div(torch.tensor([[0.5, 0.5]]).log(), torch.tensor([[0.5, 0.5]]), reduction="batchmean")
    tensor(0.)
    """
    if reduction == "mean" and size_average is None and reduce is None:
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size.'batchmean' divides only by "
            "the batch size, and aligns with the KL div math definition.'mean' will be changed to behave the same as "
            "'batchmean' in the next major release.",
            stacklevel=2,
        )
    reduction = how_reduced(reduction, size_average, reduce)
    for each in (input, target):
        if not each.is_floating_point():
            raise RuntimeError(f"kl_div: {'Complex' if each.is_complex() else 'Integral'} inputs not supported.")
    require_flags("kl_div", log_target=log_target)
    losses = target.exp() * (target - input) if log_target else torch.xlogy(target, target) - target * input
    if reduction == "batchmean":
        return losses.sum() / input.shape[0] if input.dim() else losses.sum()
    return ops.reduced(losses, reduction)


def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """The cross entropy of probabilities ``input`` and the probabilities that were right.

    Raises ValueError where the shapes differ, RuntimeError where ``input`` is not within 0 and 1.

    >>> import flambeau as torch
    >>> torch.nn.functional.binary_cross_entropy(torch.tensor([0.5]), torch.tensor([1.0]))
    tensor(0.6931)
    """
    reduction = how_reduced(reduction, size_average, reduce)
    if target.size() != input.size():
        raise ValueError(f"Using a target size ({target.size()}) that is different to the input size ({input.size()}) is "
                         "deprecated. Please ensure they have the same size.")  # fmt: skip
    return ops.binary_cross_entropy(input, target, weight, reduction)


def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", pos_weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The cross entropy of ``sigmoid(input)`` and the probabilities that were right, without overflow.

    ``pos_weight`` is what right answers count for, class by class.
    """
    reduction = how_reduced(reduction, size_average, reduce)
    if target.size() != input.size():
        raise ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()})")
    return ops.binary_cross_entropy_with_logits(input, target, weight, pos_weight, reduction)


# --- classes ------------------------------------------------------------------------------------------------------


def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None, ignore_index: int = -100,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Minus the log-probability of the target class, ``weight`` for each class.

    Shapes: input ``(N, C, *)`` or ``(C,)``, target ``(N, *)`` or ``()``.  Targets equal to ``ignore_index`` count nothing.
    """
    return ops.nll_loss(input, target, weight, ignore_index, how_reduced(reduction, size_average, reduce))


def cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None, ignore_index: int = -100,
    reduce: bool | None = None, reduction: str = "mean", label_smoothing: float = 0.0,
) -> Tensor:  # fmt: skip
    """The cross entropy of logits and targets, which are classes or probabilities of classes.

    Shapes: input ``(N, C, *)`` or ``(C,)``; target ``(N, *)`` or ``()`` of classes, or of probabilities the shape of input.

    >>> import flambeau as torch
    >>> torch.nn.functional.cross_entropy(torch.zeros(1, 2), torch.tensor([0]))
    tensor(0.6931)
    """
    reduction = how_reduced(reduction, size_average, reduce)
    return ops.cross_entropy(input, target, weight, ignore_index, reduction, label_smoothing)


def linear_cross_entropy(
    input: Tensor, linear_weight: Tensor, target: Tensor, *, linear_bias: Tensor | None = None, weight: Tensor | None = None,
    reduction: str = "mean", ignore_index: int | None = None, label_smoothing: float = 0.0,
    options: LinearCrossEntropyOptions | None = None,
) -> Tensor:  # fmt: skip
    """The cross entropy of ``linear(input, linear_weight, linear_bias)`` and ``target``.

    Shapes: input ``(N, in_features)`` or ``(in_features,)``, linear_weight ``(C, *, in_features)``, target ``(N, *)`` or ``()``
    of classes, or of probabilities ``(N, C, *)``.
    """
    if input.dim() not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.dim()}")
    if linear_weight.dim() < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {linear_weight.dim()}")
    if linear_weight.dim() > 2 and input.dim() == 1:
        raise RuntimeError(f"K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)} requires batched "
                           f"input, (N, {linear_weight.shape[-1]}), got unbatched input "
                           f"with shape {tuple(input.shape)}")  # fmt: skip
    if input.shape[-1] != linear_weight.shape[-1]:
        raise RuntimeError("expected equal input and linear_weight last dimensions (in_features), got "
                           f"{input.shape[-1]} and {linear_weight.shape[-1]}, respectively")  # fmt: skip
    outputs = linear_weight.shape[:-1]
    if linear_bias is not None and linear_bias.shape != outputs:
        raise RuntimeError(f"expected linear_bias shape {tuple(outputs)}, got {tuple(linear_bias.shape)}")
    if ignore_index is not None and target.shape == (*input.shape[:-1], *outputs):
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    if options is not None and reduction in {"none", "mean", "sum"} and not label_smoothing and len(outputs) == 1 and (
            target.dtype is torch.int64):  # fmt: skip
        options.for_input(input)
    flat = linear_weight.flatten(0, -2)
    logits = linear(input, flat, None if linear_bias is None else linear_bias.flatten())
    if len(outputs) > 1:
        logits = logits.unflatten(-1, outputs)
    ignored = -100 if ignore_index is None else ignore_index
    return cross_entropy(
        logits, target, weight=weight, reduction=reduction, ignore_index=ignored, label_smoothing=label_smoothing
    )


def ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:  # fmt: skip
    """Minus the log-likelihood of label sequences, summed over their alignments with the input (Graves et al. 2006).

    Shapes: log_probs ``(T, N, C)`` or ``(T, C)``, targets ``(N, S)`` or all of them in one dimension, lengths ``(N,)`` or ``()``.
    "mean" divides by the lengths of the targets first; ``zero_infinity`` drops inputs too short for their target.
    Graves et al., "Connectionist temporal classification: labelling unsegmented sequence data with RNNs".
    """
    return ctc.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity)
