"""Measures of the difference between two results.  Arguments are tensors, or sequences of tensors that are compared in pairs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import flambeau as torch

__all__ = ["compute_cosine_similarity", "compute_normalized_l2_error", "compute_sqnr"]

_Measure = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def _in_pairs(measure: _Measure) -> Callable[[Any, Any], Any]:
    """Return a function that also measures sequences of tensors, one pair after the other."""

    @functools.wraps(measure)
    def measured(x: Any, y: Any) -> Any:
        if isinstance(x, (tuple, list)):
            return [measured(first, second) for first, second in zip(x, y, strict=False)]
        return measure(x, y)

    return measured


@_in_pairs
def compute_sqnr(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Return the signal-to-noise ratio in decibels, `20 * log10(norm(x) / norm(x - y))`.

    >>> compute_sqnr(torch.tensor([10.0]), torch.tensor([9.0]))
    tensor(20.)
    """
    return 20 * torch.log10(torch.norm(x) / torch.norm(x - y))


@_in_pairs
def compute_normalized_l2_error(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Return `norm(x - y) / norm(x)`.

    >>> compute_normalized_l2_error(torch.tensor([4.0]), torch.tensor([3.0]))
    tensor(0.2500)
    """
    return torch.sqrt(((x - y) ** 2).sum() / (x**2).sum())


@_in_pairs
def compute_cosine_similarity(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Return the cosine of the angle between `x` and `y`, read as vectors; its shape is `(1,)`.

    >>> compute_cosine_similarity(torch.tensor([1.0, 0.0]), torch.tensor([[2.0, 0.0]]))
    tensor([1.])
    """
    return torch.nn.functional.cosine_similarity(x.reshape(1, -1), y.reshape(1, -1))
