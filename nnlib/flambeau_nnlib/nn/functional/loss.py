"""Losses for regression, probabilities and classification.

`size_average` and `reduce` are legacy flags of PyTorch before 0.4.1, replaced by `reduction`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import flambeau as torch
from flambeau import Tensor
from flambeau.extension import Autocast, Kind, Number, as_float, declare, require_flags, warn
from flambeau.extension import functions as ctc
from flambeau.extension import functions as ops
from flambeau.extension.functions import linear

from .._reduction import legacy_get_string

if TYPE_CHECKING:
    from ..modules.linear_cross_entropy import LinearCrossEntropyOptions

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cross_entropy", "ctc_loss", "gaussian_nll_loss", "huber_loss",
    "kl_div",
    "l1_loss", "linear_cross_entropy", "mse_loss", "nll_loss", "poisson_nll_loss", "smooth_l1_loss",
]  # fmt: skip


def resolve_reduction(reduction: str, size_average: bool | None, reduce: bool | None) -> str:
    """Return `reduction`, or the equivalent of the legacy flags `size_average` and `reduce` if one is given."""
    if size_average is None and reduce is None:
        return reduction
    return legacy_get_string(size_average, reduce)


# --- regression ---------------------------------------------------------------------------------------------------


def _warn_if_sizes_differ(input: Tensor, target: Tensor) -> None:
    if not input.is_same_size(target):
        warn(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). This will likely lead "
            "to incorrect results due to broadcasting. Please ensure they have the same size.",
        )


def _weighted(losses: Tensor, weight: Tensor, input: Tensor, reduction: str, by_weight: bool = True) -> Tensor:
    """Weight the losses and reduce them. With `by_weight`, the mean is the sum divided by the sum of the weights."""
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'.")
    if reduction == "mean" and by_weight:
        return (losses * weight).sum() / weight.sum()
    return ops.reduced(losses * weight, reduction)


@declare(kind=Kind.LOSS, autocast=Autocast.FLOAT32, schema="l1_loss(Tensor self, Tensor target, int reduction=1) -> Tensor")
def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Compute the mean absolute error: the mean of `|input - target|`; see `nn.L1Loss`.

    Args:
        input: the predictions, a tensor of any shape.
        target: the true values, in the shape of `input`; other shapes are broadcast, with a warning.
        size_average, reduce: deprecated flags. If one of them is given, it overrides `reduction`, with a warning.
        reduction: "mean", over all elements, "sum", or "none" for the loss of each element; ValueError for another.
        weight: a factor for each element, in the shape of `input`, or ValueError is raised; None for 1. The mean is
            then divided by the sum of the weights.

    Example:
        >>> F.l1_loss(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 5.0]))
        tensor(1.5000)
    """
    _warn_if_sizes_differ(input, target)
    reduction = resolve_reduction(reduction, size_average, reduce)
    errors = (input - target).abs()
    return ops.reduced(errors, reduction) if weight is None else _weighted(errors, weight, input, reduction)


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Compute the mean squared error: the mean of `(input - target) ** 2`; see `nn.MSELoss`.

    Args:
        input: the predictions, a tensor of any shape.
        target: the true values, in the shape of `input`; other shapes are broadcast, with a warning.
        size_average, reduce: deprecated flags. If one of them is given, it overrides `reduction`, with a warning.
        reduction: "mean", over all elements, "sum", or "none" for the loss of each element; ValueError for another.
        weight: a factor for each element, in the shape of `input`, or ValueError is raised; None for 1. The mean is
            then divided by the sum of the weights.

    Example:
        >>> F.mse_loss(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]))
        tensor(2.)
        >>> F.mse_loss(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]), weight=torch.tensor([3.0, 1.0]))
        tensor(1.)
    """
    _warn_if_sizes_differ(input, target)
    reduction = resolve_reduction(reduction, size_average, reduce)
    return (
        ops.mse_loss(input, target, reduction) if weight is None else _weighted((input - target) ** 2, weight, input, reduction)
    )


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Compute the squared error for small differences and the absolute error for large ones; see `nn.SmoothL1Loss`.

    `0.5 * d ** 2 / beta` where the difference d is below `beta`, `|d| - 0.5 * beta` elsewhere.

    Girshick, *Fast R-CNN*, 2015.

    Args:
        input: the predictions, a tensor of any shape.
        target: the true values, in the shape of `input`; other shapes are broadcast, with a warning.
        size_average, reduce: deprecated flags. If one of them is given, it overrides `reduction`, with a warning.
        reduction: "mean", over all elements, "sum", or "none" for the loss of each element; ValueError for another.
        beta: the difference at which the loss changes from squared to absolute; RuntimeError if it is negative.

    Example:
        >>> F.smooth_l1_loss(torch.tensor([0.5, 3.0]), torch.zeros(2), reduction="none")
        tensor([0.1250, 2.5000])
    """
    _warn_if_sizes_differ(input, target)
    return ops.smooth_l1_loss(input, target, resolve_reduction(reduction, size_average, reduce), beta)


def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """Compute the squared error for small differences and the absolute error for large ones; see `nn.HuberLoss`.

    `0.5 * d ** 2` where the difference d is below `delta`, `delta * (|d| - 0.5 * delta)` elsewhere.

    Huber, *Robust estimation of a location parameter*, 1964.

    Args:
        input: the predictions, a tensor of any shape.
        target: the true values, in the shape of `input`; other shapes are broadcast, with a warning.
        reduction: "mean", over all elements, "sum", or "none" for the loss of each element; ValueError for another.
        delta: the difference at which the loss changes from squared to absolute; RuntimeError unless it is positive.
        weight: a factor for each element, in the shape of `input`, or ValueError is raised; None for 1. The mean is
            still over the number of elements.

    Example:
        >>> F.huber_loss(torch.tensor([1.0, 3.0]), torch.zeros(2), reduction="none", delta=2.0)
        tensor([0.5000, 4.0000])
    """
    _warn_if_sizes_differ(input, target)
    if weight is None:
        return ops.huber_loss(input, target, reduction, delta)
    return _weighted(ops.huber_loss(input, target, "none", delta), weight, input, reduction, by_weight=False)


@declare(
    kind=Kind.LOSS,
    autocast=Autocast.FLOAT32,
    schema="poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction) -> Tensor",
)
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Compute the negative log-likelihood of counts under Poisson distributions; see `nn.PoissonNLLLoss`.

    `exp(input) - target * input` with `log_input`, else `input - target * log(input + eps)`.

    Args:
        input: the predicted rates, or their logarithms, a tensor of any shape.
        target: the counts, in the shape of `input`.
        log_input: whether `input` holds the logarithms of the rates.
        full: whether to add Stirling's approximation of `log(target!)`, which does not depend on `input`.
        size_average, reduce: deprecated flags. If one of them is given, it overrides `reduction`, with a warning.
        eps: added to the rate so that its logarithm is finite at 0.
        reduction: "mean", over all elements, "sum", or "none" for the loss of each element; ValueError for another.

    Example:
        >>> F.poisson_nll_loss(torch.zeros(2), torch.tensor([1.0, 3.0]))
        tensor(1.)
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not a valid value for reduction")
    require_flags("poisson_nll_loss", log_input=log_input, full=full)
    eps = as_float("poisson_nll_loss", "eps", eps)
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return ops.reduced(loss, reduction)


@declare(kind=Kind.LOSS)
def gaussian_nll_loss(
    input: Tensor, target: Tensor | Number, var: Tensor | Number, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """Compute the negative log-likelihood of targets under normal distributions; see `nn.GaussianNLLLoss`.

    `0.5 * (log(var) + (input - target) ** 2 / var)`.

    Nix and Weigend, *Estimating the mean and variance of the target probability distribution*, 1994.

    Args:
        input: the predicted means, a tensor of any shape.
        target: the true values, in the shape of `input`.
        var: the predicted variances: a tensor of the shape of `input`, of that shape without its last dimension or with one
            size replaced by 1, or a float. ValueError for other shapes and negative variances.
        full: whether to add the constant `0.5 * log(2 * pi)`.
        eps: the lower bound that variances are clamped to.
        reduction: "mean", over all elements, "sum", or "none" for the loss of each element; ValueError for another.

    Example:
        >>> F.gaussian_nll_loss(torch.zeros(2), torch.ones(2), torch.ones(2))
        tensor(0.5000)
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


@declare(
    kind=Kind.LOSS,
    autocast=Autocast.FLOAT32,
    schema="kl_div(Tensor self, Tensor target, int reduction=1, *, bool log_target=False) -> Tensor",
)
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """Compute the Kullback-Leibler divergence KL(target || input) of log-probabilities `input`; see `nn.KLDivLoss`.

    `target * (log(target) - input)`.

    Args:
        input: log-probabilities, a floating-point tensor of any shape.
        target: probabilities, in the shape of `input`.
        size_average, reduce: deprecated flags. If one of them is given, it overrides `reduction`, with a warning.
        reduction: "batchmean", the sum divided by the size of the batch, which is the definition; "mean", divided by
            the number of all elements, with a warning; "sum"; or "none" for the term of each element.
        log_target: whether `target` also holds log-probabilities.

    Example:
        >>> input, target = torch.tensor([[0.5, 0.5]]).log(), torch.tensor([[0.25, 0.75]])
        >>> F.kl_div(input, target, reduction="batchmean")
        tensor(0.1308)
    """
    if reduction == "mean" and size_average is None and reduce is None:
        warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size.'batchmean' divides only by "
            "the batch size, and aligns with the KL div math definition.'mean' will be changed to behave the same as "
            "'batchmean' in the next major release.",
        )
    return divergence(input, target, resolve_reduction(reduction, size_average, reduce), log_target)


def divergence(input: Tensor, target: Tensor, reduction: str, log_target: bool) -> Tensor:
    """Compute `kl_div`; unlike that, it has no legacy flags."""
    for tensor in (input, target):
        if not tensor.is_floating_point():
            raise RuntimeError(f"kl_div: {'Complex' if tensor.is_complex() else 'Integral'} inputs not supported.")
    require_flags("kl_div", log_target=log_target)
    losses = target.exp() * (target - input) if log_target else torch.xlogy(target, target) - target * input
    if reduction == "batchmean":
        return losses.sum() / input.shape[0] if input.dim() else losses.sum()
    return ops.reduced(losses, reduction)


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Compute the binary cross entropy of probabilities and targets; see `nn.BCELoss`.

    `-(target * log(input) + (1 - target) * log(1 - input))`, with logarithms of at least -100.

    Args:
        input: probabilities, a tensor of any shape; RuntimeError for values that are not from 0 to 1.
        target: from 0 to 1, in the shape of `input`; ValueError for another shape.
        weight: a factor for each element, of a shape that broadcasts with `input`; None for 1.
        size_average, reduce: deprecated flags. If one of them is given, it overrides `reduction`, with a warning.
        reduction: "mean", over all elements, "sum", or "none" for the loss of each element; ValueError for another.

    Example:
        >>> F.binary_cross_entropy(torch.tensor([0.5]), torch.tensor([1.0]))
        tensor(0.6931)
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    if target.size() != input.size():
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}) is "
            "deprecated. Please ensure they have the same size."
        )
    return ops.binary_cross_entropy(input, target, weight, reduction)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Compute the binary cross entropy of `sigmoid(input)` and targets, without overflow; see `nn.BCEWithLogitsLoss`.

    Args:
        input: scores (logits), a tensor of any shape.
        target: from 0 to 1, in the shape of `input`; ValueError for another shape.
        weight: a factor for each element, of a shape that broadcasts with `input`; None for 1.
        size_average, reduce: deprecated flags. If one of them is given, it overrides `reduction`, with a warning.
        reduction: "mean", over all elements, "sum", or "none" for the loss of each element; ValueError for another.
        pos_weight: a factor for the term of positive targets, of a shape that broadcasts with `target`; None for 1.

    Example:
        >>> F.binary_cross_entropy_with_logits(torch.tensor([0.0, 200.0]), torch.tensor([1.0, 1.0]))
        tensor(0.3466)
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    if target.size() != input.size():
        raise ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()})")
    return ops.binary_cross_entropy_with_logits(input, target, weight, pos_weight, reduction)


# --- classes ------------------------------------------------------------------------------------------------------


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Compute the negative log-likelihood: minus the log-probability of the target class; see `nn.NLLLoss`.

    Args:
        input: log-probabilities of C classes, `(C,)`, `(N, C)` or `(N, C, *)`.
        target: classes from 0 to C - 1, `()`, `(N,)` or `(N, *)`; IndexError for others.
        weight: a factor for each class, `(C,)`; None for 1.
        size_average, reduce: deprecated flags. If one of them is given, it overrides `reduction`, with a warning.
        ignore_index: a target value that does not contribute to the sum or the mean.
        reduction: "mean", the sum of the losses divided by the sum of the targets' weights, "sum", or "none" for the loss
            of each target; ValueError for another.

    Example:
        >>> F.nll_loss(torch.tensor([[-0.5, -1.0], [-2.0, -0.1]]), torch.tensor([0, 1]))
        tensor(0.3000)
    """
    return ops.nll_loss(input, target, weight, ignore_index, resolve_reduction(reduction, size_average, reduce))


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Compute the cross entropy of scores and targets, `nll_loss(log_softmax(input), target)`; see `nn.CrossEntropyLoss`.

    Args:
        input: scores (logits) of C classes, `(C,)`, `(N, C)` or `(N, C, *)`.
        target: classes from 0 to C - 1, `()`, `(N,)` or `(N, *)`, IndexError for others; or probabilities of the
            classes, in the shape of `input`.
        weight: a factor for each class, `(C,)`; None for 1.
        size_average, reduce: deprecated flags. If one of them is given, it overrides `reduction`, with a warning.
        ignore_index: a target value that does not contribute to the sum or the mean.
        reduction: "mean", the sum of the losses divided by the sum of the targets' weights, "sum", or "none" for the loss
            of each target. For targets of probabilities, the plain mean of the losses; ValueError for another.
        label_smoothing: the fraction of the target, from 0 to 1, that is spread evenly over all classes; RuntimeError for
            others.

    Example:
        >>> F.cross_entropy(torch.zeros(1, 2), torch.tensor([0]))
        tensor(0.6931)
        >>> F.cross_entropy(torch.zeros(1, 2), torch.tensor([[0.5, 0.5]]))
        tensor(0.6931)
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    return ops.cross_entropy(input, target, weight, ignore_index, reduction, label_smoothing)


@declare(kind=Kind.PRODUCT)
def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: LinearCrossEntropyOptions | None = None,
) -> Tensor:
    """Compute the cross entropy of `linear(input, linear_weight, linear_bias)` and targets; see `nn.LinearCrossEntropyLoss`.

    Args:
        input: the input of the linear map, `(N, in_features)` or `(in_features,)`.
        linear_weight: the weight of the linear map, `(C, *, in_features)`: each input row gives `prod(*)` predictions of C
            classes.
        target: classes, `(N, *)` or `()`, or probabilities of the classes, `(N, C, *)`.
        linear_bias: the bias of the linear map, `(C, *)`; None for no bias.
        weight: a factor for each class, `(C,)`; None for 1.
        reduction: "mean", over targets and by their weights, "sum", or "none" for the loss of each target.
        ignore_index: a target value that is ignored; None for -100. RuntimeError for targets of probabilities.
        label_smoothing: the fraction of the target, from 0 to 1, that is spread evenly over all classes.
        options: a `nn.LinearCrossEntropyOptions` or None; no effect, since the loss is not computed in chunks.

    Raises:
        RuntimeError: shapes do not fit.

    Example:
        >>> F.linear_cross_entropy(torch.ones(1, 3), torch.zeros(2, 3), torch.tensor([1]))
        tensor(0.6931)
    """
    if input.dim() not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.dim()}")
    if linear_weight.dim() < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {linear_weight.dim()}")
    if linear_weight.dim() > 2 and input.dim() == 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)} requires batched "
            f"input, (N, {linear_weight.shape[-1]}), got unbatched input "
            f"with shape {tuple(input.shape)}"
        )
    if input.shape[-1] != linear_weight.shape[-1]:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), got "
            f"{input.shape[-1]} and {linear_weight.shape[-1]}, respectively"
        )
    outputs = linear_weight.shape[:-1]
    if linear_bias is not None and linear_bias.shape != outputs:
        raise RuntimeError(f"expected linear_bias shape {tuple(outputs)}, got {tuple(linear_bias.shape)}")
    if ignore_index is not None and target.shape == (*input.shape[:-1], *outputs):
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    if (
        options is not None
        and reduction in {"none", "mean", "sum"}
        and not label_smoothing
        and len(outputs) == 1
        and (target.dtype is torch.int64)
    ):
        options.for_input(input)
    logits = linear(input, linear_weight.flatten(0, -2), None if linear_bias is None else linear_bias.flatten())
    if len(outputs) > 1:
        logits = logits.unflatten(-1, outputs)
    ignored = -100 if ignore_index is None else ignore_index
    return cross_entropy(
        logits, target, weight=weight, reduction=reduction, ignore_index=ignored, label_smoothing=label_smoothing
    )


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Compute minus the log-probability of label sequences, summed over all alignments with the input; see `nn.CTCLoss`.

    Graves et al., *Connectionist temporal classification: labelling unsegmented sequence data with recurrent neural
    networks*, 2006.

    Args:
        log_probs: log-probabilities of C labels at each step, `(T, N, C)` or `(T, C)`.
        targets: labels, padded to `(N, S)`, where S is the largest length, or concatenated to one dimension.
        input_lengths: the number of steps of each input, a tensor `(N,)` or `()` or a tuple; RuntimeError if above T.
        target_lengths: the number of labels of each target, in the same form.
        blank: the index of the blank label; RuntimeError unless it is from 0 to C - 1.
        reduction: "mean", of the losses divided by the lengths of their targets, "sum", or "none" for the loss of each
            sequence.
        zero_infinity: whether to replace infinite losses, of targets too long for their input, by 0.

    Example:
        >>> log_probs = torch.zeros(4, 1, 3).log_softmax(2)
        >>> F.ctc_loss(log_probs, torch.tensor([[1, 2]]), (4,), (2,), reduction="sum")
        tensor(1.6864)
    """
    return ctc.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity)
