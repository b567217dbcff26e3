"""User-defined `tv_tensors` types in `transforms.v2`, and inputs other than images."""

from __future__ import annotations

import pytest

import flambeau as torch
from flambeau_vision import tv_tensors
from flambeau_vision.transforms import v2


def test_kernels_of_own_types():
    class Heights(tv_tensors.TVTensor):
        pass

    class LowHeights(Heights):
        pass

    class MoreBoxes(tv_tensors.BoundingBoxes):
        pass

    register = v2.functional.register_kernel

    @register(v2.functional.crop, Heights)
    def crop_heights(heights, top, left, height, width):
        return tv_tensors.wrap(heights[..., left : left + width], like=heights)

    image, heights = torch.arange(12).reshape(1, 2, 6), torch.arange(6).as_subclass(LowHeights)
    first, cut = v2.RandomCrop((2, 3))(heights, image)
    assert type(first) is LowHeights and first.tolist() == cut[0, 0].tolist()
    flipped, same = v2.RandomHorizontalFlip(1.0)(image, heights)  # a transform returns inputs without a kernel unchanged
    assert same is heights and flipped[0, 0].tolist() == [5, 4, 3, 2, 1, 0]
    with pytest.raises(TypeError, match="No kernel of hflip is registered for inputs of type LowHeights"):
        v2.functional.hflip(heights)

    boxes = MoreBoxes([[0, 0, 2, 2]], format="XYXY", canvas_size=(4, 10))  # subclasses use the kernels of BoundingBoxes
    flipped = v2.functional.hflip(boxes)
    assert type(flipped) is MoreBoxes and flipped.tolist() == [[8, 0, 10, 2]]

    for functional, kind, message in (
        ("crop", Heights, "already has a kernel"),
        ("fold", Heights, "Could not find functional with name 'fold'"),
        (len, Heights, "functionals from the flambeau_vision.transforms.v2.functional namespace"),
        ("crop", tv_tensors.Mask, "builtin tv_tensor classes"),
        ("crop", torch.Tensor, "subclasses of flambeau_vision.tv_tensors.TVTensor"),
    ):
        with pytest.raises(ValueError, match=message):
            register(functional, kind)


def test_transforms_of_ones_own_check_and_show_themselves():
    class Twice(v2.Transform):
        def __init__(self):
            super().__init__()
            self.factor, self.name = 2, "twice"

        def check_inputs(self, flat_inputs):
            if len(flat_inputs) < 2:
                raise TypeError("two inputs are required")

        def transform(self, inpt, params):
            return inpt * self.factor

    assert repr(Twice()) == "Twice(factor=2, name=twice)"
    assert Twice()(torch.ones(1, 1, 1), 3)[0].item() == 2
    with pytest.raises(TypeError, match="two inputs"):
        Twice()(torch.ones(1, 1, 1))


def test_crops_of_an_image_are_images():
    crops = v2.functional.ten_crop(tv_tensors.Image(torch.rand(3, 8, 8)), 4)
    assert [type(crop) for crop in crops] == 10 * [tv_tensors.Image]


def test_types_of_ones_own_say_what_they_keep():
    class Depth(tv_tensors.TVTensor):
        @classmethod
        def wrap(cls, tensor, like, unit=None):
            wrapped = super().wrap(tensor, like)
            wrapped.unit = unit or like.unit
            return wrapped

    depth = torch.ones(1, 2, 3).as_subclass(Depth)
    depth.unit = "m"
    assert depth.clone().unit == "m" and tv_tensors.wrap(depth * 100, like=depth, unit="cm").unit == "cm"


def test_boxes_are_converted_in_place():
    boxes = torch.tensor([[1.0, 2.0, 5.0, 8.0]])
    result = v2.functional.convert_bounding_box_format(boxes, "XYXY", "XYWH", inplace=True)
    assert boxes.tolist() == result.tolist() == [[1, 2, 4, 6]]


def test_arguments_that_may_be_none():
    image = torch.ones(1, 2, 2)
    for padded in (v2.functional.pad(image, [1]), v2.functional.pad(image, 1, fill=None), v2.Pad(1, fill=None)(image)):
        assert padded.shape == (1, 4, 4) and padded.sum() == 4
    assert torch.equal(v2.ColorJitter(brightness=None, hue=(0, 0))(image), image)
    assert repr(v2.ColorJitter(brightness=(1, 2))) == "ColorJitter(brightness=(1, 2), contrast=None, saturation=None, hue=None)"
    boxes = tv_tensors.BoundingBoxes([[-2, 1, 15, 4]], format="XYXY", canvas_size=(4, 10))
    assert v2.ClampBoundingBoxes(clamping_mode=None)(boxes).tolist() == [[-2, 1, 15, 4]]
