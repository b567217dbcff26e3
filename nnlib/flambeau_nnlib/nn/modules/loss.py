"""Loss layers.

All layers accept `reduction`: "mean" (the default), "sum", or "none" for the loss of each element. `size_average` and
`reduce` are its deprecated predecessors.
"""

from __future__ import annotations

import warnings

from flambeau import Tensor

from .. import functional as F
from .base_loss import _Loss, _WeightedLoss
from .linear_cross_entropy import LinearCrossEntropyLoss
from .margin_loss import (
    CosineEmbeddingLoss,
    HingeEmbeddingLoss,
    MarginRankingLoss,
    MultiLabelMarginLoss,
    MultiLabelSoftMarginLoss,
    MultiMarginLoss,
    SoftMarginLoss,
    TripletMarginLoss,
    TripletMarginWithDistanceLoss,
)

__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CTCLoss",
    "CosineEmbeddingLoss",
    "CrossEntropyLoss",
    "GaussianNLLLoss",
    "HingeEmbeddingLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "LinearCrossEntropyLoss",
    "MSELoss",
    "MarginRankingLoss",
    "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "NLLLoss",
    "NLLLoss2d",
    "PoissonNLLLoss",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]


class L1Loss(_Loss):
    """The mean absolute error: the mean of `|input - target|`.

    Args:
        size_average, reduce: deprecated flags. If one of them is given, it overrides `reduction`, with a warning.
        reduction: "mean", over all elements, "sum", or "none" for the loss of each element; the call raises ValueError
            for another.

    Shape:
        - Input: `(*)`, any number of dimensions.
        - Target: the shape of the input; others broadcast, with a warning.
        - Output: `()`, or the shape of the input with `reduction="none"`.

    Example:
        >>> torch.nn.L1Loss()(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 5.0]))
        tensor(1.5000)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.l1_loss(input, target, reduction=self.reduction)


class MSELoss(_Loss):
    """The mean squared error: the mean of `(input - target) ** 2`.

    Args:
        size_average, reduce: deprecated flags. If one of them is given, it overrides `reduction`, with a warning.
        reduction: "mean", over all elements, "sum", or "none" for the loss of each element; the call raises ValueError
            for another.

    Shape:
        - Input: `(*)`, any number of dimensions.
        - Target: the shape of the input; others broadcast, with a warning.
        - Output: `()`, or the shape of the input with `reduction="none"`.

    Example:
        >>> torch.nn.MSELoss()(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 5.0]))
        tensor(4.5000)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    """Squared error for small differences, absolute error for large ones: less sensitive to outliers than `MSELoss`.

    `0.5 * d ** 2 / beta` where the difference d is below `beta`, `|d| - 0.5 * beta` elsewhere: `HuberLoss` divided by
    its delta.

    Girshick, *Fast R-CNN*, 2015.

    Args:
        size_average, reduce: deprecated flags. If one of them is given, it overrides `reduction`, with a warning.
        reduction: "mean", over all elements, "sum", or "none" for the loss of each element; the call raises ValueError
            for another.
        beta: the difference at which the loss changes from squared to absolute. 0 gives `L1Loss`; the call raises
            RuntimeError if it is negative.

    Shape:
        - Input: `(*)`, any number of dimensions.
        - Target: the shape of the input; others broadcast, with a warning.
        - Output: `()`, or the shape of the input with `reduction="none"`.

    Example:
        >>> torch.nn.SmoothL1Loss(reduction="none")(torch.tensor([0.5, 3.0]), torch.zeros(2))
        tensor([0.1250, 2.5000])
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        beta: float = 1.0,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """Squared error for small differences, absolute error for large ones: less sensitive to outliers than `MSELoss`.

    `0.5 * d ** 2` where the difference d is below `delta`, `delta * (|d| - 0.5 * delta)` elsewhere.

    Huber, *Robust estimation of a location parameter*, 1964.

    Args:
        reduction: "mean", over all elements, "sum", or "none" for the loss of each element; the call raises ValueError
            for another.
        delta: the difference at which the loss changes from squared to absolute; TypeError unless it is a
            number, and the call raises RuntimeError unless it is positive.

    Shape:
        - Input: `(*)`, any number of dimensions.
        - Target: the shape of the input; others broadcast, with a warning.
        - Output: `()`, or the shape of the input with `reduction="none"`.

    Example:
        >>> torch.nn.HuberLoss(reduction="none", delta=2.0)(torch.tensor([1.0, 3.0]), torch.zeros(2))
        tensor([0.5000, 4.0000])
    """

    __constants__ = ("reduction", "delta")

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        if not isinstance(delta, (float, int)):
            raise TypeError(f"delta must be a float or int, got: {type(delta)}")
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class NLLLoss(_WeightedLoss):
    """The negative log-likelihood: minus the log-probability of the target class.

    Its input is the output of `LogSoftmax`; `CrossEntropyLoss` combines both.

    Args:
        weight: a factor for each class, `(C,)`, to balance class frequencies, for example; None for 1.
        size_average, reduce: deprecated flags. If one of them is given, it overrides `reduction`, with a warning.
        ignore_index: a target value that does not contribute to the sum or the mean.
        reduction: "mean", the sum of the losses divided by the sum of the targets' weights, "sum", or "none" for the loss
            of each target.

    Shape:
        - Input: log-probabilities of C classes, `(C,)`, `(N, C)`, or `(N, C, *)` such as `(N, C, H, W)` for images.
        - Target: classes from 0 to C - 1, `()`, `(N,)` or `(N, *)`; IndexError for others.
        - Output: `()`, or the shape of the target with `reduction="none"`.

    Example:
        >>> torch.nn.NLLLoss()(torch.tensor([[-0.5, -1.0], [-2.0, -0.1]]), torch.tensor([0, 1]))
        tensor(0.3000)
    """

    __constants__ = ("ignore_index", "reduction")

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.nll_loss(input, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class NLLLoss2d(NLLLoss):
    """Deprecated, with a FutureWarning: use `NLLLoss`, which also handles images.

    Args:
        weight, size_average, ignore_index, reduce, reduction: as for `NLLLoss`.

    Shape:
        - Input: log-probabilities of C classes, `(N, C, H, W)`.
        - Target: classes, `(N, H, W)`.
        - Output: `()`, or the shape of the target with `reduction="none"`.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings(action="ignore"):
        ...     loss = torch.nn.NLLLoss2d()
        >>> loss(torch.full((1, 2, 3, 3), -0.5), torch.zeros(1, 3, 3, dtype=torch.int64))
        tensor(0.5000)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        warnings.warn(
            "`NLLLoss2d` has been deprecated. Please use `NLLLoss` instead as a drop-in replacement.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__(weight, size_average, ignore_index, reduce, reduction)


class CrossEntropyLoss(_WeightedLoss):
    """The cross entropy of scores and targets: `-log(softmax(input)[target])` for a target class.

    The input holds unnormalized scores (logits), not probabilities: the network needs no softmax layer.

    Args:
        weight: a factor for each class, `(C,)`, such as one that makes up for rare classes; None for 1.
        size_average, reduce: deprecated flags. If one of them is given, it overrides `reduction`, with a warning.
        ignore_index: a target class that does not contribute to the sum or the mean.
        reduction: "mean", the sum of the losses divided by the sum of the targets' weights, "sum", or "none" for the loss
            of each target. For targets of probabilities, the plain mean of the losses.
        label_smoothing: the fraction of the target, from 0 to 1, that is spread evenly over all classes; the call
            raises RuntimeError for others. Szegedy et al., *Rethinking the Inception architecture for computer vision*, 2016.

    Shape:
        - Input: scores of C classes, `(C,)`, `(N, C)`, or `(N, C, *)` such as `(N, C, H, W)` for images.
        - Target: classes from 0 to C - 1, `()`, `(N,)` or `(N, *)`; IndexError for others. Or probabilities of the
          classes, in the shape of the input.
        - Output: `()`, or the shape of the target (without C) with `reduction="none"`.

    Example:
        >>> torch.nn.CrossEntropyLoss()(torch.tensor([[2.0, 1.0, 0.0]]), torch.tensor([0]))
        tensor(0.4076)
        >>> torch.nn.CrossEntropyLoss()(torch.tensor([[2.0, 1.0, 0.0]]), torch.tensor([[0.5, 0.5, 0.0]]))
        tensor(0.9076)
    """

    __constants__ = ("ignore_index", "reduction", "label_smoothing")

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


class PoissonNLLLoss(_Loss):
    """The negative log-likelihood of counts under Poisson distributions with predicted rates.

    `exp(input) - target * input` with `log_input`, else `input - target * log(input + eps)`. The term
    `log(target!)`, which does not depend on the input, is omitted, or approximated if `full`.

    Args:
        log_input: whether the input holds the logarithms of the rates instead of the rates.
        full: whether to add Stirling's approximation of `log(target!)`: `t * log(t) - t + 0.5 * log(2 * pi * t)` for
            targets t above 1, else 0.
        size_average, reduce: deprecated flags. If one of them is given, it overrides `reduction`, with a warning.
        eps: added to the rate before taking its logarithm, without `log_input`.
        reduction: "mean", over all elements, "sum", or "none" for the loss of each element; the call raises ValueError
            for another.

    Shape:
        - Input: `(*)`, any number of dimensions.
        - Target: the shape of the input.
        - Output: `()`, or the shape of the input with `reduction="none"`.

    Example:
        >>> torch.nn.PoissonNLLLoss()(torch.zeros(2), torch.tensor([1.0, 3.0]))
        tensor(1.)
    """

    __constants__ = ("log_input", "full", "eps", "reduction")

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: bool | None = None,
        eps: float = 1e-8,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        return F.poisson_nll_loss(
            log_input, target, log_input=self.log_input, full=self.full, eps=self.eps, reduction=self.reduction
        )


class GaussianNLLLoss(_Loss):
    """The negative log-likelihood of targets under normal distributions with predicted means and variances.

    `0.5 * (log(var) + (input - target) ** 2 / var)`, without the constant `0.5 * log(2 * pi)` unless `full`.

    Nix and Weigend, *Estimating the mean and variance of the target probability distribution*, 1994.

    Args:
        full: whether to add the constant `0.5 * log(2 * pi)`.
        eps: the lower bound that variances are clamped to; the gradient ignores the clamping.
        reduction: "mean", over all elements, "sum", or "none" for the loss of each element; the call raises ValueError
            for another.

    Shape:
        - Input: `(N, *)` or `(*)`, the means.
        - Target: the shape of the input, or one that broadcasts with it.
        - Variance: the shape of the input, that shape without its last dimension or with a single 1 in it, or a number.
          ValueError for others, and for a negative variance.
        - Output: `()`, or the shape of the input with `reduction="none"`.

    Example:
        >>> torch.nn.GaussianNLLLoss()(torch.zeros(2), torch.ones(2), torch.ones(2))
        tensor(0.5000)
    """

    __constants__ = ("full", "eps", "reduction")

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        return F.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)


class KLDivLoss(_Loss):
    """The Kullback-Leibler divergence KL(target || input), with elements `target * (log(target) - input)`.

    Args:
        size_average, reduce: deprecated flags. If one of them is given, it overrides `reduction`, with a warning.
        reduction: "batchmean", the sum divided by the size of the batch, which is the definition; "mean", divided by
            the number of all elements, with a warning; "sum"; or "none" for the term of each element.
        log_target: whether the target holds log-probabilities, like the input, instead of probabilities.

    Shape:
        - Input: log-probabilities, `(*)`, any number of dimensions.
        - Target: the shape of the input.
        - Output: `()`, or the shape of the input with `reduction="none"`.

    Example:
        >>> input, target = torch.tensor([[0.5, 0.5]]).log(), torch.tensor([[0.25, 0.75]])
        >>> torch.nn.KLDivLoss(reduction="batchmean")(input, target)
        tensor(0.1308)
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class BCELoss(_WeightedLoss):
    """The binary cross entropy of probabilities and targets: `-(target * log(input) + (1 - target) * log(1 - input))`.

    Logarithms are clamped to at least -100, so that the loss is finite. `BCEWithLogitsLoss` is more accurate than a
    `Sigmoid` layer followed by `BCELoss`.

    Args:
        weight: a factor for each element, of a shape that broadcasts with the input; None for 1.
        size_average, reduce: deprecated flags. If one of them is given, it overrides `reduction`, with a warning.
        reduction: "mean", over all elements, "sum", or "none" for the loss of each element; the call raises ValueError
            for another.

    Shape:
        - Input: probabilities, `(*)`, any number of dimensions; RuntimeError for values that are not from 0 to 1.
        - Target: from 0 to 1, the shape of the input; ValueError for others.
        - Output: `()`, or the shape of the input with `reduction="none"`.

    Example:
        >>> torch.nn.BCELoss()(torch.tensor([0.5, 0.9]), torch.tensor([1.0, 1.0]))
        tensor(0.3993)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_Loss):
    """The binary cross entropy of `sigmoid(input)` and targets, computed without overflow.

    The input holds unnormalized scores (logits), not probabilities: the network needs no sigmoid layer.

    Args:
        weight: a factor for each element, of a shape that broadcasts with the input; None for 1.
        size_average, reduce: deprecated flags. If one of them is given, it overrides `reduction`, with a warning.
        reduction: "mean", over all elements, "sum", or "none" for the loss of each element; the call raises ValueError
            for another.
        pos_weight: a factor for the positive term `target * log(sigmoid(input))`, of a shape that broadcasts with the
            target, such as one per class; values above 1 favour recall, below 1 precision. None for 1.

    Shape:
        - Input: scores, `(*)`, any number of dimensions.
        - Target: from 0 to 1, the shape of the input; ValueError for others.
        - Output: `()`, or the shape of the input with `reduction="none"`.

    Example:
        >>> torch.nn.BCEWithLogitsLoss()(torch.tensor([0.0, 200.0]), torch.tensor([1.0, 1.0]))
        tensor(0.3466)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(
            input, target, self.weight, pos_weight=self.pos_weight, reduction=self.reduction
        )


class CTCLoss(_Loss):
    """Connectionist temporal classification: minus the log of the summed probability of all alignments of labels and input.

    An alignment has a label or the blank at each step of the input; removing repetitions, then blanks, yields the labels.
    So a network can learn speech or handwriting from its text, without the position of each letter.

    Graves et al., *Connectionist temporal classification: labelling unsegmented sequence data with recurrent neural
    networks*, 2006.

    Args:
        blank: the index of the blank among the C labels; the call raises RuntimeError unless it is from 0 to
            C - 1.
        reduction: "mean", the mean of the losses divided by the lengths of their targets, "sum", or "none" for the loss of each
            sequence.
        zero_infinity: whether to replace infinite losses, of targets too long for their input, and their gradients by 0.

    Shape:
        - Log-probabilities: `(T, N, C)` or `(T, C)`, such as those of `LogSoftmax`.
        - Targets: labels without blanks, padded to `(N, S)`, where S is the largest length, or concatenated to one
          dimension.
        - Input lengths: `(N,)` or `()`, at most T each; RuntimeError for more.
        - Target lengths: `(N,)` or `()`.
        - Output: `()`, or `(N,)` with `reduction="none"`.

    Example:
        >>> log_probs = torch.zeros(4, 1, 3).log_softmax(2)
        >>> torch.nn.CTCLoss(reduction="sum")(log_probs, torch.tensor([[1, 2]]), torch.tensor([4]), torch.tensor([2]))
        tensor(1.6864)
    """

    __constants__ = ("blank", "reduction")

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction=reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(self, log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor) -> Tensor:
        return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity)
