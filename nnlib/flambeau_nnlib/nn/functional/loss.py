"""Losses.

``size_average`` and ``reduce`` are how ``reduction`` was spelled before PyTorch 0.4.1.
"""

from __future__ import annotations

from flambeau import Tensor
from flambeau.ops import loss as ops

from .._reduction import legacy_get_string

__all__ = ["cross_entropy", "mse_loss", "nll_loss"]


def _reduction(reduction: str, size_average: bool | None, reduce: bool | None) -> str:
    if size_average is None and reduce is None:
        return reduction
    return legacy_get_string(size_average, reduce)


def mse_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The squared error ``(input - target) ** 2``.

    >>> import flambeau as torch
    >>> torch.nn.functional.mse_loss(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]))
    tensor(2.)
    """
    return ops.mse_loss(input, target, _reduction(reduction, size_average, reduce))


def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None, ignore_index: int = -100,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Minus the log-probability of the target class, ``weight`` for each class.

    Shapes: input ``(N, C, *)`` or ``(C,)``, target ``(N, *)`` or ``()``.  Targets equal to ``ignore_index`` count nothing.
    """
    return ops.nll_loss(input, target, weight, ignore_index, _reduction(reduction, size_average, reduce))


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
    reduction = _reduction(reduction, size_average, reduce)
    return ops.cross_entropy(input, target, weight, ignore_index, reduction, label_smoothing)
