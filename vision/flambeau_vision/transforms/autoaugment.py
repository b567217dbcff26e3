"""AutoAugment, RandAugment, TrivialAugment and AugMix: apply learned or random sequences of operations to images."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum
from typing import Any

import flambeau as torch

from . import functional as F
from ._base import Transform, channel_fill
from ._geometry import InterpolationMode

__all__ = ["AugMix", "AutoAugment", "AutoAugmentPolicy", "RandAugment", "TrivialAugmentWide"]

# For the name of each operation: the magnitudes to choose from, and whether the sign of the magnitude is random.
Space = dict[str, tuple[torch.Tensor, bool]]

_NEAREST = InterpolationMode.NEAREST


class AutoAugmentPolicy(Enum):
    """Policies of `AutoAugment`, named after the data sets that they were learned on.

    Example:
        >>> from flambeau_vision.transforms import AutoAugmentPolicy
        >>> [policy.value for policy in AutoAugmentPolicy]
        ['imagenet', 'cifar10', 'svhn']
    """

    IMAGENET = "imagenet"
    CIFAR10 = "cifar10"
    SVHN = "svhn"


# Each line is a sub-policy: two operations, each with a probability and the index of a magnitude ("-" for no magnitude).
_POLICIES = {
    AutoAugmentPolicy.IMAGENET: """
        Posterize 0.4 8, Rotate 0.6 9
        Solarize 0.6 5, AutoContrast 0.6 -
        Equalize 0.8 -, Equalize 0.6 -
        Posterize 0.6 7, Posterize 0.6 6
        Equalize 0.4 -, Solarize 0.2 4
        Equalize 0.4 -, Rotate 0.8 8
        Solarize 0.6 3, Equalize 0.6 -
        Posterize 0.8 5, Equalize 1.0 -
        Rotate 0.2 3, Solarize 0.6 8
        Equalize 0.6 -, Posterize 0.4 6
        Rotate 0.8 8, Color 0.4 0
        Rotate 0.4 9, Equalize 0.6 -
        Equalize 0.0 -, Equalize 0.8 -
        Invert 0.6 -, Equalize 1.0 -
        Color 0.6 4, Contrast 1.0 8
        Rotate 0.8 8, Color 1.0 2
        Color 0.8 8, Solarize 0.8 7
        Sharpness 0.4 7, Invert 0.6 -
        ShearX 0.6 5, Equalize 1.0 -
        Color 0.4 0, Equalize 0.6 -
        Equalize 0.4 -, Solarize 0.2 4
        Solarize 0.6 5, AutoContrast 0.6 -
        Invert 0.6 -, Equalize 1.0 -
        Color 0.6 4, Contrast 1.0 8
        Equalize 0.8 -, Equalize 0.6 -""",
    AutoAugmentPolicy.CIFAR10: """
        Invert 0.1 -, Contrast 0.2 6
        Rotate 0.7 2, TranslateX 0.3 9
        Sharpness 0.8 1, Sharpness 0.9 3
        ShearY 0.5 8, TranslateY 0.7 9
        AutoContrast 0.5 -, Equalize 0.9 -
        ShearY 0.2 7, Posterize 0.3 7
        Color 0.4 3, Brightness 0.6 7
        Sharpness 0.3 9, Brightness 0.7 9
        Equalize 0.6 -, Equalize 0.5 -
        Contrast 0.6 7, Sharpness 0.6 5
        Color 0.7 7, TranslateX 0.5 8
        Equalize 0.3 -, AutoContrast 0.4 -
        TranslateY 0.4 3, Sharpness 0.2 6
        Brightness 0.9 6, Color 0.2 8
        Solarize 0.5 2, Invert 0.0 -
        Equalize 0.2 -, AutoContrast 0.6 -
        Equalize 0.2 -, Equalize 0.6 -
        Color 0.9 9, Equalize 0.6 -
        AutoContrast 0.8 -, Solarize 0.2 8
        Brightness 0.1 3, Color 0.7 0
        Solarize 0.4 5, AutoContrast 0.9 -
        TranslateY 0.9 9, TranslateY 0.7 9
        AutoContrast 0.9 -, Solarize 0.8 3
        Equalize 0.8 -, Invert 0.1 -
        TranslateY 0.7 9, AutoContrast 0.9 -""",
    AutoAugmentPolicy.SVHN: """
        ShearX 0.9 4, Invert 0.2 -
        ShearY 0.9 8, Invert 0.7 -
        Equalize 0.6 -, Solarize 0.6 6
        Invert 0.9 -, Equalize 0.6 -
        Equalize 0.6 -, Rotate 0.9 3
        ShearX 0.9 4, AutoContrast 0.8 -
        ShearY 0.9 8, Invert 0.4 -
        ShearY 0.9 5, Solarize 0.2 6
        Invert 0.9 -, AutoContrast 0.8 -
        Equalize 0.6 -, Rotate 0.9 3
        ShearX 0.9 4, Solarize 0.3 3
        ShearY 0.8 8, Invert 0.7 -
        Equalize 0.9 -, TranslateY 0.6 6
        Invert 0.9 -, Equalize 0.6 -
        Contrast 0.3 3, Rotate 0.8 4
        Invert 0.8 -, TranslateY 0.0 2
        ShearY 0.7 6, Solarize 0.4 8
        Invert 0.6 -, Rotate 0.8 4
        ShearY 0.3 7, TranslateX 0.9 3
        ShearX 0.1 6, Invert 0.6 -
        Solarize 0.7 2, TranslateY 0.6 7
        ShearY 0.8 4, Invert 0.8 -
        ShearX 0.7 9, TranslateY 0.8 3
        ShearY 0.8 5, AutoContrast 0.7 -
        ShearX 0.7 2, Invert 0.1 -""",
}


def _parse_operation(text: str) -> tuple[str, float, int | None]:
    name, probability, strength = text.split()
    return name, float(probability), None if strength == "-" else int(strength)


def _parse_policies(policy: AutoAugmentPolicy) -> list[list[tuple[str, float, int | None]]]:
    if policy not in _POLICIES:
        raise ValueError(f"The provided policy {policy} is not recognized.")
    return [[_parse_operation(operation) for operation in line.split(",")] for line in _POLICIES[policy].split("\n")[1:]]


def apply_operation(
    img: Any, name: str, magnitude: float, interpolation: InterpolationMode, fill: Any, functions: Any = F
) -> Any:
    """Apply the operation `name` to an image; `functions` is the module that computes it. Some operations ignore `magnitude`."""

    def affine(translate: Sequence[int] = (0, 0), shear: Sequence[float] = (0.0, 0.0), center: Any = None) -> Any:
        return functions.affine(img, 0.0, translate, 1.0, shear, interpolation, fill, center)

    match name:
        case "Identity":
            return img
        case "ShearX":
            return affine(shear=(math.degrees(math.atan(magnitude)), 0.0), center=(0, 0))
        case "ShearY":
            return affine(shear=(0.0, math.degrees(math.atan(magnitude))), center=(0, 0))
        case "TranslateX":
            return affine(translate=(int(magnitude), 0))
        case "TranslateY":
            return affine(translate=(0, int(magnitude)))
        case "Rotate":
            return functions.rotate(img, magnitude, interpolation, fill=fill)
        case "Brightness":
            return functions.adjust_brightness(img, 1.0 + magnitude)
        case "Color":
            return functions.adjust_saturation(img, 1.0 + magnitude)
        case "Contrast":
            return functions.adjust_contrast(img, 1.0 + magnitude)
        case "Sharpness":
            return functions.adjust_sharpness(img, 1.0 + magnitude)
        case "Posterize":
            return functions.posterize(img, int(magnitude))
        case "Solarize":
            return functions.solarize(img, magnitude)
        case "AutoContrast":
            return functions.autocontrast(img)
        case "Equalize":
            return functions.equalize(img)
        case "Invert":
            return functions.invert(img)
    raise ValueError(f"The provided operator {name} is not recognized.")


def _linear_magnitudes(largest: float, bins: int) -> tuple[torch.Tensor, bool]:
    return torch.linspace(0.0, largest, bins), True


def _shears(largest: float, bins: int) -> Space:
    return {"ShearX": _linear_magnitudes(largest, bins), "ShearY": _linear_magnitudes(largest, bins)}


def _translations(largest_x: float, largest_y: float, bins: int) -> Space:
    return {"TranslateX": _linear_magnitudes(largest_x, bins), "TranslateY": _linear_magnitudes(largest_y, bins)}


def _colours(largest: float, bins: int) -> Space:
    return {name: _linear_magnitudes(largest, bins) for name in ("Brightness", "Color", "Contrast", "Sharpness")}


def _posterize(most_bits: int, dropped_bits: int, bins: int) -> tuple[torch.Tensor, bool]:
    return most_bits - (torch.arange(bins) / ((bins - 1) / dropped_bits)).round().int(), False


def _solarize(bins: int, white: float) -> tuple[torch.Tensor, bool]:
    return torch.linspace(white, 0.0, bins), False


def _without_magnitude(*names: str) -> Space:
    return {name: (torch.tensor(0.0), False) for name in names}


def _augmentation_space(bins: int, size: Sequence[int], white: float) -> Space:
    """Return the operations that AutoAugment and RandAugment share, each with `bins` magnitudes.

    `size` is `(height, width)` of the image, and `white` the pixel value of white.
    """
    return {
        **_shears(0.3, bins),
        **_translations(150.0 / 331.0 * size[1], 150.0 / 331.0 * size[0], bins),
        "Rotate": _linear_magnitudes(30.0, bins),
        **_colours(0.9, bins),
        "Posterize": _posterize(8, 4, bins),
        "Solarize": _solarize(bins, white),
        **_without_magnitude("AutoContrast", "Equalize"),
    }


def policy_space(size: Sequence[int], white: float) -> Space:
    """Return the operations of `AutoAugment` with their magnitudes, for an image of `size` `(height, width)`.

    `white` is the pixel value of white.
    """
    return {**_augmentation_space(10, size, white), **_without_magnitude("Invert")}


class _Augment(Transform):
    """Base class of AutoAugment and similar transforms: draw operations with magnitudes, and apply them."""

    #: The pixel value of white for which thresholds of the operation "Solarize" are drawn.
    white = 255.0

    def __init__(self, interpolation: InterpolationMode, fill: float | Sequence[float] | None) -> None:
        super().__init__()
        self.interpolation = interpolation
        self.fill = fill

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        _, height, width = F.get_dimensions(flat_inputs[0])
        return {"operations": self.draw((height, width))}

    def draw(self, size: tuple[int, int]) -> list[tuple[str, float]]:
        """Draw the names of operations and their magnitudes; `size` is `(height, width)` of the image."""
        raise NotImplementedError(f"{type(self).__name__} has to define draw()")

    def white_value(self, inpt: Any) -> float:
        """Return the pixel value of white in an image: 255, since version 1 supports only 8-bit images here."""
        return 255.0

    def draw_sign(self, signed: bool) -> int:
        """Return 1 or -1 at random if `signed` is True, otherwise 1."""
        return -1 if signed and torch.randint(2, (1,)).item() else 1

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        fill = channel_fill(inpt, self.fill)
        for name, magnitude in params["operations"]:
            if name == "Solarize":
                magnitude *= self.white_value(inpt) / self.white
            inpt = apply_operation(inpt, name, magnitude, self.interpolation, fill, self.functions)
        return inpt


class AutoAugment(_Augment):
    """Apply one of 25 learned pairs of operations, chosen at random, to a PIL image or uint8 tensor.

    Cubuk, Zoph, Mané, Vasudevan and Le, [AutoAugment: Learning Augmentation Policies from
    Data](https://arxiv.org/abs/1805.09501), 2018.

    Args:
        policy: the policy, named after the data set that the pairs were learned on.
        interpolation: `InterpolationMode.NEAREST`, `BILINEAR` or `BICUBIC`.
        fill: value of the pixels outside the image, a number or one per channel; None for black.

    Example:
        >>> from flambeau_vision import transforms
        >>> image = torch.randint(0, 256, (3, 16, 16), dtype=torch.uint8)
        >>> transforms.AutoAugment(transforms.AutoAugmentPolicy.CIFAR10)(image).shape
        torch.Size([3, 16, 16])
    """

    def __init__(
        self,
        policy: AutoAugmentPolicy = AutoAugmentPolicy.IMAGENET,
        interpolation: InterpolationMode = _NEAREST,
        fill: float | Sequence[float] | None = None,
    ) -> None:
        super().__init__(interpolation, fill)
        self.policy = policy
        self.policies = _parse_policies(policy)

    @staticmethod
    def get_params(transform_num: int) -> tuple[int, torch.Tensor, torch.Tensor]:
        """Draw the index of a pair, and for each operation of the pair a random number in `[0, 1)` and a sign, 0 or 1."""
        policy = int(torch.randint(transform_num, (1,)).item())
        return policy, torch.rand((2,)), torch.randint(2, (2,))

    def draw(self, size: tuple[int, int]) -> list[tuple[str, float]]:
        policy, chances, signs = self.get_params(len(self.policies))
        space = policy_space(size, self.white)
        operations = []
        for (name, probability, index), chance, sign in zip(self.policies[policy], chances.tolist(), signs.tolist(), strict=True):
            if chance <= probability:
                magnitudes, signed = space[name]
                magnitude = 0.0 if index is None else magnitudes[index].item()
                operations.append((name, -magnitude if signed and sign == 0 else magnitude))
        return operations

    def extra_repr(self) -> str:
        return f"policy={self.policy}, fill={self.fill}"


class RandAugment(_Augment):
    """Apply random operations, all of the same magnitude, to a PIL image or uint8 tensor.

    Cubuk, Zoph, Shlens and Le, [RandAugment: Practical automated data augmentation with a reduced search
    space](https://arxiv.org/abs/1909.13719), 2019.

    Args:
        num_ops: number of operations to apply in sequence.
        magnitude: magnitude of the operations, from 0 to `num_magnitude_bins - 1`.
        num_magnitude_bins: number of possible magnitudes.
        interpolation: `InterpolationMode.NEAREST`, `BILINEAR` or `BICUBIC`.
        fill: value of the pixels outside the image, a number or one per channel; None for black.

    Example:
        >>> from flambeau_vision import transforms
        >>> image = torch.randint(0, 256, (3, 16, 16), dtype=torch.uint8)
        >>> transforms.RandAugment(num_ops=2, magnitude=9)(image).shape
        torch.Size([3, 16, 16])
    """

    def __init__(
        self,
        num_ops: int = 2,
        magnitude: int = 9,
        num_magnitude_bins: int = 31,
        interpolation: InterpolationMode = _NEAREST,
        fill: float | Sequence[float] | None = None,
    ) -> None:
        super().__init__(interpolation, fill)
        self.num_ops = num_ops
        self.magnitude = magnitude
        self.num_magnitude_bins = num_magnitude_bins

    def draw(self, size: tuple[int, int]) -> list[tuple[str, float]]:
        space = {**_without_magnitude("Identity"), **_augmentation_space(self.num_magnitude_bins, size, self.white)}
        operations = []
        for _ in range(self.num_ops):
            name, (magnitudes, signed) = list(space.items())[int(torch.randint(len(space), (1,)).item())]
            magnitude = magnitudes[self.magnitude].item() if magnitudes.ndim > 0 else 0.0
            operations.append((name, magnitude * self.draw_sign(signed)))
        return operations

    def extra_repr(self) -> str:
        names = ("num_ops", "magnitude", "num_magnitude_bins", "interpolation", "fill")
        return ", ".join(f"{name}={getattr(self, name)}" for name in names)


class TrivialAugmentWide(_Augment):
    """Apply one random operation of random magnitude to a PIL image or uint8 tensor.

    Müller and Hutter, [TrivialAugment: Tuning-free Yet State-of-the-Art Data
    Augmentation](https://arxiv.org/abs/2103.10158), 2021.

    Args:
        num_magnitude_bins: number of possible magnitudes.
        interpolation: `InterpolationMode.NEAREST`, `BILINEAR` or `BICUBIC`.
        fill: value of the pixels outside the image, a number or one per channel; None for black.

    Example:
        >>> from flambeau_vision import transforms
        >>> image = torch.randint(0, 256, (3, 16, 16), dtype=torch.uint8)
        >>> transforms.TrivialAugmentWide()(image).shape
        torch.Size([3, 16, 16])
    """

    def __init__(
        self,
        num_magnitude_bins: int = 31,
        interpolation: InterpolationMode = _NEAREST,
        fill: float | Sequence[float] | None = None,
    ) -> None:
        super().__init__(interpolation, fill)
        self.num_magnitude_bins = num_magnitude_bins

    def draw(self, size: tuple[int, int]) -> list[tuple[str, float]]:
        bins = self.num_magnitude_bins
        space = {
            **_without_magnitude("Identity"),
            **_shears(0.99, bins),
            **_translations(32.0, 32.0, bins),
            "Rotate": _linear_magnitudes(135.0, bins),
            **_colours(0.99, bins),
            "Posterize": _posterize(8, 6, bins),
            "Solarize": _solarize(bins, self.white),
            **_without_magnitude("AutoContrast", "Equalize"),
        }
        name, (magnitudes, signed) = list(space.items())[int(torch.randint(len(space), (1,)).item())]
        magnitude = magnitudes[torch.randint(len(magnitudes), (1,))].item() if magnitudes.ndim > 0 else 0.0
        return [(name, magnitude * self.draw_sign(signed))]

    def extra_repr(self) -> str:
        names = ("num_magnitude_bins", "interpolation", "fill")
        return ", ".join(f"{name}={getattr(self, name)}" for name in names)


class AugMix(_Augment):
    """Mix the image with the results of several random chains of operations; for PIL images and uint8 tensors.

    Hendrycks et al., [AugMix: A Simple Data Processing Method to Improve Robustness and
    Uncertainty](https://arxiv.org/abs/1912.02781), 2019.

    Args:
        severity: the largest magnitude of the operations, from 1 to 10.
        mixture_width: number of chains.
        chain_depth: number of operations in a chain; if not positive, it is drawn from 1 to 3.
        alpha: positive parameter of the Dirichlet distributions that the mixing weights are drawn from; large values give nearly
            equal weights.
        all_ops: whether to use also the operations that change brightness, colour, contrast and sharpness.
        interpolation: `InterpolationMode.NEAREST`, `BILINEAR` or `BICUBIC`.
        fill: value of the pixels outside the image, a number or one per channel; None for black.

    Raises:
        ValueError: `severity` is out of range.

    Example:
        >>> from flambeau_vision import transforms
        >>> image = torch.randint(0, 256, (3, 16, 16), dtype=torch.uint8)
        >>> transforms.AugMix(severity=3)(image).shape
        torch.Size([3, 16, 16])
    """

    def __init__(
        self,
        severity: int = 3,
        mixture_width: int = 3,
        chain_depth: int = -1,
        alpha: float = 1.0,
        all_ops: bool = True,
        interpolation: InterpolationMode = InterpolationMode.BILINEAR,
        fill: float | Sequence[float] | None = None,
    ) -> None:
        super().__init__(interpolation, fill)
        if not 1 <= severity <= 10:
            raise ValueError(f"The severity must be between [1, 10]. Got {severity} instead.")
        self.severity = severity
        self.mixture_width = mixture_width
        self.chain_depth = chain_depth
        self.alpha = alpha
        self.all_ops = all_ops

    def _space(self, size: tuple[int, int]) -> Space:
        bins = 10
        return {
            **_shears(0.3, bins),
            **_translations(size[1] / 3.0, size[0] / 3.0, bins),
            "Rotate": _linear_magnitudes(30.0, bins),
            "Posterize": _posterize(4, 4, bins),
            "Solarize": _solarize(bins, self.white),
            **_without_magnitude("AutoContrast", "Equalize"),
            **(_colours(0.9, bins) if self.all_ops else {}),
        }

    def draw(self, size: tuple[int, int]) -> list[tuple[str, float]]:
        space = self._space(size)
        depth = self.chain_depth if self.chain_depth > 0 else int(torch.randint(low=1, high=4, size=(1,)).item())
        operations = []
        for _ in range(depth):
            name, (magnitudes, signed) = list(space.items())[int(torch.randint(len(space), (1,)).item())]
            magnitude = magnitudes[torch.randint(self.severity, (1,))].item() if magnitudes.ndim > 0 else 0.0
            operations.append((name, magnitude * self.draw_sign(signed)))
        return operations

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        _, height, width = F.get_dimensions(flat_inputs[0])
        count = self.count_samples(flat_inputs[0])
        keep, mix = self._draw_weights(count, 2).unbind(1)
        weights = self._draw_weights(count, self.mixture_width) * mix[:, None]
        chains = [self.draw((height, width)) for _ in range(self.mixture_width)]
        return {"keep": keep, "weights": list(weights.unbind(1)), "chains": chains}

    def count_samples(self, inpt: Any) -> int:
        """Return the number of images in a batch; each image gets separate mixing weights."""
        return inpt.shape[0] if isinstance(inpt, torch.Tensor) and inpt.ndim > 3 else 1

    def _draw_weights(self, count: int, parts: int) -> torch.Tensor:
        """Draw positive weights of shape `(count, parts)`; each row sums to 1."""
        return torch.distributions.Dirichlet(torch.full((count, parts), float(self.alpha))).sample()

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        img = inpt if isinstance(inpt, torch.Tensor) else F.pil_to_tensor(inpt)

        def of_each_sample(weights: torch.Tensor) -> torch.Tensor:
            return weights.to(img.device).reshape(-1, *[1] * (img.ndim - 1)) if len(weights) > 1 else weights.item()

        mixture = of_each_sample(params["keep"]) * img
        for weight, chain in zip(params["weights"], params["chains"], strict=True):
            mixture = mixture + of_each_sample(weight) * super().transform(img, {"operations": chain})
        mixture = mixture.to(img.dtype)
        return mixture if isinstance(inpt, torch.Tensor) else F.to_pil_image(mixture, mode=inpt.mode)

    def extra_repr(self) -> str:
        names = ("severity", "mixture_width", "chain_depth", "alpha", "all_ops", "interpolation", "fill")
        return ", ".join(f"{name}={getattr(self, name)}" for name in names)
