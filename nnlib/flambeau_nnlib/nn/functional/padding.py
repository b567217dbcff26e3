"""Padding."""

from __future__ import annotations

from collections.abc import Sequence

from flambeau import Tensor
from flambeau.ops import padding as ops

__all__ = ["pad"]


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """More elements around the last dimensions: ``pad`` lists (before, after) from the last dimension on.

    ``mode`` is "constant" (``value``, or 0; negative amounts crop), "reflect" (mirrored, without the edge), "replicate" (the
    edge again) or "circular" (from the other side).

    >>> import flambeau as torch
    >>> torch.nn.functional.pad(torch.ones(2), (1, 0))
    tensor([0., 1., 1.])
    """
    return ops.pad(input, pad, mode, value)
