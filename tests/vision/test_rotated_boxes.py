"""Rotated boxes: formats, geometric transforms together with images, and clamping at the border."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau as torch
from flambeau_vision import ops, tv_tensors
from flambeau_vision.transforms import v2
from flambeau_vision.transforms.v2 import functional as F

SIZE = (60, 80)


def boxes(count: int = 20, seed: int = 0) -> np.ndarray:
    """Return random boxes (cx, cy, w, h, angle) well inside of the canvas."""
    low, high = [30, 22, 2, 2, -180], [50, 38, 16, 12, 180]
    return np.random.default_rng(seed).uniform(low, high, (count, 5))


def corners(cxcywhr: np.ndarray) -> np.ndarray:
    """Return the corners of rotated boxes, shape (N, 4, 2). Angles are counterclockwise in the image."""
    x, y, w, h, angle = cxcywhr.T
    signs = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)])
    places = signs[None] * np.stack([w, h], 1)[:, None] / 2
    cos, sin = np.cos(np.radians(angle)), np.sin(np.radians(angle))
    turn = np.stack([np.stack([cos, sin], -1), np.stack([-sin, cos], -1)], -2)
    return np.einsum("nij,nkj->nki", turn, places) + np.stack([x, y], 1)[:, None]


def of(values: np.ndarray, form: str, **options) -> tv_tensors.BoundingBoxes:
    return tv_tensors.BoundingBoxes(torch.tensor(values), format=form, canvas_size=SIZE, **options)


def as_corners(rotated: tv_tensors.BoundingBoxes) -> np.ndarray:
    return F.convert_bounding_box_format(rotated, new_format="XYXYXYXY").numpy().reshape(-1, 4, 2)


def assert_same_rectangles(first: np.ndarray, second: np.ndarray) -> None:
    """Assert that the rectangles have the same corners, which may be in a different order."""
    by_place = [np.array(sorted(map(tuple, np.round(box, 6)))) for box in (*first, *second)]
    np.testing.assert_allclose(by_place[: len(first)], by_place[len(first) :], atol=1e-4)


@pytest.mark.parametrize("form", ["CXCYWHR", "XYWHR", "XYXYXYXY"])
def test_formats(form):
    values = boxes()
    converted = ops.box_convert(torch.tensor(values), "cxcywhr", form.lower())
    np.testing.assert_allclose(ops.box_convert(converted, form.lower(), "cxcywhr").numpy(), values, atol=1e-9)
    np.testing.assert_allclose(as_corners(of(converted.numpy(), form)), corners(values), atol=1e-9)
    with pytest.raises(ValueError, match="Cannot convert between rotated and unrotated"):
        F.convert_bounding_box_format(of(converted.numpy(), form), new_format="XYXY")
    with pytest.raises(NotImplementedError, match="in_fmt xyxy and out_fmt"):
        ops.box_convert(torch.zeros(1, 4), "xyxy", form.lower())


def test_numbers_of_boxes():
    with pytest.raises(ValueError, match=r"shape \(N, 5\), got \(1, 4\)"):
        of(np.zeros((1, 4)), "XYWHR")
    with pytest.raises(ValueError, match="Rotated bounding boxes should be floating point tensors"):
        of(np.zeros((1, 8), int), "XYXYXYXY")


@pytest.mark.parametrize("form", ["CXCYWHR", "XYWHR", "XYXYXYXY"])
def test_they_follow_their_image(form):
    values = boxes()
    rotated = of(ops.box_convert(torch.tensor(values), "cxcywhr", form.lower()).numpy(), form)
    places, (height, width) = corners(values), SIZE
    assert_same_rectangles(as_corners(F.hflip(rotated)), np.stack([width - places[..., 0], places[..., 1]], -1))
    assert_same_rectangles(as_corners(F.vflip(rotated)), np.stack([places[..., 0], height - places[..., 1]], -1))
    assert_same_rectangles(as_corners(F.crop(rotated, 5, 7, 55, 70)), places - np.array([7, 5]))
    assert_same_rectangles(as_corners(F.pad(rotated, [4, 3])), places + np.array([4, 3]))
    assert_same_rectangles(as_corners(F.resize(rotated, [120, 160])), places * 2)
    turned = F.rotate(rotated, 25)
    cos, sin = np.cos(np.radians(25)), np.sin(np.radians(25))
    x, y = places[..., 0] - width / 2, places[..., 1] - height / 2
    assert_same_rectangles(as_corners(turned), np.stack([x * cos + y * sin + width / 2, y * cos - x * sin + height / 2], -1))
    angles = F.convert_bounding_box_format(turned, new_format="CXCYWHR")[:, 4].numpy() - values[:, 4]
    np.testing.assert_allclose((angles + 180) % 360, 205, atol=1e-4)


@pytest.mark.parametrize("form", ["CXCYWHR", "XYXYXYXY"])
def test_border(form):
    values = (boxes(60, seed=1) - [40, 30, 0, 0, 0]) * [4, 3.5, 1, 1, 1] + [40, 30, 0, 0, 0]  # some boxes cross the border
    stored = ops.box_convert(torch.tensor(values), "cxcywhr", form.lower()).numpy()
    kept = as_corners(of(stored, form, clamping_mode=None)) == as_corners(
        F.clamp_bounding_boxes(of(stored, form, clamping_mode=None))
    )
    assert kept.all()
    hard = as_corners(F.clamp_bounding_boxes(of(stored, form), clamping_mode="hard"))
    soft = as_corners(F.clamp_bounding_boxes(of(stored, form), clamping_mode="soft"))
    inside = (corners(values) >= 0).all((1, 2)) & (corners(values) <= SIZE[::-1]).all((1, 2))
    assert 5 < inside.sum() < 55
    for clamped in (hard, soft):
        assert_same_rectangles(clamped[inside], corners(values)[inside])
    assert (hard > -1e-4).all() and (hard < np.array(SIZE[::-1]) + 1e-4).all()

    def area(box):
        (a, b), (c, d) = (box[:, 1] - box[:, 0]).T, (box[:, 3] - box[:, 0]).T
        return np.abs(a * d - b * c)

    assert (area(hard) <= area(soft) + 1e-3).all() and (area(soft) <= area(corners(values)) + 1e-3).all()


def test_sanitizing():
    values = np.array([[40, 30, 10, 6, 30], [40, 30, 10, 0.5, 30], [1, 30, 10, 6, 30]], float)
    kept, valid = F.sanitize_bounding_boxes(of(values, "CXCYWHR"))
    assert valid.tolist() == [True, False, False] and kept.format.name == "CXCYWHR" and len(kept) == 1
    sample = v2.SanitizeBoundingBoxes()({"boxes": of(values, "CXCYWHR"), "labels": torch.arange(3)})
    assert sample["labels"].tolist() == [0]


def test_functions_by_kind():
    points, size = F.crop_keypoints(torch.tensor([[3.0, 4.0]]), top=1, left=2, height=5, width=6)
    assert points.tolist() == [[1, 3]] and size == (5, 6) and type(points) is torch.Tensor
    plain = F.horizontal_flip_bounding_boxes(torch.tensor([[1.0, 2.0, 3.0, 4.0]]), format="XYWH", canvas_size=(10, 20))
    assert plain.tolist() == [[16, 2, 3, 4]]
    mask = torch.tensor([[1, 2], [3, 4]], dtype=torch.uint8)
    assert F.resize_mask(mask[None], [4, 4])[0, ::3, ::3].tolist() == mask.tolist()
    assert F.invert_image(mask[None]).tolist() == (255 - mask)[None].tolist()
    assert [part.shape for part in F.five_crop_video(torch.zeros(2, 3, 8, 8), 4)] == [(2, 3, 4, 4)] * 5
    with pytest.raises(TypeError, match="missing a required argument: 'canvas_size'"):
        F.pad_bounding_boxes(torch.zeros(1, 4), "XYXY")
    for name in ("invert_mask", "horizontal_flip_sound", "flip_image"):
        with pytest.raises(AttributeError, match=name):
            getattr(F, name)


def test_quarter_turns_move_pixels():
    image = torch.arange(24.0).reshape(1, 4, 6)
    for turns in range(4):
        expected = np.rot90(image.numpy(), turns, (1, 2))
        turned = v2.RandomRotation((90 * turns, 90 * turns), v2.InterpolationMode.BILINEAR, expand=True)(image)
        np.testing.assert_array_equal(turned.numpy(), expected)
    around = tv_tensors.BoundingBoxes([[0, 0, 31, 40]], format="XYXY", canvas_size=(40, 31))
    assert F.rotate(around, 90, expand=True).canvas_size == (31, 40)


def test_perspective_by_coefficients():
    image = torch.arange(12.0).reshape(1, 3, 4)
    mirror = [-1, 0, 4, 0, 1, 0, 0, 0]
    assert torch.allclose(F.perspective(image, None, None, coefficients=mirror), image.flip(-1), atol=1e-5)
    with pytest.raises(ValueError, match="must have non `None` values"):
        F.perspective(image, None, None)
    with pytest.raises(ValueError, match="8 float values"):
        F.perspective(image, None, None, coefficients=[1, 2])
