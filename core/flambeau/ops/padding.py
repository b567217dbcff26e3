"""Padding: more elements around the edges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..op import op
from .._tensor import Tensor

__all__ = ["constant_pad"]


def _constant_pad_forward(xp: Any, input: Any, /, pad: Sequence[tuple[int, int]], value: Any = 0) -> Any:
    for dim, (before, after) in enumerate(pad):
        for amount, in_front in ((before, True), (after, False)):
            if amount > 0:
                more = xp.full((*input.shape[:dim], amount, *input.shape[dim + 1 :]), value, dtype=input.dtype)
                input = xp.concat([more, input] if in_front else [input, more], axis=dim)
            elif amount < 0:
                part = slice(-amount, None) if in_front else slice(0, max(input.shape[dim] + amount, 0))
                input = input[(*(slice(None),) * dim, part, ...)]
    return input


_constant_pad = op(
    "constant_pad", _constant_pad_forward, public=False, method=False, out=False, backward_name="ConstantPadNdBackward0",
    input=lambda F, g, pad: F.constant_pad(g, tuple((-before, -after) for before, after in pad), 0),
)  # fmt: skip


def constant_pad(input: Tensor, pad: Sequence[int], value: float = 0.0) -> Tensor:
    """``input`` with ``value`` around it; ``pad`` lists (before, after) from the last dimension on; negative ones crop."""
    pairs = [(0, 0)] * (input.ndim - len(pad) // 2) + [tuple(pad[i : i + 2]) for i in range(len(pad) - 2, -1, -2)]
    return _constant_pad(input, tuple(pairs), value)  # type: ignore[no-any-return]
