"""Learned and random sequences of augmentations, for whole samples."""

from __future__ import annotations

from typing import Any

import flambeau as torch

from ... import tv_tensors
from .. import autoaugment
from .._tensor_color import largest_value
from ._samples import WithoutBoxes

__all__ = ["AugMix", "AutoAugment", "RandAugment", "TrivialAugmentWide"]


class _Augment(WithoutBoxes):
    """Raises an error for samples with boxes or masks; draws signs from uniform numbers; thresholds are relative to white."""

    white = 1.0

    def white_of(self, inpt: Any) -> float:
        return float(largest_value(inpt.dtype)) if isinstance(inpt, torch.Tensor) else 255.0

    def draw_sign(self, signed: bool) -> int:
        return -1 if signed and torch.rand(()).item() <= 0.5 else 1


class AugMix(_Augment, autoaugment.AugMix):
    """A random mixture of images with several chains of operations; boxes and masks are refused.

    Hendrycks et al., [AugMix](https://arxiv.org/abs/1912.02781), 2019.

    Args:
        severity: the largest strength of the operations, from 1 to 10.
        mixture_width: how many chains there are.
        chain_depth: how many operations a chain has; not positive for 1 to 3 at random.
        alpha: parameter of the Dirichlet distributions of the weights, positive: large ones make them alike.
        all_ops: also change brightness, colour, contrast and sharpness.
        interpolation: how values between pixels are found: `InterpolationMode.NEAREST`, `BILINEAR` or `BICUBIC`.
        fill: the value of what lies outside the image, a number or one for each channel; None for black;
            or a dict from type to such a value, with `"others"` for the rest.

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
    """One of 25 learned pairs of operations, drawn anew for each sample; boxes and masks are refused.

    Cubuk, Zoph, Mané, Vasudevan and Le, [AutoAugment](https://arxiv.org/abs/1805.09501), 2018.

    Args:
        policy: what data the pairs were learned on.
        interpolation: how values between pixels are found: `InterpolationMode.NEAREST`, `BILINEAR` or `BICUBIC`.
        fill: the value of what lies outside the image, a number or one for each channel; None for black;
            or a dict from type to such a value, with `"others"` for the rest.

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
    """Random operations, all of one strength; boxes and masks are refused.

    Cubuk, Zoph, Shlens and Le, [RandAugment](https://arxiv.org/abs/1909.13719), 2019.

    Args:
        num_ops: how many operations to apply, one after the other.
        magnitude: their strength, from 0 to `num_magnitude_bins - 1`.
        num_magnitude_bins: how many strengths there are.
        interpolation: how values between pixels are found: `InterpolationMode.NEAREST`, `BILINEAR` or `BICUBIC`.
        fill: the value of what lies outside the image, a number or one for each channel; None for black;
            or a dict from type to such a value, with `"others"` for the rest.

    Example:
        >>> from flambeau_vision.transforms import v2
        >>> image = torch.randint(0, 256, (3, 16, 16), dtype=torch.uint8)
        >>> v2.RandAugment(num_ops=2, magnitude=9)(image).shape
        torch.Size([3, 16, 16])
    """


class TrivialAugmentWide(_Augment, autoaugment.TrivialAugmentWide):
    """One random operation of random strength: nothing to tune; boxes and masks are refused.

    Müller and Hutter, [TrivialAugment](https://arxiv.org/abs/2103.10158), 2021.

    Args:
        num_magnitude_bins: how many strengths there are.
        interpolation: how values between pixels are found: `InterpolationMode.NEAREST`, `BILINEAR` or `BICUBIC`.
        fill: the value of what lies outside the image, a number or one for each channel; None for black;
            or a dict from type to such a value, with `"others"` for the rest.

    Example:
        >>> from flambeau_vision.transforms import v2
        >>> image = torch.randint(0, 256, (3, 16, 16), dtype=torch.uint8)
        >>> v2.TrivialAugmentWide()(image).shape
        torch.Size([3, 16, 16])
    """
