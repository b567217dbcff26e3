"""Transforms that apply other transforms."""

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
    """Apply several transforms in sequence.

    Args:
        transforms: a list of transforms, or of any functions of an image.

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
    """Apply a user-defined function.

    To use the transform in spawned worker processes, the function must be picklable: a named function, not a `lambda`.

    Args:
        lambd: a function of an image.

    Raises:
        TypeError: `lambd` is not callable.

    Example:
        >>> from flambeau_vision import transforms
        >>> transforms.Lambda(lambda image: 1 - image)(torch.tensor([0.25]))
        tensor([0.7500])
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
    """Base class of transforms that choose from a list of transforms or reorder it.

    Args:
        transforms: the list of transforms.

    Raises:
        TypeError: `transforms` is not a sequence.

    Example:
        >>> from flambeau_vision import transforms
        >>> class First(transforms.RandomTransforms):
        ...     def __call__(self, image):
        ...         return self.transforms[0](image)
        >>> First([abs, str])(-3)
        3
    """

    def __init__(self, transforms: Sequence[Callable]) -> None:
        if not isinstance(transforms, Sequence):
            raise TypeError("Argument transforms should be a sequence")
        self.transforms = transforms

    def __repr__(self) -> str:
        return _listed(type(self).__name__, self.transforms)


class RandomApply(nn.Module):
    """Apply all of the transforms with probability `p`, or none of them.

    Args:
        transforms: the transforms, in the order of application.
        p: the probability of applying them, from 0 to 1.

    Example:
        >>> from flambeau_vision import transforms
        >>> transforms.RandomApply([transforms.ColorJitter(0.4)], p=0.8)
        RandomApply(
            p=0.8
            ColorJitter(brightness=(0.6, 1.4), contrast=None, saturation=None, hue=None)
        )
    """

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
    """Apply all transforms in random order. Python's `random` draws the order.

    Args:
        transforms: the transforms.

    Raises:
        TypeError: `transforms` is not a sequence.

    Example:
        >>> from flambeau_vision import transforms
        >>> transforms.RandomOrder([lambda x: x + 1, lambda x: x + 2])(0)
        3
    """

    def __call__(self, img: Any) -> Any:
        order = list(range(len(self.transforms)))
        random.shuffle(order)
        for index in order:
            img = self.transforms[index](img)
        return img


class RandomChoice(RandomTransforms):
    """Apply one of the transforms at random. Python's `random` chooses it.

    Args:
        transforms: the transforms to choose among.
        p: weights of the transforms, which need not sum to 1; None for equal weights.

    Raises:
        TypeError: `transforms` or `p` is not a sequence.

    Example:
        >>> from flambeau_vision import transforms
        >>> transforms.RandomChoice([abs, str], p=[1.0, 0.0])(-3)
        3
    """

    def __init__(self, transforms: Sequence[Callable], p: Sequence[float] | None = None) -> None:
        super().__init__(transforms)
        if p is not None and not isinstance(p, Sequence):
            raise TypeError("Argument p should be a sequence")
        self.p = p

    def __call__(self, *args: Any) -> Any:
        return random.choices(self.transforms, weights=self.p)[0](*args)

    def __repr__(self) -> str:
        return f"{super().__repr__()}(p={self.p})"
