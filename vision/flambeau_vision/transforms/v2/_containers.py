"""Transforms of samples that apply other transforms."""

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
    """Apply several transforms in sequence.

    Args:
        transforms: a list of transforms, or of any functions of a sample.

    Raises:
        TypeError: `transforms` is not a sequence.
        ValueError: `transforms` is empty.

    Example:
        >>> from flambeau_vision.transforms import v2
        >>> transform = v2.Compose([v2.CenterCrop(8), v2.ToDtype(torch.float32, scale=True)])
        >>> image, label = transform(torch.zeros(3, 16, 16, dtype=torch.uint8), 7)
        >>> image.shape, image.dtype, label
        (torch.Size([3, 8, 8]), torch.float32, 7)
    """

    def forward(self, *inputs: Any) -> Any:
        return _apply_in_turn(self.transforms, inputs)


class RandomApply(_Container):
    """Apply all of the transforms with probability `p`, or none of them.

    Args:
        transforms: the transforms, in the order of application.
        p: the probability of applying them, from 0 to 1.

    Raises:
        TypeError: `transforms` is not a sequence.
        ValueError: `transforms` is empty, or `p` is out of range.

    Example:
        >>> from flambeau_vision.transforms import v2
        >>> v2.RandomApply([v2.CenterCrop(8)], p=1.0)(torch.rand(3, 16, 16)).shape
        torch.Size([3, 8, 8])
    """

    def __init__(self, transforms: Sequence[Callable], p: float = 0.5) -> None:
        super().__init__(transforms)
        if not 0.0 <= p <= 1.0:
            raise ValueError("`p` should be a floating point value in the interval [0.0, 1.0].")
        self.p = p

    def forward(self, *inputs: Any) -> Any:
        should_apply = torch.rand(1).item() < self.p
        return _apply_in_turn(self.transforms if should_apply else (), inputs)


class RandomChoice(_Container):
    """Apply one of the transforms, chosen at random.

    Args:
        transforms: the transforms to choose among.
        p: weights of the transforms, which need not sum to 1; None for equal weights.

    Raises:
        TypeError: `transforms` is not a sequence.
        ValueError: `transforms` is empty, or the number of weights differs from the number of transforms.

    Example:
        >>> from flambeau_vision.transforms import v2
        >>> v2.RandomChoice([v2.CenterCrop(8), v2.CenterCrop(4)], p=[0.0, 1.0])(torch.rand(3, 16, 16)).shape
        torch.Size([3, 4, 4])
    """

    def __init__(self, transforms: Sequence[Callable], p: Sequence[float] | None = None) -> None:
        super().__init__(transforms)
        p = [1.0] * len(transforms) if p is None else p
        if len(p) != len(transforms):
            raise ValueError(f"Length of p doesn't match the number of transforms: {len(p)} != {len(transforms)}")
        self.p = [weight / sum(p) for weight in p]

    def forward(self, *inputs: Any) -> Any:
        return self.transforms[int(torch.multinomial(torch.tensor(self.p), 1))](*inputs)


class RandomOrder(_Container):
    """Apply all of the transforms in random order.

    Args:
        transforms: the transforms.

    Raises:
        TypeError: `transforms` is not a sequence.
        ValueError: `transforms` is empty.

    Example:
        >>> from flambeau_vision.transforms import v2
        >>> v2.RandomOrder([v2.Grayscale(), v2.Resize(8)])(torch.rand(3, 16, 16)).shape
        torch.Size([1, 8, 8])
    """

    def forward(self, *inputs: Any) -> Any:
        order = torch.randperm(len(self.transforms)).tolist()
        return _apply_in_turn([self.transforms[index] for index in order], inputs)
