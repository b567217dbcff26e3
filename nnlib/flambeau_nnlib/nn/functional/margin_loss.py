"""Losses with a margin, of scores, labels, pairs and triplets."""

from __future__ import annotations

from collections.abc import Callable

import flambeau as torch
from flambeau import Tensor
from flambeau.arguments import as_float
from flambeau.autograd.unfolding import gathered
from flambeau.dispatch import require_constant, require_dtype, require_flags
from flambeau.ops.loss import check_reduction, reduced

from .activation import logsigmoid
from .distance import pairwise_distance
from .loss import how_reduced

__all__ = [
    "cosine_embedding_loss", "hinge_embedding_loss", "margin_ranking_loss", "multi_margin_loss", "multilabel_margin_loss",
    "multilabel_soft_margin_loss", "soft_margin_loss", "triplet_margin_loss", "triplet_margin_with_distance_loss",
]  # fmt: skip


# --- pairs --------------------------------------------------------------------------------------------------------


def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """``x`` where the target is 1, ``max(0, margin - x)`` where it is -1: ``x`` is the distance of a pair."""
    margin = as_float("hinge_embedding_loss", "margin", margin)
    zeros = torch.zeros_like(input)
    alike = torch.where(target != -1, input, zeros)
    apart = torch.where(target != 1, (margin - input).clamp_min(0).to(input.dtype), zeros)
    return reduced(alike + apart, how_reduced(reduction, size_average, reduce))


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """``max(0, -target * (input1 - input2) + margin)``: the target is 1 where ``input1`` should rank higher, else -1."""
    reduction = how_reduced(reduction, size_average, reduce)
    if input1.dim() != input2.dim() or input1.dim() != target.dim():
        raise RuntimeError("margin_ranking_loss : All input tensors should have same dimension but got sizes: "
                           f"input1: {input1.size()}, input2: {input2.size()}, target: {target.size()} ")  # fmt: skip
    margin = as_float("margin_ranking_loss", "margin", margin)
    return reduced((-target * (input1 - input2) + margin).clamp_min(0), reduction)


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """``1 - cos`` of two vectors where the target is 1, ``max(0, cos - margin)`` where it is -1."""
    reduction = how_reduced(reduction, size_average, reduce)
    margin = as_float("cosine_embedding_loss", "margin", margin)
    _check_cosine(input1, input2, target)
    dim = target.dim()
    tiny = 1e-12  # keeps the gradient at 0 finite
    lengths = ((input1 * input1).sum(dim) + tiny) * ((input2 * input2).sum(dim) + tiny)
    cosine = (input1 * input2).sum(dim) / lengths.sqrt()
    zeros = torch.zeros_like(cosine)
    alike = torch.where(target == 1, 1 - cosine, zeros)
    apart = torch.where(target == -1, (cosine - margin).clamp_min(0), zeros)
    return reduced(alike + apart, reduction)


def _check_cosine(input1: Tensor, input2: Tensor, target: Tensor) -> None:
    given = ", ".join(str(list(each.shape)) for each in (input1, input2, target))
    if target.dim() == 1 and (input1.dim() != 2 or input2.dim() != 2):
        raise RuntimeError(f"1D target tensor expects 2D input tensors, but found inputs with sizes {list(input1.shape)} and "
                           f"{list(input2.shape)}.")  # fmt: skip
    if target.dim() == 0 and (input1.dim() != 1 or input2.dim() != 1):
        raise RuntimeError(f"0D target tensor expects 1D input tensors, but found inputs with sizes {list(input1.shape)} and "
                           f"{list(input2.shape)}.")  # fmt: skip
    if target.dim() > 1:
        raise RuntimeError(f"0D or 1D target tensor expected, multi-target not supported (sizes {given})")


# --- triplets -----------------------------------------------------------------------------------------------------


def _triplet(
    anchor: Tensor, positive: Tensor, negative: Tensor, distance: Callable[[Tensor, Tensor], Tensor], margin: float, swap: bool,
    reduction: str,
) -> Tensor:  # fmt: skip
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = torch.minimum(far, distance(positive, negative))
    return reduced((margin + near - far).clamp_min(0), reduction)


def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2, eps: float = 1e-6, swap: bool = False,
    size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """``max(0, margin + |anchor - positive| - |anchor - negative|)``, of vectors along the last dimension.

    ``swap`` takes the distance of positive and negative where that is less (Balntas et al. 2016, "Learning shallow
    convolutional feature descriptors with triplet losses").
    """
    reduction = how_reduced(reduction, size_average, reduce)
    require_flags("triplet_margin_loss", swap=swap)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    _check_triplet(anchor, positive, negative)
    return _triplet(anchor, positive, negative, lambda a, b: pairwise_distance(a, b, p, eps), margin, swap, reduction)


def triplet_margin_with_distance_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, *, distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0, swap: bool = False, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """:func:`triplet_margin_loss` with any function of two tensors as distance."""
    check_reduction(reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    _check_triplet(anchor, positive, negative)
    return _triplet(anchor, positive, negative, distance_function or pairwise_distance, margin, swap, reduction)


def _check_triplet(anchor: Tensor, positive: Tensor, negative: Tensor) -> None:
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {anchor.ndim}D, positive {positive.ndim}D, and negative {negative.ndim}D inputs"
        )


# --- classes and labels -------------------------------------------------------------------------------------------


def soft_margin_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
) -> Tensor:
    """``log(1 + exp(-target * input))``, the target being 1 or -1."""
    reduction = how_reduced(reduction, size_average, reduce)
    if not (input.is_floating_point() or input.is_complex()):
        raise RuntimeError(f"result type Float can't be cast to the desired output type {input.dtype.legacy_name}")
    if target.is_complex() and not input.is_complex():
        raise RuntimeError("result type ComplexFloat can't be cast to the desired output type Float")
    if torch.broadcast_shapes(input.shape, target.shape) != input.shape:
        raise RuntimeError(f"target of shape {list(target.shape)} does not broadcast to the input's, {list(input.shape)}")
    require_constant("soft_margin_loss", target=target)
    return gathered(reduced((-target * input).exp().log1p(), reduction), "SoftMarginLossBackward0", (input,))


def multilabel_soft_margin_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """The binary cross entropy of logits, averaged over the classes in the last dimension."""
    reduction = how_reduced(reduction, size_average, reduce)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not valid")
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        loss = loss * weight
    return reduced(loss.sum(-1) / input.shape[-1], reduction)


def multi_margin_loss(
    input: Tensor, target: Tensor, p: int = 1, margin: float = 1.0, weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """By how much (to the power ``p``) scores of other classes come within ``margin`` of the target's, averaged over classes.

    Shapes: input ``(N, C)`` or ``(C,)``, target ``(N,)`` or ``()``.
    """
    reduction = how_reduced(reduction, size_average, reduce)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    check_reduction(reduction)
    margin = as_float("multi_margin_loss", "margin", margin)
    require_constant("multi_margin_loss", weight=weight)
    require_dtype("multi_margin_loss_cpu_kernel", input, "floating")
    if input.dim() > 2 or (input.dim() == 2 and (target.dim() != 1 or target.shape[0] != input.shape[0])):
        raise RuntimeError(f"inconsistent target size, expected {input.shape[0]} but got {list(target.shape)}")
    scores, classes = (input, target) if input.dim() == 2 else (input.reshape(1, -1), target.reshape(1))
    if weight is not None and len(weight) != scores.shape[1]:
        raise RuntimeError(f"inconsistent weight size, expected {scores.shape[1]} but got {list(weight.shape)}")
    place = classes.unsqueeze(1)
    excess = (margin - scores.gather(1, place) + scores).clamp_min(0)
    excess = excess if p == 1 else excess * excess
    if weight is not None:
        excess = excess * weight[classes].unsqueeze(1)
    losses = excess.scatter(1, place, 0.0).sum(1) / scores.shape[1]
    made = reduced(losses if input.dim() == 2 or reduction != "none" else losses.reshape(()), reduction)
    return gathered(made, "MultiMarginLossBackward0", (input,))


def multilabel_margin_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
) -> Tensor:
    """By how much scores of other classes come within 1 of those of the target classes, averaged over classes.

    The target lists classes, up to the first -1.  Shapes: input and target ``(N, C)`` or ``(C,)``.
    """
    reduction = how_reduced(reduction, size_average, reduce)
    check_reduction(reduction)
    if target.shape != input.shape:
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}")
    require_dtype("multilabel_margin_loss_forward_out_frame", input, "floating")
    scores, listed = (input, target) if input.dim() == 2 else (input.reshape(1, -1), target.reshape(1, -1))
    listed_first = (listed < 0).long().cumsum(1) == 0
    classes = torch.where(listed_first, listed, torch.zeros_like(listed))
    wanted = torch.zeros_like(scores).scatter_add(1, classes, listed_first.to(scores.dtype)) > 0
    margins = (1 - scores.gather(1, classes).unsqueeze(2) + scores.unsqueeze(1)).clamp_min(0)
    counted = listed_first.unsqueeze(2) & ~wanted.unsqueeze(1)
    losses = torch.where(counted, margins, torch.zeros_like(margins)).sum((1, 2)) / scores.shape[1]
    made = reduced(losses if input.dim() == 2 or reduction != "none" else losses.reshape(()), reduction)
    return gathered(made, "MultilabelMarginLossBackward0", (input,))
