"""Criterions: loss functions with an explicit backward method."""

from __future__ import annotations

from typing import Any

import flambeau as torch
from flambeau import Tensor

from ....nn import functional as F
from .module import Criterion, Module, Table

__all__ = [
    "AbsCriterion",
    "BCECriterion",
    "ClassNLLCriterion",
    "ClassSimplexCriterion",
    "CosineEmbeddingCriterion",
    "CriterionTable",
    "CrossEntropyCriterion",
    "DistKLDivCriterion",
    "HingeEmbeddingCriterion",
    "L1Cost",
    "L1HingeEmbeddingCriterion",
    "MSECriterion",
    "MarginCriterion",
    "MarginRankingCriterion",
    "MultiCriterion",
    "MultiLabelMarginCriterion",
    "MultiLabelSoftMarginCriterion",
    "MultiMarginCriterion",
    "ParallelCriterion",
    "SmoothL1Criterion",
    "SoftMarginCriterion",
    "SpatialClassNLLCriterion",
    "WeightedMSECriterion",
]


class _Averaged(Criterion):
    """A criterion that averages over elements, or sums if `sizeAverage` is False."""

    def __init__(self, sizeAverage: bool = True) -> None:
        super().__init__()
        self.sizeAverage = sizeAverage

    @property
    def _reduction(self) -> str:
        return "mean" if self.sizeAverage else "sum"

    def _reduce(self, losses: Tensor) -> Tensor:
        return losses.mean() if self.sizeAverage else losses.sum()


class _Weighted(_Averaged):
    """An averaging criterion with weights for classes or elements."""

    def __init__(self, weights: Tensor | None = None, sizeAverage: bool = True) -> None:
        super().__init__(sizeAverage)
        self.weights = weights


class MSECriterion(_Averaged):
    """Mean of `(x - y) ** 2`."""

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(input, target, reduction=self._reduction)


class ClassSimplexCriterion(MSECriterion):
    """`MSECriterion` whose target for each class is a corner of a regular simplex.

    Targets are class indices. The method follows arXiv:1506.08230.

    Args:
        nClasses: the number of classes.

    >>> criterion = torch.legacy.nn.ClassSimplexCriterion(3)
    >>> criterion.forward(criterion.simplex, torch.tensor([0, 1, 2]))
    0.0
    >>> criterion.getTopPrediction(criterion.simplex)
    tensor([0, 1, 2])
    """

    def __init__(self, nClasses: int) -> None:
        super().__init__()
        self.nClasses = nClasses
        self.simplex = torch.zeros(nClasses, nClasses)  # one dimension more than a simplex requires: better for training
        size = nClasses - 1
        for k in range(size):
            corner = self.simplex[k, :k]
            self.simplex[k, k] = (1 - (corner * corner).sum()).sqrt()
            self.simplex[k + 1 :, k] = (self.simplex[k, k] ** 2 - 1 - 1 / size) / self.simplex[k, k]

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        if target.dim() != 1:
            raise AssertionError(f"expected one class for each sample, but got targets of shape {tuple(target.shape)}")
        return super().compute(input, self.simplex[target.long()].to(input.dtype))

    def getPredictions(self, input: Tensor) -> Tensor:
        """Return the dot products of the inputs with the corner of each class."""
        return input @ self.simplex.to(input.dtype).t()

    def getTopPrediction(self, input: Tensor) -> Tensor:
        """Return the class with the highest prediction for each input."""
        return self.getPredictions(input).argmax(-1).view(-1)


class CriterionTable(Module):
    """A criterion as a module: its input is a table of the criterion's input and target.

    Args:
        criterion: the criterion.
    """

    def __init__(self, criterion: Criterion) -> None:
        super().__init__()
        self.criterion = criterion
        self.gradInput = [criterion.gradInput]

    def updateOutput(self, input: Table) -> Any:
        self.output = self.criterion.updateOutput(*input)
        return self.output

    def updateGradInput(self, input: Table, gradOutput: Any = None) -> Table:
        self.gradInput = [self.criterion.updateGradInput(*input)]
        return self.gradInput

    def accGradParameters(self, input: Table, gradOutput: Any = None, scale: float = 1) -> None:
        pass  # no gradients to accumulate: a criterion has no parameters


class WeightedMSECriterion(_Averaged):
    """Mean of `weight * (x - y) ** 2`."""

    def __init__(self, weight: Tensor, sizeAverage: bool = True) -> None:
        super().__init__(sizeAverage)
        self.weight = weight

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        return self._reduce(self.weight * (input - target) ** 2)


class AbsCriterion(_Averaged):
    """Mean of `|x - y|`."""

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        return F.l1_loss(input, target, reduction=self._reduction)


class SmoothL1Criterion(_Averaged):
    """Mean of `(x - y) ** 2 / 2` where `|x - y| < 1`, else of `|x - y| - 1/2`."""

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        return F.smooth_l1_loss(input, target, reduction=self._reduction)


class BCECriterion(_Weighted):
    """Mean of `-(y * log(x) + (1 - y) * log(1 - x))`, for probabilities x."""

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy(input, target, self.weights, reduction=self._reduction)


class ClassNLLCriterion(_Weighted):
    """Negative log-likelihood of the target class, for a batch of log-probabilities `(n, classes)`.

    >>> criterion = torch.legacy.nn.ClassNLLCriterion()
    >>> criterion.forward(torch.tensor([[-1.0, -2.0]]), torch.tensor([1]))
    2.0
    """

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        return F.nll_loss(input, target.long(), self.weights, reduction=self._reduction)


class SpatialClassNLLCriterion(ClassNLLCriterion):
    """`ClassNLLCriterion` for every pixel of a batch of images `(n, classes, h, w)`."""


class CrossEntropyCriterion(_Weighted):
    """Cross-entropy: `ClassNLLCriterion` of the output of `LogSoftMax`."""

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(input, target.long(), self.weights, reduction=self._reduction)


class DistKLDivCriterion(_Averaged):
    """Mean of `y * (log(y) - x)`, for log-probabilities x and probabilities y."""

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        return self._reduce(torch.xlogy(target, target) - target * input)


class MarginCriterion(_Averaged):
    """Mean of `max(0, margin - x * y)`, for targets y of 1 and -1."""

    def __init__(self, margin: float = 1, sizeAverage: bool = True) -> None:
        super().__init__(sizeAverage)
        self.margin = margin

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        return self._reduce((self.margin - input * target).clamp(min=0))


class SoftMarginCriterion(_Averaged):
    """Mean of `log(1 + exp(-x * y))`, for targets y of 1 and -1."""

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        return F.soft_margin_loss(input, target, reduction=self._reduction)


class HingeEmbeddingCriterion(_Averaged):
    """Mean of x for targets of 1, and of `max(0, margin - x)` for targets of -1."""

    def __init__(self, margin: float = 1, sizeAverage: bool = True) -> None:
        super().__init__(sizeAverage)
        self.margin = margin

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        return F.hinge_embedding_loss(input, target, self.margin, reduction=self._reduction)


class L1HingeEmbeddingCriterion(Criterion):
    """The L1 distance d of two tensors in a table if the target is 1, `max(0, margin - d)` if the target is -1."""

    def __init__(self, margin: float = 1) -> None:
        super().__init__()
        self.margin = margin

    def compute(self, input: list[Tensor], target: float) -> Tensor:
        distance = (input[0] - input[1]).abs().sum()
        return distance if target == 1 else (self.margin - distance).clamp(min=0)


class CosineEmbeddingCriterion(_Averaged):
    """Cosine embedding loss of two vectors in a table: `1 - cos` for targets of 1, `max(0, cos - margin)` for targets of -1."""

    def __init__(self, margin: float = 0, sizeAverage: bool = True) -> None:
        super().__init__(sizeAverage)
        self.margin = margin

    def compute(self, input: list[Tensor], target: Tensor) -> Tensor:
        first, second = input
        return F.cosine_embedding_loss(first, second, target, self.margin, reduction=self._reduction)


class MarginRankingCriterion(_Averaged):
    """Ranking loss `max(0, margin - y * (x1 - x2))` of two scores in a table. y is 1 if x1 should be higher, else -1."""

    def __init__(self, margin: float = 1, sizeAverage: bool = True) -> None:
        super().__init__(sizeAverage)
        self.margin = margin

    def compute(self, input: list[Tensor], target: Tensor) -> Tensor:
        return self._reduce((self.margin - target * (input[0] - input[1])).clamp(min=0))


class MultiMarginCriterion(_Averaged):
    """Multi-class hinge loss: `sum(max(0, margin - x[y] + x[i]) ** p) / classes` over the classes `i != y`."""

    def __init__(self, p: int = 1, weights: Tensor | None = None, margin: float = 1, sizeAverage: bool = True) -> None:
        super().__init__(sizeAverage)
        self.p, self.margin, self.weights = p, margin, weights

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multi_margin_loss(input, target.long(), self.p, self.margin, self.weights, reduction=self._reduction)


class MultiLabelMarginCriterion(_Averaged):
    """Multi-label hinge loss between every target class and every other class. Each row of targets ends at the first -1."""

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_margin_loss(input, target.long(), reduction=self._reduction)


class MultiLabelSoftMarginCriterion(_Weighted):
    """Binary cross-entropy with logits, averaged over classes, for targets of 0 and 1."""

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_soft_margin_loss(input, target, self.weights, reduction=self._reduction)


class L1Cost(Criterion):
    """The sum of `|x|`; it takes no target."""

    def compute(self, input: Tensor, target: Any = None) -> Tensor:
        return input.abs().sum()

    def forward(self, input: Tensor, target: Any = None) -> float:
        result: float = super().forward(input, target)
        return result

    def backward(self, input: Tensor, target: Any = None) -> Tensor:
        result: Tensor = super().backward(input, target)
        return result


class _Sum(Criterion):
    """A weighted sum of criterions."""

    def __init__(self) -> None:
        super().__init__()
        self.criterions: list[Criterion] = []
        self.weights: list[float] = []

    def add(self, criterion: Criterion, weight: float = 1) -> _Sum:
        """Append a weighted criterion and return the sum."""
        self.criterions.append(criterion)
        self.weights.append(weight)
        return self

    def type(self, type: str | None = None) -> Any:
        if type is not None:
            for criterion in self.criterions:
                criterion.type(type)
        return super().type(type)


class MultiCriterion(_Sum):
    """A weighted sum of criterions on the same input and target.

    >>> nn = torch.legacy.nn
    >>> both = nn.MultiCriterion().add(nn.MSECriterion(), 0.5).add(nn.AbsCriterion())
    >>> both.forward(torch.tensor([2.0]), torch.tensor([0.0]))
    4.0
    """

    def compute(self, input: Table, target: Table) -> Any:
        return sum(w * c.compute(input, target) for w, c in zip(self.weights, self.criterions, strict=True))


class ParallelCriterion(_Sum):
    """A weighted sum of criterions, each applied to its entry of the input and target tables.

    Args:
        repeatTarget: whether all criterions use the same target.
    """

    def __init__(self, repeatTarget: bool = False) -> None:
        super().__init__()
        self.repeatTarget = repeatTarget

    def compute(self, input: Table, target: Table) -> Tensor:
        targets = [target] * len(self.criterions) if self.repeatTarget else target
        terms = zip(self.weights, self.criterions, input, targets, strict=True)
        return sum((w * c.compute(x, y) for w, c, x, y in terms), torch.zeros(()))
