"""Image transforms of version 1 for samples: each class combines `SampleTransform` with the class of the same name in version 1.

The docstrings are generated from those of version 1 by `_docstring`, at the end of the module.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from inspect import cleandoc

from .. import transforms
from ._samples import SampleTransform, WithoutBoxes

__all__ = [
    "CenterCrop",
    "ColorJitter",
    "ElasticTransform",
    "FiveCrop",
    "GaussianBlur",
    "Grayscale",
    "LinearTransformation",
    "Normalize",
    "Pad",
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
]


class _ImagesOnly(SampleTransform):
    """Base class of transforms that change only images: they return boxes, points and masks unchanged."""

    annotation_types = ()


# These are class statements rather than calls of `type`, so that type checkers accept the names as types.
# fmt: off
class CenterCrop(SampleTransform, transforms.CenterCrop): ...
class ElasticTransform(SampleTransform, transforms.ElasticTransform): ...
class Pad(SampleTransform, transforms.Pad): ...
class RandomAffine(SampleTransform, transforms.RandomAffine): ...
class RandomCrop(SampleTransform, transforms.RandomCrop): ...
class RandomHorizontalFlip(SampleTransform, transforms.RandomHorizontalFlip): ...
class RandomPerspective(SampleTransform, transforms.RandomPerspective): ...
class RandomResizedCrop(SampleTransform, transforms.RandomResizedCrop): ...
class RandomRotation(SampleTransform, transforms.RandomRotation): ...
class RandomVerticalFlip(SampleTransform, transforms.RandomVerticalFlip): ...
class Resize(SampleTransform, transforms.Resize): ...

class GaussianBlur(_ImagesOnly, transforms.GaussianBlur): ...
class Grayscale(_ImagesOnly, transforms.Grayscale): ...
class LinearTransformation(_ImagesOnly, transforms.LinearTransformation): ...
class Normalize(_ImagesOnly, transforms.Normalize): ...
class RandomAdjustSharpness(_ImagesOnly, transforms.RandomAdjustSharpness): ...
class RandomAutocontrast(_ImagesOnly, transforms.RandomAutocontrast): ...
class RandomEqualize(_ImagesOnly, transforms.RandomEqualize): ...
class RandomErasing(_ImagesOnly, transforms.RandomErasing): ...
class RandomGrayscale(_ImagesOnly, transforms.RandomGrayscale): ...
class RandomInvert(_ImagesOnly, transforms.RandomInvert): ...
class RandomPosterize(_ImagesOnly, transforms.RandomPosterize): ...
class RandomSolarize(_ImagesOnly, transforms.RandomSolarize): ...

class FiveCrop(WithoutBoxes, transforms.FiveCrop): ...
class TenCrop(WithoutBoxes, transforms.TenCrop): ...
# fmt: on


class ColorJitter(_ImagesOnly, transforms.ColorJitter):
    def __init__(
        self,
        brightness: float | Sequence[float] | None = None,
        contrast: float | Sequence[float] | None = None,
        saturation: float | Sequence[float] | None = None,
        hue: float | Sequence[float] | None = None,
    ) -> None:
        super().__init__(*(0 if value is None else value for value in (brightness, contrast, saturation, hue)))


_SAMPLE_EXAMPLES = {  # name: (arguments, printed expressions, output) of the example with an image and a box
    "CenterCrop": ("(4, 8)", "image.shape, boxes.tolist()", "(torch.Size([3, 4, 8]), [[1, 1, 4, 4]])"),
    "Pad": ("[3, 0, 0, 0]", "image.shape, boxes.tolist()", "(torch.Size([3, 4, 13]), [[5, 1, 8, 4]])"),
    "RandomAffine": ("10, translate=(0.1, 0.1)", "image.shape, boxes.canvas_size", "(torch.Size([3, 4, 10]), (4, 10))"),
    "RandomCrop": ("(4, 6)", "image.shape, boxes.canvas_size", "(torch.Size([3, 4, 6]), (4, 6))"),
    "RandomHorizontalFlip": ("p=1.0", "boxes.tolist()", "[[5, 1, 8, 4]]"),
    "RandomResizedCrop": ("16", "image.shape, boxes.canvas_size", "(torch.Size([3, 16, 16]), (16, 16))"),
    "RandomRotation": ("(90, 90), expand=True", "image.shape, boxes.tolist()", "(torch.Size([3, 10, 4]), [[1, 5, 4, 8]])"),
    "RandomVerticalFlip": ("p=1.0", "boxes.tolist()", "[[2, 0, 5, 3]]"),
    "Resize": ("(8, 20)", "image.shape, boxes.tolist()", "(torch.Size([3, 8, 20]), [[4, 2, 10, 8]])"),
}

_SAMPLE_EXAMPLE = """
    >>> from flambeau_vision import tv_tensors
    >>> from flambeau_vision.transforms import v2
    >>> image = torch.rand(3, 4, 10)
    >>> boxes = tv_tensors.BoundingBoxes([[2, 1, 5, 4]], format="XYXY", canvas_size=(4, 10))
    >>> image, boxes = v2.{name}({arguments})(image, boxes)
    >>> {printed}
    {output}
"""

_DIFFERENCES = {  # name: (text of version 1, text of version 2)
    "ColorJitter": ("0 for no\n        change", "0 or\n        None for no change"),
    "RandomEqualize": ("; for PIL images and uint8 tensors", ""),
    "RandomErasing": ("a tensor of shape `(..., C, H, W)`", "images"),
    "RandomPosterize": ("; for PIL images and uint8 tensors", ""),
}


def _sample_behaviour(cls: type) -> str:
    if issubclass(cls, WithoutBoxes):
        return "Samples with boxes, points or masks raise a `TypeError`."
    if issubclass(cls, _ImagesOnly):
        return "Boxes, points and masks of a sample are returned unchanged."
    return "Images, boxes, points and masks of a sample are transformed with the same parameters."


def _docstring(cls: type, v1_docstring: str) -> str:
    """Adapt a docstring of version 1: describe what happens to samples, and replace the example."""
    doc = cleandoc(v1_docstring).replace(*_DIFFERENCES.get(cls.__name__, ("", "")))
    by_type = r'\1;\n        or a dict from type to such a value; the key `"others"` is for missing types.\n'
    doc = re.sub(r"(    fill: [^.]*)\.\n", by_type, doc)
    summary, rest = doc.split("\n\n", 1)
    sections, example = rest.split("Example:", 1)
    if cls.__name__ in _SAMPLE_EXAMPLES:
        arguments, printed, output = _SAMPLE_EXAMPLES[cls.__name__]
        example = _SAMPLE_EXAMPLE.format(name=cls.__name__, arguments=arguments, printed=printed, output=output)
    else:
        example = example.replace("flambeau_vision import transforms", "flambeau_vision.transforms import v2")
        example = re.sub(r"\btransforms\.(?=[A-Z])", "v2.", example)
    return f"{summary}\n\n{_sample_behaviour(cls)}\n\n{sections}Example:{example}"


for _name in __all__:
    _class = globals()[_name]
    if _v1_docstring := getattr(transforms, _name).__doc__:  # None under `python -OO`
        _class.__doc__ = _docstring(_class, _v1_docstring)
