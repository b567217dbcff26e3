"""The transforms of images, each for whole samples."""

from __future__ import annotations

from typing import Any

from .. import autoaugment, transforms
from ._samples import SampleTransform

__all__ = [
    "AugMix",
    "AutoAugment",
    "CenterCrop",
    "ColorJitter",
    "ElasticTransform",
    "FiveCrop",
    "GaussianBlur",
    "Grayscale",
    "LinearTransformation",
    "Normalize",
    "Pad",
    "RandAugment",
    "RandomAdjustSharpness",
    "RandomAffine",
    "RandomAutocontrast",
    "RandomCrop",
    "RandomEqualize",
    "RandomErasing",
    "RandomGrayscale",
    "RandomHorizontalFlip",
    "RandomInvert",
    "RandomPerspective",
    "RandomPosterize",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomSolarize",
    "RandomVerticalFlip",
    "Resize",
    "TenCrop",
    "TrivialAugmentWide",
]


class _ImagesOnly(SampleTransform):
    """Boxes and masks are passed through."""

    kinds = ()


class _NoBoxes(SampleTransform):
    """What cannot be said of boxes and masks is refused where there are any."""

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        if isinstance(inpt, self.kinds):
            raise TypeError(
                f"Inputs of type {type(inpt).__name__} are not supported by {type(self).__name__}()"
            )
        return super().transform(inpt, params)


class CenterCrop(SampleTransform, transforms.CenterCrop):
    """Cut out the middle."""


class ElasticTransform(SampleTransform, transforms.ElasticTransform):
    """Move every pixel a little, neighbours together."""


class Pad(SampleTransform, transforms.Pad):
    """Add a border."""


class RandomAffine(SampleTransform, transforms.RandomAffine):
    """Turn, shift, scale and shear at random."""


class RandomCrop(SampleTransform, transforms.RandomCrop):
    """Cut out a random place."""


class RandomHorizontalFlip(SampleTransform, transforms.RandomHorizontalFlip):
    """Swap left and right with probability `p`."""


class RandomPerspective(SampleTransform, transforms.RandomPerspective):
    """Tilt at random, with probability `p`."""


class RandomResizedCrop(SampleTransform, transforms.RandomResizedCrop):
    """Cut out a rectangle of random size and shape, and scale it to `size`."""


class RandomRotation(SampleTransform, transforms.RandomRotation):
    """Turn by a random angle."""


class RandomVerticalFlip(SampleTransform, transforms.RandomVerticalFlip):
    """Swap top and bottom with probability `p`."""


class Resize(SampleTransform, transforms.Resize):
    """Scale to `size`."""


class ColorJitter(_ImagesOnly, transforms.ColorJitter):
    """Change brightness, contrast, saturation and hue at random, in random order."""


class GaussianBlur(_ImagesOnly, transforms.GaussianBlur):
    """Blur by a Gaussian of random strength."""


class Grayscale(_ImagesOnly, transforms.Grayscale):
    """Grey, in 1 channel or in 3 equal ones."""


class LinearTransformation(_ImagesOnly, transforms.LinearTransformation):
    """Multiply the flattened image by a matrix."""


class Normalize(_ImagesOnly, transforms.Normalize):
    """`(image - mean) / std`, channel by channel."""


class RandomAdjustSharpness(_ImagesOnly, transforms.RandomAdjustSharpness):
    """Blur or sharpen, with probability `p`."""


class RandomAutocontrast(_ImagesOnly, transforms.RandomAutocontrast):
    """Stretch the contrast with probability `p`."""


class RandomEqualize(_ImagesOnly, transforms.RandomEqualize):
    """Equalize the histogram with probability `p`."""


class RandomErasing(_ImagesOnly, transforms.RandomErasing):
    """Overwrite a random rectangle, with probability `p`."""


class RandomGrayscale(_ImagesOnly, transforms.RandomGrayscale):
    """Grey with probability `p`, in as many channels as there were."""


class RandomInvert(_ImagesOnly, transforms.RandomInvert):
    """Invert the colours with probability `p`."""


class RandomPosterize(_ImagesOnly, transforms.RandomPosterize):
    """Keep `bits` bits of each value, with probability `p`."""


class RandomSolarize(_ImagesOnly, transforms.RandomSolarize):
    """Invert the values from `threshold` on, with probability `p`."""


class FiveCrop(_NoBoxes, transforms.FiveCrop):
    """The four corners and the middle, as a tuple of five images."""


class TenCrop(_NoBoxes, transforms.TenCrop):
    """The five crops of the image and of its mirror image."""


class AugMix(_NoBoxes, autoaugment.AugMix):
    """A random mixture of the image with several chains of operations."""


class AutoAugment(_NoBoxes, autoaugment.AutoAugment):
    """One of 25 learned pairs of operations."""


class RandAugment(_NoBoxes, autoaugment.RandAugment):
    """Random operations, all of one strength."""


class TrivialAugmentWide(_NoBoxes, autoaugment.TrivialAugmentWide):
    """One random operation of random strength."""
