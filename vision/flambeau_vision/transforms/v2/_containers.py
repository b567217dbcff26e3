"""Transforms made of transforms, for whole samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import flambeau as torch
from flambeau import nn

__all__ = ["Compose", "RandomApply", "RandomChoice", "RandomOrder"]


def _apply_in_turn(transforms: Sequence[Callable], inputs: tuple[Any, ...]) -> Any:
    for transform in transforms:
        outputs = transform(*inputs)
        inputs = outputs if isinstance(outputs, tuple) else (outputs,)
    return inputs if len(inputs) > 1 else inputs[0]


class _Container(nn.Module):
    def __init__(self, transforms: Sequence[Callable]) -> None:
        super().__init__()
        if not isinstance(transforms, Sequence | nn.ModuleList):
            raise TypeError("Argument transforms should be a sequence of callables")
        if not transforms:
            raise ValueError("Pass at least one transform")
        self.transforms = transforms

    def extra_repr(self) -> str:
        return "\n".join(f"    {transform}" for transform in self.transforms)


class Compose(_Container):
    """Apply one transform after the other."""

    def forward(self, *inputs: Any) -> Any:
        return _apply_in_turn(self.transforms, inputs)


class RandomApply(_Container):
    """Apply all of the transforms with probability `p`, or none."""

    def __init__(self, transforms: Sequence[Callable], p: float = 0.5) -> None:
        super().__init__(transforms)
        if not 0.0 <= p <= 1.0:
            raise ValueError("`p` should be a floating point value in the interval [0.0, 1.0].")
        self.p = p

    def forward(self, *inputs: Any) -> Any:
        happens = torch.rand(1).item() < self.p
        return _apply_in_turn(self.transforms if happens else (), inputs)


class RandomChoice(_Container):
    """Apply one of the transforms; `p` are their weights, equal by default."""

    def __init__(self, transforms: Sequence[Callable], p: Sequence[float] | None = None) -> None:
        super().__init__(transforms)
        p = [1.0] * len(transforms) if p is None else p
        if len(p) != len(transforms):
            raise ValueError(
                f"Length of p doesn't match the number of transforms: {len(p)} != {len(transforms)}"
            )
        self.p = [weight / sum(p) for weight in p]

    def forward(self, *inputs: Any) -> Any:
        return self.transforms[int(torch.multinomial(torch.tensor(self.p), 1))](*inputs)


class RandomOrder(_Container):
    """Apply all of the transforms in random order."""

    def forward(self, *inputs: Any) -> Any:
        order = torch.randperm(len(self.transforms)).tolist()
        return _apply_in_turn([self.transforms[index] for index in order], inputs)
