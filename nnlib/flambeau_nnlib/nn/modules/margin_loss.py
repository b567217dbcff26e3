"""Margin losses for scores, labels, pairs and triplets."""

from __future__ import annotations

from collections.abc import Callable

from flambeau import Tensor

from .. import functional as F
from .base_loss import _Loss, _WeightedLoss
from .distance import PairwiseDistance

__all__ = [
    "CosineEmbeddingLoss",
    "HingeEmbeddingLoss",
    "MarginRankingLoss",
    "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "SoftMarginLoss",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]


class HingeEmbeddingLoss(_Loss):
    """A loss of distances x of pairs: `x` for target 1 (similar), `max(0, margin - x)` for target -1 (dissimilar).

    Args:
        margin: the distance beyond which a dissimilar pair has loss 0.
        size_average, reduce: deprecated flags. If one of them is given, it overrides `reduction`, with a warning.
        reduction: "mean", over all elements, "sum", or "none" for the loss of each element; the call raises ValueError
            for another.

    Shape:
        - Input: distances, `(*)`, any number of dimensions.
        - Target: 1 or -1, the shape of the input.
        - Output: `()`, or the shape of the input with `reduction="none"`.

    Example:
        >>> torch.nn.HingeEmbeddingLoss(reduction="none")(torch.tensor([0.3, 0.3]), torch.tensor([1.0, -1.0]))
        tensor([0.3000, 0.7000])
    """

    __constants__ = ("margin", "reduction")

    def __init__(
        self,
        margin: float = 1.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)


class SoftMarginLoss(_Loss):
    """The logistic loss of two classes: `log(1 + exp(-target * input))`, for targets 1 and -1.

    Args:
        size_average, reduce: deprecated flags. If one of them is given, it overrides `reduction`, with a warning.
        reduction: "mean", over all elements, "sum", or "none" for the loss of each element; the call raises ValueError
            for another.

    Shape:
        - Input: scores, `(*)`, any number of dimensions.
        - Target: 1 or -1, the shape of the input.
        - Output: `()`, or the shape of the input with `reduction="none"`.

    Example:
        >>> torch.nn.SoftMarginLoss()(torch.tensor([0.0, 1.0]), torch.tensor([1.0, -1.0]))
        tensor(1.0032)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.soft_margin_loss(input, target, reduction=self.reduction)


class MultiMarginLoss(_WeightedLoss):
    """The multi-class hinge loss: each wrong class whose score is within `margin` of the right class adds to the loss.

    `max(0, margin - x[target] + x[i]) ** p`, summed over the classes i except the target and divided by C.

    Args:
        p: the exponent, 1 or 2; ValueError for others.
        margin: the amount by which the score of the right class should exceed the others.
        weight: a factor for each target class, `(C,)`; None for 1. ValueError unless it has one dimension.
        size_average, reduce: deprecated flags. If one of them is given, it overrides `reduction`, with a warning.
        reduction: "mean", over the batch, "sum", or "none" for the loss of each target; the call raises ValueError for
            another.

    Shape:
        - Input: scores of C classes, `(N, C)` or `(C,)`.
        - Target: classes, `(N,)` or `()`.
        - Output: `()`, or the shape of the target with `reduction="none"`.

    Example:
        >>> torch.nn.MultiMarginLoss()(torch.tensor([[0.1, 0.2, 0.4, 0.8]]), torch.tensor([3]))
        tensor(0.3250)
    """

    __constants__ = ("p", "margin", "reduction")

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if weight is not None and weight.dim() != 1:
            raise ValueError(f"MultiMarginLoss: expected weight to be None or 1D tensor, got {weight.dim()}D instead")
        self.p = p
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multi_margin_loss(input, target, p=self.p, margin=self.margin, weight=self.weight, reduction=self.reduction)


class MultiLabelMarginLoss(_Loss):
    """The multi-label hinge loss, for samples with several right classes.

    `max(0, 1 - (x[j] - x[i]))`, summed over right classes j and wrong classes i and divided by C.

    Args:
        size_average, reduce: deprecated flags. If one of them is given, it overrides `reduction`, with a warning.
        reduction: "mean", over the batch, "sum", or "none" for the loss of each sample; the call raises ValueError for
            another.

    Shape:
        - Input: scores of C classes, `(N, C)` or `(C,)`.
        - Target: the shape of the input: the right classes, then -1; what follows it is ignored. RuntimeError for
          another shape.
        - Output: `()`, or `(N,)` with `reduction="none"`.

    Example:
        >>> torch.nn.MultiLabelMarginLoss()(torch.tensor([[0.1, 0.2, 0.4, 0.8]]), torch.tensor([[3, 0, -1, 1]]))
        tensor(0.8500)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_margin_loss(input, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """`BCEWithLogitsLoss` averaged over the classes, for samples with any number of right classes.

    Args:
        weight: a factor for each class, `(C,)`; None for 1.
        size_average, reduce: deprecated flags. If one of them is given, it overrides `reduction`, with a warning.
        reduction: "mean", over the batch, "sum", or "none" for the loss of each sample; the call raises ValueError for
            another.

    Shape:
        - Input: scores of C classes, `(N, C)`.
        - Target: 1 for a right class and 0 for a wrong one, `(N, C)`.
        - Output: `()`, or `(N,)` with `reduction="none"`.

    Example:
        >>> torch.nn.MultiLabelSoftMarginLoss()(torch.zeros(1, 3), torch.tensor([[1.0, 0.0, 1.0]]))
        tensor(0.6931)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_soft_margin_loss(input, target, weight=self.weight, reduction=self.reduction)


class CosineEmbeddingLoss(_Loss):
    """A loss of pairs of vectors: `1 - cos` for target 1 (similar), `max(0, cos - margin)` for target -1 (dissimilar).

    `cos` is the cosine of the angle between the two vectors.

    Args:
        margin: the cosine below which a dissimilar pair has loss 0, from -1 to 1; usually 0 to 0.5.
        size_average, reduce: deprecated flags. If one of them is given, it overrides `reduction`, with a warning.
        reduction: "mean", over the batch, "sum", or "none" for the loss of each pair; the call raises ValueError for
            another.

    Shape:
        - Inputs: `(N, D)` or `(D,)` each.
        - Target: 1 or -1, `(N,)` or `()`; RuntimeError for others.
        - Output: `()`, or the shape of the target with `reduction="none"`.

    Example:
        >>> torch.nn.CosineEmbeddingLoss()(torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]]), torch.ones(1))
        tensor(1.)
    """

    __constants__ = ("margin", "reduction")

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.cosine_embedding_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class MarginRankingLoss(_Loss):
    """A ranking loss of pairs of scores: `max(0, -target * (input1 - input2) + margin)`.

    Args:
        margin: the amount by which the higher-ranked score should exceed the other.
        size_average, reduce: deprecated flags. If one of them is given, it overrides `reduction`, with a warning.
        reduction: "mean", over all pairs, "sum", or "none" for the loss of each pair; the call raises ValueError for
            another.

    Shape:
        - Inputs: `(*)` each, any number of dimensions.
        - Target: 1 where `input1` should rank higher, -1 where `input2` should; RuntimeError for another number of
          dimensions.
        - Output: `()`, or the shape of the inputs with `reduction="none"`.

    Example:
        >>> torch.nn.MarginRankingLoss()(torch.tensor([1.0]), torch.tensor([3.0]), torch.tensor([1.0]))
        tensor(2.)
    """

    __constants__ = ("margin", "reduction")

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.margin_ranking_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class TripletMarginLoss(_Loss):
    """Trains anchors to be nearer to a positive than to a negative example: `max(0, d(anchor, pos) - d(anchor, neg) + margin)`.

    d is the distance of `PairwiseDistance`.

    Balntas et al., *Learning shallow convolutional feature descriptors with triplet losses*, 2016.

    Args:
        margin: the amount by which the anchor should be nearer to the positive example; ValueError unless it is above 0.
        p: the order of the norm of the distance, 2 for Euclidean distance.
        eps: added to each difference, so that the distance of equal vectors has a gradient.
        swap: whether to use `min(d(anchor, negative), d(positive, negative))` for the negative distance.
        size_average, reduce: deprecated flags. If one of them is given, it overrides `reduction`, with a warning.
        reduction: "mean", over the batch, "sum", or "none" for the loss of each triplet; the call raises ValueError for
            another.

    Shape:
        - Anchor, positive and negative: `(N, D)` or `(D,)` each; RuntimeError if they differ in the number of
          dimensions.
        - Output: `()`, or `(N,)` with `reduction="none"`.

    Example:
        >>> anchor, positive, negative = torch.zeros(1, 2), torch.ones(1, 2), torch.full((1, 2), 3.0)
        >>> torch.nn.TripletMarginLoss(margin=4.0)(anchor, positive, negative)
        tensor(1.1716)
    """

    __constants__ = ("margin", "p", "eps", "swap", "reduction")

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        if margin <= 0:
            raise ValueError(f"TripletMarginLoss: expected margin to be greater than 0, got {margin} instead")
        self.margin = margin
        self.p = p
        self.eps = eps
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_loss(
            anchor,
            positive,
            negative,
            margin=self.margin,
            p=self.p,
            eps=self.eps,
            swap=self.swap,
            reduction=self.reduction,
        )


class TripletMarginWithDistanceLoss(_Loss):
    """`TripletMarginLoss` with a custom distance: `max(0, d(anchor, pos) - d(anchor, neg) + margin)`.

    Args:
        distance_function: d, a function of two tensors (or a module), whose result has the shape of the loss. None for
            `PairwiseDistance()`.
        margin: the amount by which the anchor should be nearer to the positive example; ValueError unless it is above 0.
        swap: whether to use `min(d(anchor, negative), d(positive, negative))` for the negative distance.
        reduction: "mean", over the batch, "sum", or "none" for the loss of each triplet; the call raises ValueError for
            another.

    Shape:
        - Anchor, positive and negative: `(N, *)` each, as the distance requires; RuntimeError if they differ in
          the number of dimensions.
        - Output: `()`, or `(N,)` with `reduction="none"`.

    Example:
        >>> loss = torch.nn.TripletMarginWithDistanceLoss(distance_function=lambda a, b: (a - b).abs().sum(-1))
        >>> loss(torch.zeros(1, 2), torch.ones(1, 2), torch.ones(1, 2))
        tensor(1.)
    """

    __constants__ = ("margin", "swap", "reduction")

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction=reduction)
        if margin <= 0:
            raise ValueError(f"TripletMarginWithDistanceLoss: expected margin to be greater than 0, got {margin} instead")
        self.distance_function = PairwiseDistance() if distance_function is None else distance_function
        self.margin = margin
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )
