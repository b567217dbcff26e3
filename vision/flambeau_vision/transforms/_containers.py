"""Transforms made of transforms."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import flambeau as torch
from flambeau import nn

__all__ = ["Compose", "Lambda", "RandomApply", "RandomChoice", "RandomOrder", "RandomTransforms"]


def _listed(name: str, items: Sequence[Any], *first: str) -> str:
    lines = [*first, *map(str, items)]
    return "\n    ".join([f"{name}(", *lines]) + "\n)"


class Compose:
    """Apply one transform after the other.

    Example:
        >>> from flambeau_vision import transforms
        >>> transforms.Compose([transforms.CenterCrop(10), transforms.ToTensor()])
        Compose(
            CenterCrop(size=(10, 10))
            ToTensor()
        )
    """

    def __init__(self, transforms: Sequence[Callable]) -> None:
        self.transforms = transforms

    def __call__(self, img: Any) -> Any:
        for transform in self.transforms:
            img = transform(img)
        return img

    def __repr__(self) -> str:
        return _listed(type(self).__name__, self.transforms)


class Lambda:
    """Apply a function of one's own.

    Raises:
        TypeError: if `lambd` cannot be called.
    """

    def __init__(self, lambd: Callable) -> None:
        if not callable(lambd):
            raise TypeError(f"Argument lambd should be callable, got {type(lambd).__name__!r}")
        self.lambd = lambd

    def __call__(self, img: Any) -> Any:
        return self.lambd(img)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class RandomTransforms:
    """The base of the transforms that choose among others.

    Raises:
        TypeError: if `transforms` is not a sequence.
    """

    def __init__(self, transforms: Sequence[Callable]) -> None:
        if not isinstance(transforms, Sequence):
            raise TypeError("Argument transforms should be a sequence")
        self.transforms = transforms

    def __repr__(self) -> str:
        return _listed(type(self).__name__, self.transforms)


class RandomApply(nn.Module):
    """Apply all of the transforms with probability `p`, or none."""

    def __init__(self, transforms: Sequence[Callable], p: float = 0.5) -> None:
        super().__init__()
        self.transforms = transforms
        self.p = p

    def forward(self, img: Any) -> Any:
        if self.p < torch.rand(1):
            return img
        for transform in self.transforms:
            img = transform(img)
        return img

    def __repr__(self) -> str:
        return _listed(type(self).__name__, self.transforms, f"p={self.p}")


class RandomOrder(RandomTransforms):
    """Apply all of the transforms in random order (drawn by Python's `random`)."""

    def __call__(self, img: Any) -> Any:
        order = list(range(len(self.transforms)))
        random.shuffle(order)
        for index in order:
            img = self.transforms[index](img)
        return img


class RandomChoice(RandomTransforms):
    """Apply one of the transforms (drawn by Python's `random`); `p` are their weights, equal by default."""

    def __init__(self, transforms: Sequence[Callable], p: Sequence[float] | None = None) -> None:
        super().__init__(transforms)
        if p is not None and not isinstance(p, Sequence):
            raise TypeError("Argument p should be a sequence")
        self.p = p

    def __call__(self, *args: Any) -> Any:
        return random.choices(self.transforms, weights=self.p)[0](*args)

    def __repr__(self) -> str:
        return f"{super().__repr__()}(p={self.p})"
