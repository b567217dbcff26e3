"""Operations on boxes and regions: same values and gradients as torchvision's compiled operators."""

from __future__ import annotations

import numpy as np
import pytest

theirs = pytest.importorskip("torchvision.ops")
import torch as pytorch  # noqa: E402

import flambeau as torch  # noqa: E402
from flambeau_vision import ops as ours  # noqa: E402

RNG = np.random.default_rng(0)


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype("f4")


def corners(count: int, size: float = 20.0, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    start = rng.uniform(-2, size, (count, 2))
    return np.concatenate([start, start + rng.uniform(0.5, size / 2, (count, 2))], 1).astype("f4")


def regions(images: int = 2, count: int = 7) -> np.ndarray:
    return np.concatenate([RNG.integers(0, images, (count, 1)), corners(count, 11)], 1).astype("f4")


def assert_agree(name: str, *arrays: np.ndarray | None, atol: float = 1e-5, **options) -> None:
    """Assert that values, and gradients of a weighted sum by all floating-point arguments, agree."""
    function = name.rpartition(".")[2]
    results = []
    weight = None
    for lib, module in ((torch, ours), (pytorch, theirs)):
        tensors = [None if array is None else lib.tensor(array, requires_grad=array.dtype == np.float32) for array in arrays]
        value = getattr(module, function)(*tensors, **options)
        weight = RNG.standard_normal(tuple(value.shape)).astype("f4") if weight is None else weight
        gradients = []
        if value.requires_grad:
            (value * lib.tensor(weight)).sum().backward()
            gradients = [tensor.grad for tensor in tensors if tensor is not None and tensor.grad is not None]
        results.append([value.detach().numpy(), *(gradient.numpy() for gradient in gradients)])
    assert len(results[0]) == len(results[1])
    for our, their in zip(*results, strict=True):
        assert our.dtype == their.dtype
        np.testing.assert_allclose(our, their, atol=atol, rtol=1e-4)


@pytest.mark.parametrize("name", ["box_iou", "generalized_box_iou", "distance_box_iou", "complete_box_iou"])
def test_overlaps(name):
    assert_agree(name, corners(9), corners(6, seed=1))


@pytest.mark.parametrize("name", ["generalized_box_iou_loss", "distance_box_iou_loss", "complete_box_iou_loss"])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_overlap_losses(name, reduction):
    assert_agree(name, corners(9), corners(9, seed=1), reduction=reduction)


@pytest.mark.parametrize("form", ["xyxy", "xywh", "cxcywh"])
def test_formats(form):
    boxes = np.abs(corners(9)).astype("f4")
    assert_agree("box_area", boxes, fmt=form)
    assert_agree("box_iou", boxes, np.abs(corners(5, seed=1)), fmt=form)
    for other in ("xyxy", "xywh", "cxcywh"):
        assert_agree("box_convert", boxes, in_fmt=form, out_fmt=other)


@pytest.mark.parametrize("dtype", ["f4", "i8", "i4"])
def test_rotated_formats(dtype):
    boxes = np.concatenate([RNG.uniform(5, 60, (20, 4)), RNG.uniform(-180, 180, (20, 1))], 1).astype(dtype)
    for form in ("xywhr", "cxcywhr", "xyxyxyxy"):
        assert_agree("box_convert", boxes, in_fmt="cxcywhr", out_fmt=form, atol=1e-3)
        stored = theirs.box_convert(pytorch.tensor(boxes), "cxcywhr", form).numpy()
        assert_agree("box_convert", stored, in_fmt=form, out_fmt="cxcywhr", atol=1e-3)


@pytest.mark.parametrize("form", ["cxcywhr", "xywhr", "xyxyxyxy"])
def test_rotated_overlaps(form):
    boxes = np.concatenate([RNG.uniform(0, 20, (30, 2)), RNG.uniform(1, 15, (30, 2)), RNG.uniform(-180, 180, (30, 1))], 1)
    boxes[:4, 4] = [0, 90, 45, -90]
    boxes[5] = boxes[4]
    boxes[6, :4], boxes[7, :4] = [5, 5, 4, 4], [5, 5, 4, 4]
    stored = theirs.box_convert(pytorch.tensor(boxes), "cxcywhr", form).float().numpy()
    with_gradients = stored.astype("f8")  # gradients are not compared: torchvision lacks them
    found = ours.box_iou(torch.tensor(with_gradients), torch.tensor(with_gradients[:20]), fmt=form)
    expected = theirs.box_iou(pytorch.tensor(with_gradients), pytorch.tensor(with_gradients[:20]), fmt=form)
    np.testing.assert_allclose(found.numpy(), expected.numpy(), atol=1e-4)
    assert 20 < (expected.numpy() > 0.1).sum() < 500


def test_many_boxes():
    boxes, scores, kinds = corners(300, 40), RNG.random(300).astype("f4"), RNG.integers(0, 4, 300)
    for threshold in (0.0, 0.3, 0.7):
        found = [lib.nms(of.tensor(boxes), of.tensor(scores), threshold) for lib, of in ((ours, torch), (theirs, pytorch))]
        assert found[0].tolist() == found[1].tolist()
        found = [
            lib.batched_nms(of.tensor(boxes), of.tensor(scores), of.tensor(kinds), threshold)
            for lib, of in ((ours, torch), (theirs, pytorch))
        ]
        assert found[0].tolist() == found[1].tolist()
    assert_agree("clip_boxes_to_image", boxes, size=(15, 20))
    assert_agree("remove_small_boxes", boxes.astype("f8"), min_size=5.0)
    assert_agree("masks_to_boxes", RNG.integers(0, 2, (4, 9, 12)).astype(bool))


@pytest.mark.parametrize("ratio", [-1, 1, 3])
@pytest.mark.parametrize("aligned", [False, True])
def test_roi_align(ratio, aligned):
    options = {"output_size": (3, 4), "spatial_scale": 0.8, "sampling_ratio": ratio, "aligned": aligned}
    assert_agree("roi_align", floats(2, 3, 10, 12), regions(), **options)


@pytest.mark.parametrize(("name", "channels"), [("roi_pool", 3), ("ps_roi_pool", 18), ("ps_roi_align", 18)])
def test_region_pools(name, channels):
    # torchvision's gradient of ps_roi_pool includes pixels outside of its bins, so only values are compared.
    dtype = "f8" if name == "ps_roi_pool" else "f4"
    assert_agree(name, floats(2, channels, 10, 12).astype(dtype), regions().astype(dtype), output_size=3, spatial_scale=0.7)


@pytest.mark.parametrize(
    ("groups", "offset_groups", "stride", "padding", "dilation", "masked"),
    [(1, 1, (1, 1), (0, 0), (1, 1), False), (2, 2, (2, 1), (1, 2), (1, 2), True), (1, 4, (1, 2), (2, 1), (2, 1), True)],
)
def test_deformable_convolution(groups, offset_groups, stride, padding, dilation, masked):
    kernel, size = (3, 2), (9, 8)
    out = [(s + 2 * p - d * (k - 1) - 1) // t + 1 for s, p, d, k, t in zip(size, padding, dilation, kernel, stride, strict=True)]
    offset = floats(2, 2 * offset_groups * 6, *out)
    mask = RNG.random((2, offset_groups * 6, *out)).astype("f4") if masked else None
    arrays = floats(2, 4, *size), offset, floats(6, 4 // groups, *kernel), floats(6)
    results = []
    weight = floats(2, 6, *out)
    for lib, module in ((torch, ours), (pytorch, theirs)):
        tensors = [lib.tensor(array, requires_grad=True) for array in (*arrays, *([mask] if masked else []))]
        options = {"mask": tensors[4]} if masked else {}
        value = module.deform_conv2d(*tensors[:4], stride, padding, dilation, **options)
        (value * lib.tensor(weight)).sum().backward()
        results.append([value.detach().numpy(), *(tensor.grad.numpy() for tensor in tensors)])
    for our, their in zip(*results, strict=True):
        np.testing.assert_allclose(our, their, atol=1e-4, rtol=1e-3)


@pytest.mark.parametrize(("alpha", "gamma"), [(0.25, 2), (-1, 1.5)])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_focal_loss(alpha, gamma, reduction):
    targets = RNG.integers(0, 2, (5, 4)).astype("f4")
    assert_agree("sigmoid_focal_loss", floats(5, 4), targets, alpha=alpha, gamma=gamma, reduction=reduction)


def test_dropping_draws_the_same_numbers():
    for name, shape, options in (
        ("stochastic_depth", (8, 3, 4, 4), {"p": 0.4, "mode": "row"}),
        ("stochastic_depth", (8, 3, 4, 4), {"p": 0.4, "mode": "batch"}),
        ("drop_block2d", (2, 3, 12, 12), {"p": 0.3, "block_size": 3}),
        ("drop_block3d", (2, 2, 8, 8, 8), {"p": 0.3, "block_size": 3}),
    ):
        data = floats(*shape)
        torch.manual_seed(3)
        pytorch.manual_seed(3)
        assert_agree(name, data, **options)


def test_pyramid_and_its_regions():
    levels = {"0": floats(2, 4, 16, 16), "1": floats(2, 6, 8, 8), "2": floats(2, 8, 4, 4)}
    pyramids = [module.FeaturePyramidNetwork([4, 6, 8], 5) for module in (ours, theirs)]
    state = pyramids[1].state_dict()
    assert list(pyramids[0].state_dict()) == list(state)
    pyramids[0].load_state_dict({key: torch.tensor(value.numpy()) for key, value in state.items()})
    boxes = [corners(4, 40), corners(3, 60, seed=1)]
    found = []
    for lib, module, pyramid in ((torch, ours, pyramids[0]), (pytorch, theirs, pyramids[1])):
        features = {key: lib.tensor(value, requires_grad=True) for key, value in levels.items()}
        out = pyramid(features)
        pooled = module.MultiScaleRoIAlign(["0", "1", "2"], 3, 2)(out, [lib.tensor(part) for part in boxes], [(64, 64)] * 2)
        (pooled**2).sum().backward()
        found.append([*(part.detach().numpy() for part in (*out.values(), pooled)), *(f.grad.numpy() for f in features.values())])
    for our, their in zip(*found, strict=True):
        np.testing.assert_allclose(our, their, atol=1e-4, rtol=1e-3)
