"""Rotated boxes, and functions for one input type such as `horizontal_flip_image`: same values as torchvision."""

from __future__ import annotations

import numpy as np
import pytest

tv = pytest.importorskip("torchvision")
import torch as pytorch  # noqa: E402
from torchvision.transforms.v2 import functional as theirs  # noqa: E402

import flambeau as torch  # noqa: E402
from flambeau_vision import tv_tensors  # noqa: E402
from flambeau_vision.transforms.v2 import functional as ours  # noqa: E402

SIZE = (30, 40)
RNG = np.random.default_rng(0)
DISPLACEMENT = RNG.uniform(-0.1, 0.1, (1, *SIZE, 2)).astype("f4")
CORNERS = [[0, 0], [39, 0], [39, 29], [0, 29]], [[2, 1], [37, 2], [36, 28], [1, 27]]
# Geometric transforms and their arguments. Not `expand`, for which torchvision's boxes have another size than the image.
MOVES = {
    "horizontal_flip": {},
    "vertical_flip": {},
    "crop": {"top": 3, "left": 5, "height": 20, "width": 25},
    "center_crop": {"output_size": [20, 20]},
    "pad": {"padding": [2, 3, 4, 5]},
    "resize": {"size": [20, 60]},
    "resized_crop": {"top": 3, "left": 4, "height": 20, "width": 22, "size": [40, 40]},
    "affine": {"angle": 20.0, "translate": [2, 3], "scale": 1.2, "shear": [5.0, 3.0]},
    "rotate": {"angle": 33.0},
    "perspective": {"startpoints": CORNERS[0], "endpoints": CORNERS[1]},
    "elastic": {"displacement": DISPLACEMENT},
}


def rotated(form: str) -> np.ndarray:
    """Return random rotated boxes inside, across and outside of the canvas, some with multiples of 45 degrees."""
    rng = np.random.default_rng(1)
    low, high = [-5, -5, 2, 2, -180], [45, 35, 20, 15, 180]
    boxes = rng.uniform(low, high, (40, 5)).astype("f4")
    boxes[:6, 4] = [0, 90, 180, -90, 45, 30]
    return tv.ops.box_convert(pytorch.tensor(boxes), "cxcywhr", form.lower()).numpy()


def given(options: dict, lib) -> dict:
    arguments = {key: lib.tensor(value) if isinstance(value, np.ndarray) else value for key, value in options.items()}
    if isinstance(arguments.get("format"), str) and lib is pytorch:  # torchvision accepts only enum members
        arguments["format"] = tv.tv_tensors.BoundingBoxFormat[arguments["format"]]
    return arguments


def assert_same_boxes(our, their, form):
    our, their = (np.asarray(boxes.tolist()) for boxes in (our, their))
    if form in ("XYWHR", "CXCYWHR"):  # angles are equal modulo 360 degrees
        our[:, 4] = their[:, 4] + (our[:, 4] - their[:, 4] + 180) % 360 - 180
    np.testing.assert_allclose(our, their, atol=5e-3, rtol=1e-3)


@pytest.mark.parametrize("mode", ["soft", "hard", None])
@pytest.mark.parametrize("form", ["CXCYWHR", "XYWHR", "XYXYXYXY"])
@pytest.mark.parametrize("name", [*MOVES, "clamp_bounding_boxes"])
def test_rotated_boxes(name, form, mode):
    boxes, options = rotated(form), MOVES.get(name, {})
    about = {"format": form, "canvas_size": SIZE, "clamping_mode": mode}
    our = getattr(ours, name)(tv_tensors.BoundingBoxes(torch.tensor(boxes), **about), **given(options, torch))
    their = getattr(theirs, name)(tv.tv_tensors.BoundingBoxes(pytorch.tensor(boxes), **about), **given(options, pytorch))
    assert our.canvas_size == their.canvas_size and our.format.name == form and our.clamping_mode == mode
    assert_same_boxes(our, their, form)


@pytest.mark.parametrize("form", ["CXCYWHR", "XYXYXYXY"])
def test_formats_of_rotated_boxes(form):
    boxes = rotated(form)
    for other in ("XYWHR", "CXCYWHR", "XYXYXYXY"):
        our, their = (
            lib.convert_bounding_box_format(part.tensor(boxes), form, other) for lib, part in ((ours, torch), (theirs, pytorch))
        )
        assert_same_boxes(our, their, other)


PICTURES = {
    "adjust_brightness": (1.3,),
    "adjust_contrast": (0.7,),
    "adjust_gamma": (1.5,),
    "adjust_hue": (0.2,),
    "adjust_saturation": (1.4,),
    "adjust_sharpness": (1.8,),
    "autocontrast": (),
    "equalize": (),
    "gaussian_blur": ([3, 5],),
    "invert": (),
    "posterize": (3,),
    "solarize": (100,),
    "permute_channels": ([2, 0, 1],),
}


def assert_agree(name: str, kind: str, data: np.ndarray, *args, **options) -> None:
    function = f"{name}_{kind}"
    our = getattr(ours, function)(torch.tensor(data), *args, **given(options, torch))
    their = getattr(theirs, function)(pytorch.tensor(data), *args, **given(options, pytorch))
    (our, our_size), (their, their_size) = (part if isinstance(part, tuple) else (part, None) for part in (our, their))
    assert type(our) is torch.Tensor and our_size == (None if their_size is None else tuple(their_size))
    assert str(our.dtype) == str(their.dtype)
    np.testing.assert_allclose(our.numpy(), their.numpy(), atol=1 if our.dtype == torch.uint8 else 2e-4, rtol=1e-4)


@pytest.mark.parametrize("name", [*MOVES, *PICTURES])
@pytest.mark.parametrize("kind", ["image", "video"])
def test_images(name, kind):
    shape = (2, 3, *SIZE) if kind == "video" else (3, *SIZE)
    data = RNG.integers(0, 256, shape).astype("u1")
    assert_agree(name, kind, data, *PICTURES.get(name, ()), **MOVES.get(name, {}))


@pytest.mark.parametrize("name", MOVES)
def test_masks_boxes_and_points(name):
    options = MOVES[name]
    assert_agree(name, "mask", RNG.integers(0, 9, (2, *SIZE)).astype("u1"), **options)
    canvas = {} if name in ("crop", "resized_crop") else {"canvas_size": SIZE}
    assert_agree(name, "keypoints", RNG.uniform(0, 29, (5, 2)).astype("f4"), **canvas, **options)
    boxes = np.concatenate([RNG.uniform(0, 15, (6, 2)), RNG.uniform(16, 29, (6, 2))], 1).astype("f4")
    for form, upright in (("XYXY", boxes), ("XYWH", boxes - boxes[:, [0, 1, 0, 1]] * [0, 0, 1, 1])):
        modes = ({},) if name.endswith("flip") else ({"clamping_mode": "soft"}, {"clamping_mode": None})
        for mode in modes:
            assert_agree(name, "bounding_boxes", upright.astype("f4"), format=form, **canvas, **options, **mode)


@pytest.mark.parametrize("size", [(31, 40), (30, 30), (64, 48)])
@pytest.mark.parametrize("angle", [0, 90, -90, 180, 450.0])
@pytest.mark.parametrize("expand", [False, True])
def test_quarter_turns(size, angle, expand):
    data = RNG.integers(0, 256, (3, *size)).astype("u1")
    our = ours.rotate(torch.tensor(data), angle, expand=expand)
    np.testing.assert_array_equal(our.numpy(), theirs.rotate(pytorch.tensor(data), angle, expand=expand).numpy())


def test_names_are_there():
    missing = [name for name in dir(theirs) if not name.startswith("_") and not hasattr(ours, name)]
    assert missing == []


def test_queries():
    from torchvision.transforms import v2 as their_v2

    from flambeau_vision.transforms import v2 as our_v2

    def sample(lib, kinds):
        image = kinds.Image(lib.zeros(3, *SIZE))
        boxes = kinds.BoundingBoxes([[1, 2, 3, 4]], format="XYXY", canvas_size=SIZE)
        return [image, boxes, kinds.Mask(lib.zeros(1, *SIZE)), "a name", 3], kinds

    for v2, (parts, kinds) in ((our_v2, sample(torch, tv_tensors)), (their_v2, sample(pytorch, tv.tv_tensors))):
        assert v2.query_chw(parts) == (3, *SIZE) and v2.query_size(parts) == SIZE
        assert v2.get_bounding_boxes(parts) is parts[1]
        assert v2.has_any(parts, kinds.Mask, float) and not v2.has_all(parts, kinds.Mask, float)
        assert v2.has_all(parts, kinds.Mask, lambda part: isinstance(part, int)) and v2.check_type(3, (str, int))
        with pytest.raises(ValueError, match="No keypoints were found in the sample"):
            v2.get_keypoints(parts)
        with pytest.raises(TypeError, match="No image or video was found in the sample"):
            v2.query_chw(parts[1:])
        with pytest.raises(ValueError, match=r"Found multiple HxW dimensions in the sample: '\(7, 8\)', '\(30, 40\)'"):
            v2.query_size([*parts, kinds.Image(parts[0][:, :7, :8])])
