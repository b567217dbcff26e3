"""AutoAugment, RandAugment, TrivialAugment and AugMix in version 2: for samples, which may contain images but no boxes."""

from __future__ import annotations

from typing import Any

import flambeau as torch

from ... import tv_tensors
from .. import autoaugment
from .._tensor_color import largest_value
from ._samples import WithoutBoxes

__all__ = ["AugMix", "AutoAugment", "RandAugment", "TrivialAugmentWide"]


class _Augment(WithoutBoxes):
    """Base class of these transforms. It rejects samples with boxes or masks.

    Random signs are drawn as in version 2 of torchvision, from uniform numbers. Thresholds are relative to white.
    """

    white = 1.0

    def white_value(self, inpt: Any) -> float:
        return float(largest_value(inpt.dtype)) if isinstance(inpt, torch.Tensor) else 255.0

    def draw_sign(self, signed: bool) -> int:
        return -1 if signed and torch.rand(()).item() <= 0.5 else 1


class AugMix(_Augment, autoaugment.AugMix):
    """Mix an image with the results of several random chains of operations; samples with boxes or masks raise a `TypeError`.

    Hendrycks et al., [AugMix](https://arxiv.org/abs/1912.02781), 2019.

    Args:
        severity: the largest magnitude of the operations, from 1 to 10.
        mixture_width: number of chains.
        chain_depth: number of operations in a chain; if not positive, it is drawn from 1 to 3.
        alpha: positive parameter of the Dirichlet distributions that the mixing weights are drawn from; large values give nearly
            equal weights.
        all_ops: whether to use also the operations that change brightness, colour, contrast and sharpness.
        interpolation: `InterpolationMode.NEAREST`, `BILINEAR` or `BICUBIC`.
        fill: value of the pixels outside the image, a number or one per channel; None for black;
            or a dict from type to such a value; the key `"others"` is for missing types.

    Raises:
        ValueError: `severity` is out of range.

    Example:
        >>> from flambeau_vision.transforms import v2
        >>> image = torch.randint(0, 256, (3, 16, 16), dtype=torch.uint8)
        >>> v2.AugMix(severity=3)(image).shape
        torch.Size([3, 16, 16])
    """

    def count_samples(self, inpt: Any) -> int:
        of_one = 4 if isinstance(inpt, tv_tensors.Video) else 3
        return inpt.shape[0] if isinstance(inpt, torch.Tensor) and inpt.ndim > of_one else 1


class AutoAugment(_Augment, autoaugment.AutoAugment):
    """Apply one of 25 learned pairs of operations, chosen at random, to images.

    Samples with boxes or masks raise a `TypeError`.

    Cubuk, Zoph, Mané, Vasudevan and Le, [AutoAugment](https://arxiv.org/abs/1805.09501), 2018.

    Args:
        policy: the policy, named after the data set that the pairs were learned on.
        interpolation: `InterpolationMode.NEAREST`, `BILINEAR` or `BICUBIC`.
        fill: value of the pixels outside the image, a number or one per channel; None for black;
            or a dict from type to such a value; the key `"others"` is for missing types.

    Example:
        >>> from flambeau_vision.transforms import v2
        >>> image = torch.randint(0, 256, (3, 16, 16), dtype=torch.uint8)
        >>> v2.AutoAugment(v2.AutoAugmentPolicy.CIFAR10)(image).shape
        torch.Size([3, 16, 16])
    """

    def draw(self, size: tuple[int, int]) -> list[tuple[str, float]]:
        policy = self.policies[int(torch.randint(len(self.policies), ()))]
        space = autoaugment.policy_space(size, self.white)
        operations = []
        for name, probability, index in policy:
            if torch.rand(()).item() <= probability:
                magnitudes, signed = space[name]
                magnitude = 0.0 if index is None else magnitudes[index].item()
                operations.append((name, magnitude * self.draw_sign(signed)))
        return operations


class RandAugment(_Augment, autoaugment.RandAugment):
    """Apply random operations, all of the same magnitude, to images; samples with boxes or masks raise a `TypeError`.

    Cubuk, Zoph, Shlens and Le, [RandAugment](https://arxiv.org/abs/1909.13719), 2019.

    Args:
        num_ops: number of operations to apply in sequence.
        magnitude: magnitude of the operations, from 0 to `num_magnitude_bins - 1`.
        num_magnitude_bins: number of possible magnitudes.
        interpolation: `InterpolationMode.NEAREST`, `BILINEAR` or `BICUBIC`.
        fill: value of the pixels outside the image, a number or one per channel; None for black;
            or a dict from type to such a value; the key `"others"` is for missing types.

    Example:
        >>> from flambeau_vision.transforms import v2
        >>> image = torch.randint(0, 256, (3, 16, 16), dtype=torch.uint8)
        >>> v2.RandAugment(num_ops=2, magnitude=9)(image).shape
        torch.Size([3, 16, 16])
    """


class TrivialAugmentWide(_Augment, autoaugment.TrivialAugmentWide):
    """Apply one random operation of random magnitude to images; samples with boxes or masks raise a `TypeError`.

    Müller and Hutter, [TrivialAugment](https://arxiv.org/abs/2103.10158), 2021.

    Args:
        num_magnitude_bins: number of possible magnitudes.
        interpolation: `InterpolationMode.NEAREST`, `BILINEAR` or `BICUBIC`.
        fill: value of the pixels outside the image, a number or one per channel; None for black;
            or a dict from type to such a value; the key `"others"` is for missing types.

    Example:
        >>> from flambeau_vision.transforms import v2
        >>> image = torch.randint(0, 256, (3, 16, 16), dtype=torch.uint8)
        >>> v2.TrivialAugmentWide()(image).shape
        torch.Size([3, 16, 16])
    """
