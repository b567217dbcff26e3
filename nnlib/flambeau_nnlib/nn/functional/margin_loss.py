"""Margin losses for scores, labels, pairs and triplets."""

from __future__ import annotations

from collections.abc import Callable

import flambeau as torch
from flambeau import Tensor
from flambeau.extension import Autocast, Kind, as_float, declare, require_constant, require_dtype, require_flags, with_grad_fn
from flambeau.extension import functions as ops
from flambeau.extension.functions import check_reduction, reduced

from .activation import logsigmoid
from .distance import pairwise_distance
from .loss import resolve_reduction

__all__ = [
    "cosine_embedding_loss", "hinge_embedding_loss", "margin_ranking_loss", "multi_margin_loss", "multilabel_margin_loss",
    "multilabel_soft_margin_loss", "soft_margin_loss", "triplet_margin_loss", "triplet_margin_with_distance_loss",
]  # fmt: skip


# --- pairs --------------------------------------------------------------------------------------------------------


@declare(
    kind=Kind.LOSS,
    autocast=Autocast.FLOAT32,
    schema="hinge_embedding_loss(Tensor self, Tensor target, float margin=1., int reduction=1) -> Tensor",
)
def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Compute `x` for target 1 (similar) and `max(0, margin - x)` for target -1 (dissimilar); see `nn.HingeEmbeddingLoss`.

    Args:
        input: distances of pairs, a tensor of any shape.
        target: 1 or -1, in the shape of `input`.
        margin: the distance beyond which a dissimilar pair has loss 0.
        size_average, reduce: deprecated flags. If one of them is given, it overrides `reduction`, with a warning.
        reduction: "mean", over all elements, "sum", or "none" for the loss of each element; ValueError for another.

    Example:
        >>> F.hinge_embedding_loss(torch.tensor([0.3, 0.3]), torch.tensor([1.0, -1.0]), reduction="none")
        tensor([0.3000, 0.7000])
    """
    margin = as_float("hinge_embedding_loss", "margin", margin)
    zeros = torch.zeros_like(input)
    similar = torch.where(target != -1, input, zeros)
    different = torch.where(target != 1, (margin - input).clamp_min(0).to(input.dtype), zeros)
    return reduced(similar + different, resolve_reduction(reduction, size_average, reduce))


@declare(
    kind=Kind.LOSS,
    autocast=Autocast.FLOAT32,
    schema="margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> Tensor",
)
def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Compute `max(0, -target * (input1 - input2) + margin)`; see `nn.MarginRankingLoss`.

    Args:
        input1, input2: scores, two tensors of any shape.
        target: 1 where `input1` should rank higher, -1 where `input2` should. RuntimeError unless all three have the same
            number of dimensions.
        margin: the amount by which the higher-ranked score should exceed the other.
        size_average, reduce: deprecated flags. If one of them is given, it overrides `reduction`, with a warning.
        reduction: "mean", over all pairs, "sum", or "none" for the loss of each pair; ValueError for another.

    Example:
        >>> F.margin_ranking_loss(torch.tensor([1.0]), torch.tensor([3.0]), torch.tensor([1.0]))
        tensor(2.)
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    if input1.dim() != input2.dim() or input1.dim() != target.dim():
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.size()}, input2: {input2.size()}, target: {target.size()} "
        )
    return ranking(input1, input2, target, margin, reduction)


def ranking(input1: Tensor, input2: Tensor, target: Tensor, margin: float, reduction: str) -> Tensor:
    """Compute `margin_ranking_loss`; unlike that, it has no legacy flags and accepts all broadcastable shapes."""
    margin = as_float("margin_ranking_loss", "margin", margin)
    return reduced((-target * (input1 - input2) + margin).clamp_min(0), reduction)


@declare(
    kind=Kind.LOSS,
    autocast=Autocast.FLOAT32,
    schema="cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> Tensor",
)
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Compute `1 - cos` of two vectors for target 1, `max(0, cos - margin)` for target -1; see `nn.CosineEmbeddingLoss`.

    Args:
        input1, input2: the vectors, `(N, D)` or `(D,)` each.
        target: 1 or -1, `(N,)` or `()`; RuntimeError for other shapes.
        margin: the cosine below which dissimilar vectors have loss 0.
        size_average, reduce: deprecated flags. If one of them is given, it overrides `reduction`, with a warning.
        reduction: "mean", over the batch, "sum", or "none" for the loss of each pair; ValueError for another.

    Example:
        >>> F.cosine_embedding_loss(torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]]), torch.ones(1))
        tensor(1.)
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    margin = as_float("cosine_embedding_loss", "margin", margin)
    _check_cosine(input1, input2, target)
    dim = target.dim()
    tiny = 1e-12  # keeps the gradient finite for vectors of zeros
    lengths = ((input1 * input1).sum(dim) + tiny) * ((input2 * input2).sum(dim) + tiny)
    cosine = (input1 * input2).sum(dim) / lengths.sqrt()
    zeros = torch.zeros_like(cosine)
    similar = torch.where(target == 1, 1 - cosine, zeros)
    different = torch.where(target == -1, (cosine - margin).clamp_min(0), zeros)
    return reduced(similar + different, reduction)


def _check_cosine(input1: Tensor, input2: Tensor, target: Tensor) -> None:
    sizes = ", ".join(str(list(tensor.shape)) for tensor in (input1, input2, target))
    if target.dim() == 1 and (input1.dim() != 2 or input2.dim() != 2):
        raise RuntimeError(
            f"1D target tensor expects 2D input tensors, but found inputs with sizes {list(input1.shape)} and "
            f"{list(input2.shape)}."
        )
    if target.dim() == 0 and (input1.dim() != 1 or input2.dim() != 1):
        raise RuntimeError(
            f"0D target tensor expects 1D input tensors, but found inputs with sizes {list(input1.shape)} and "
            f"{list(input2.shape)}."
        )
    if target.dim() > 1:
        raise RuntimeError(f"0D or 1D target tensor expected, multi-target not supported (sizes {sizes})")


# --- triplets -----------------------------------------------------------------------------------------------------


def _triplet(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    distance: Callable[[Tensor, Tensor], Tensor],
    margin: float,
    swap: bool,
    reduction: str,
) -> Tensor:
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = torch.minimum(far, distance(positive, negative))
    return reduced((margin + near - far).clamp_min(0), reduction)


@declare(
    kind=Kind.LOSS,
    autocast=Autocast.FLOAT32,
    schema=(
        "triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1., float p=2., float eps=1e-06, bool "
        "swap=False, int reduction=1) -> Tensor",
    ),
)
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Compute `max(0, d(anchor, positive) - d(anchor, negative) + margin)`, d = `pairwise_distance`; see `nn.TripletMarginLoss`.

    Balntas et al., *Learning shallow convolutional feature descriptors with triplet losses*, 2016.

    Args:
        anchor, positive, negative: vectors, `(N, D)` or `(D,)` each; RuntimeError if they differ in the number of
            dimensions.
        margin: the amount by which the anchor should be nearer to the positive example; ValueError unless it is above 0.
        p: the order of the norm of the distance.
        eps: added to each difference, so that the distance of equal vectors has a gradient.
        swap: whether to use `min(d(anchor, negative), d(positive, negative))` for the negative distance.
        size_average, reduce: deprecated flags. If one of them is given, it overrides `reduction`, with a warning.
        reduction: "mean", over the batch, "sum", or "none" for the loss of each triplet; ValueError for another.

    Example:
        >>> anchor, positive, negative = torch.zeros(1, 2), torch.ones(1, 2), torch.full((1, 2), 3.0)
        >>> F.triplet_margin_loss(anchor, positive, negative, margin=4.0)
        tensor(1.1716)
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    require_flags("triplet_margin_loss", swap=swap)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    margin = as_float("triplet_margin_loss", "margin", margin)
    return triplet(anchor, positive, negative, margin, p, eps, swap, reduction)


def triplet(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float, p: float, eps: float, swap: bool, reduction: str
) -> Tensor:
    """Compute `triplet_margin_loss`; unlike that, it has no legacy flags and accepts a margin of any sign."""
    _check_triplet(anchor, positive, negative)
    return _triplet(anchor, positive, negative, lambda a, b: pairwise_distance(a, b, p, eps), margin, swap, reduction)


@declare(kind=Kind.LOSS)
def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """Compute `triplet_margin_loss` with a custom distance; see `nn.TripletMarginWithDistanceLoss`.

    Args:
        anchor, positive, negative: arguments of the distance; RuntimeError if their numbers of dimensions differ.
        distance_function: the distance, a function of two tensors; None for `pairwise_distance`.
        margin: the amount by which the anchor should be nearer to the positive example; ValueError unless it is above 0.
        swap: whether to use `min(d(anchor, negative), d(positive, negative))` for the negative distance.
        reduction: "mean", over the batch, "sum", or "none" for the loss of each triplet; ValueError for another.

    Example:
        >>> anchor, positive, negative = torch.zeros(1, 2), torch.ones(1, 2), torch.ones(1, 2)
        >>> F.triplet_margin_with_distance_loss(
        ...     anchor, positive, negative, distance_function=lambda a, b: (a - b).abs().sum(-1), margin=2.0
        ... )
        tensor(2.)
    """
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
    """Compute `log(1 + exp(-target * input))`; see `nn.SoftMarginLoss`.

    Args:
        input: scores, a tensor of any shape.
        target: 1 or -1, of a shape that broadcasts to that of `input`; RuntimeError for others.
        size_average, reduce: deprecated flags. If one of them is given, it overrides `reduction`, with a warning.
        reduction: "mean", over all elements, "sum", or "none" for the loss of each element; ValueError for another.

    Example:
        >>> F.soft_margin_loss(torch.tensor([0.0, 1.0]), torch.tensor([1.0, -1.0]))
        tensor(1.0032)
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    if not (input.is_floating_point() or input.is_complex()):
        raise RuntimeError(f"result type Float can't be cast to the desired output type {input.dtype.legacy_name}")
    if target.is_complex() and not input.is_complex():
        raise RuntimeError("result type ComplexFloat can't be cast to the desired output type Float")
    if torch.broadcast_shapes(input.shape, target.shape) != input.shape:
        raise RuntimeError(f"target of shape {list(target.shape)} does not broadcast to the input's, {list(input.shape)}")
    return ops.soft_margin_loss(input, target, reduction)


@declare(kind=Kind.LOSS)
def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Compute the binary cross entropy of scores, averaged over the classes; see `nn.MultiLabelSoftMarginLoss`.

    Args:
        input: scores of C classes, `(N, C)`, or `(*, C)`.
        target: 1 for a right class and 0 for a wrong one, in the shape of `input`.
        weight: a factor for each class, `(C,)`; None for 1.
        size_average, reduce: deprecated flags. If one of them is given, it overrides `reduction`, with a warning.
        reduction: "mean", over the batch, "sum", or "none" for the loss of each sample; ValueError for another.

    Example:
        >>> F.multilabel_soft_margin_loss(torch.zeros(1, 3), torch.tensor([[1.0, 0.0, 1.0]]))
        tensor(0.6931)
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not valid")
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        loss = loss * weight
    return reduced(loss.sum(-1) / input.shape[-1], reduction)


@declare(
    kind=Kind.LOSS,
    autocast=Autocast.FLOAT32,
    schema=(
        "multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? weight=None, int reduction=1) -> "
        "Tensor",
    ),
)
@with_grad_fn("MultiMarginLossBackward0")
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Compute the multi-class hinge loss; see `nn.MultiMarginLoss`.

    `max(0, margin - x[target] + x[i]) ** p`, summed over the classes i except the target and divided by C.

    Args:
        input: scores of C classes, `(N, C)` or `(C,)`.
        target: classes, `(N,)` or `()`.
        p: the exponent, 1 or 2; ValueError for others.
        margin: the amount by which the score of the right class should exceed the others.
        weight: a factor for each target class, `(C,)`; None for 1.
        size_average, reduce: deprecated flags. If one of them is given, it overrides `reduction`, with a warning.
        reduction: "mean", over the batch, "sum", or "none" for the loss of each target; ValueError for another.

    Example:
        >>> F.multi_margin_loss(torch.tensor([[0.1, 0.2, 0.4, 0.8]]), torch.tensor([3]))
        tensor(0.3250)
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
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
    target_index = classes.unsqueeze(1)
    excess = (margin - scores.gather(1, target_index) + scores).clamp_min(0)
    excess = excess if p == 1 else excess * excess
    if weight is not None:
        excess = excess * weight[classes].unsqueeze(1)
    losses = excess.scatter(1, target_index, 0.0).sum(1) / scores.shape[1]
    return reduced(losses.reshape(target.shape) if reduction == "none" else losses, reduction)


@declare(
    kind=Kind.LOSS,
    autocast=Autocast.FLOAT32,
    schema="multilabel_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
)
@with_grad_fn("MultilabelMarginLossBackward0")
def multilabel_margin_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
) -> Tensor:
    """Compute the multi-label hinge loss, for several right classes per sample; see `nn.MultiLabelMarginLoss`.

    `max(0, 1 - (x[j] - x[i]))`, summed over right classes j and wrong classes i and divided by C.

    Args:
        input: scores of C classes, `(N, C)` or `(C,)`.
        target: the right classes, then -1, in the shape of `input`; RuntimeError for another shape.
        size_average, reduce: deprecated flags. If one of them is given, it overrides `reduction`, with a warning.
        reduction: "mean", over the batch, "sum", or "none" for the loss of each sample; ValueError for another.

    Example:
        >>> F.multilabel_margin_loss(torch.tensor([[0.1, 0.2, 0.4, 0.8]]), torch.tensor([[3, 0, -1, 1]]))
        tensor(0.8500)
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    check_reduction(reduction)
    if target.shape != input.shape:
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}")
    require_dtype("multilabel_margin_loss_forward_out_frame", input, "floating")
    scores, labels = (input, target) if input.dim() == 2 else (input.reshape(1, -1), target.reshape(1, -1))
    is_listed = (labels < 0).long().cumsum(1) == 0
    classes = torch.where(is_listed, labels, torch.zeros_like(labels))
    is_target = torch.zeros_like(scores).scatter_add(1, classes, is_listed.to(scores.dtype)) > 0
    margins = (1 - scores.gather(1, classes).unsqueeze(2) + scores.unsqueeze(1)).clamp_min(0)
    counted = is_listed.unsqueeze(2) & ~is_target.unsqueeze(1)
    losses = torch.where(counted, margins, torch.zeros_like(margins)).sum((1, 2)) / scores.shape[1]
    return reduced(losses if input.dim() == 2 or reduction != "none" else losses.reshape(()), reduction)
