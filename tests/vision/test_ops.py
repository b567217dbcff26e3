"""Detection operations, compared with loops over single values."""

from __future__ import annotations

import math

import numpy as np
import pytest

import flambeau as torch
import flambeau.nn.functional as nnF
from flambeau_vision import ops


def random_boxes(count: int, seed: int = 0, size: float = 40.0) -> torch.Tensor:
    rng = np.random.default_rng(seed)
    corners, sides = rng.random((count, 2)) * size, rng.random((count, 2)) * size / 2 + 0.1
    return torch.from_numpy(np.concatenate([corners, corners + sides], axis=1))


# Boxes


@pytest.mark.parametrize("first", ["xyxy", "xywh", "cxcywh"])
@pytest.mark.parametrize("second", ["xyxy", "xywh", "cxcywh"])
def test_box_convert(first, second):
    left, top, right, bottom = 2.0, 3.0, 8.0, 13.0
    forms = {"xyxy": [left, top, right, bottom], "xywh": [2.0, 3.0, 6.0, 10.0], "cxcywh": [5.0, 8.0, 6.0, 10.0]}
    result = ops.box_convert(torch.tensor([forms[first]] * 2), first, second)
    assert result.tolist() == [forms[second]] * 2
    assert ops.box_convert(torch.zeros(0, 4), first, second).shape == (0, 4)


def test_box_convert_error():
    with pytest.raises(ValueError, match="in_fmt xyxy and out_fmt polar"):
        ops.box_convert(torch.zeros(1, 4), "xyxy", "polar")


def overlap(a, b) -> tuple[float, float, float]:
    """Return the areas of intersection, union and convex hull of two boxes."""
    width = max(min(a[2], b[2]) - max(a[0], b[0]), 0)
    height = max(min(a[3], b[3]) - max(a[1], b[1]), 0)
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (a, b)]
    hull = (max(a[2], b[2]) - min(a[0], b[0])) * (max(a[3], b[3]) - min(a[1], b[1]))
    return width * height, sum(areas) - width * height, hull


def distance(a, b) -> float:
    centres = [((box[0] + box[2]) / 2, (box[1] + box[3]) / 2) for box in (a, b)]
    diagonal = (max(a[2], b[2]) - min(a[0], b[0])) ** 2 + (max(a[3], b[3]) - min(a[1], b[1])) ** 2
    return ((centres[0][0] - centres[1][0]) ** 2 + (centres[0][1] - centres[1][1]) ** 2) / diagonal


def aspect(a, b) -> float:
    slopes = [math.atan((box[2] - box[0]) / (box[3] - box[1])) for box in (a, b)]
    return 4 / math.pi**2 * (slopes[0] - slopes[1]) ** 2


def reference(kind: str, a, b) -> float:
    intersection, union, hull = overlap(a, b)
    iou = intersection / union
    if kind == "iou":
        return iou
    if kind == "generalized":
        return iou - (hull - union) / hull
    if kind == "distance":
        return iou - distance(a, b)
    shape = aspect(a, b)
    return iou - distance(a, b) - shape**2 / (1 - iou + shape)


@pytest.mark.parametrize("kind", ["iou", "generalized", "distance", "complete"])
def test_overlaps(kind):
    function = ops.box_iou if kind == "iou" else getattr(ops, f"{kind}_box_iou")
    first, second = random_boxes(7), random_boxes(5, seed=1)
    expected = [[reference(kind, a, b) for b in second.tolist()] for a in first.tolist()]
    assert np.allclose(function(first, second).numpy(), expected, atol=1e-6)
    assert function(first[:0], second).shape == (0, 5)


@pytest.mark.parametrize("kind", ["generalized", "distance", "complete"])
def test_overlap_losses(kind):
    function = getattr(ops, f"{kind}_box_iou_loss")
    first, second = random_boxes(6), random_boxes(6, seed=1)
    expected = [1 - reference(kind, a, b) for a, b in zip(first.tolist(), second.tolist(), strict=True)]
    assert np.allclose(function(first, second).numpy(), expected, atol=1e-6)
    assert function(first, second, reduction="mean").item() == pytest.approx(np.mean(expected), abs=1e-6)
    assert function(first, second, reduction="sum").item() == pytest.approx(np.sum(expected), abs=1e-6)
    assert function(first[:0], second[:0], reduction="mean").item() == 0
    with pytest.raises(ValueError, match="Invalid Value for arg 'reduction': 'max"):
        function(first, second, reduction="max")


def test_areas_of_small_integers_do_not_overflow():
    boxes = torch.tensor([[0, 0, 120, 120]], dtype=torch.int8)
    assert ops.box_area(boxes).tolist() == [14400] and ops.box_iou(boxes, boxes).tolist() == [[1.0]]


def greedy_nms(boxes, scores, threshold) -> list[int]:
    kept: list[int] = []
    for index in sorted(range(len(boxes)), key=lambda i: -scores[i]):
        if all(reference("iou", boxes[index], boxes[other]) <= threshold for other in kept):
            kept.append(index)
    return kept


@pytest.mark.parametrize("threshold", [0.1, 0.5, 0.9])
def test_nms(threshold):
    boxes, scores = random_boxes(60), torch.from_numpy(np.random.default_rng(2).random(60))
    kept = ops.nms(boxes, scores, threshold)
    assert kept.dtype == torch.int64 and kept.tolist() == greedy_nms(boxes.tolist(), scores.tolist(), threshold)
    categories = torch.arange(60) % 3
    expected: list[int] = []
    for category in range(3):
        members = list(range(category, 60, 3))
        kept_here = greedy_nms([boxes.tolist()[i] for i in members], [scores[i].item() for i in members], threshold)
        expected += [members[i] for i in kept_here]
    batched = ops.batched_nms(boxes, scores, categories, threshold).tolist()
    assert sorted(batched) == sorted(expected) and batched == sorted(batched, key=lambda i: -scores[i].item())


def test_nms_of_nothing():
    assert ops.nms(torch.zeros(0, 4), torch.zeros(0), 0.5).tolist() == []
    assert ops.batched_nms(torch.zeros(0, 4), torch.zeros(0), torch.zeros(0), 0.5).tolist() == []


def test_clip_small_and_masks():
    boxes = torch.tensor([[-5.0, 2.0, 50.0, 60.0], [3.0, 3.0, 4.0, 9.0]])
    assert ops.clip_boxes_to_image(boxes, (30, 40)).tolist() == [[0, 2, 40, 30], [3, 3, 4, 9]]
    assert ops.remove_small_boxes(boxes, 2.0).tolist() == [0]
    masks = torch.zeros(2, 6, 7, dtype=torch.bool)
    masks[0, 2:4, 1:6], masks[1, 5, 0] = True, True
    assert ops.masks_to_boxes(masks).tolist() == [[1, 2, 5, 3], [0, 5, 0, 5]]
    assert ops.masks_to_boxes(masks[:0]).shape == (0, 4)


# Regions


def interpolate(image: np.ndarray, y: float, x: float) -> np.ndarray:
    _, height, width = image.shape
    if not (-1 <= y <= height and -1 <= x <= width):
        return np.zeros(len(image))
    y, x = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
    top, left = int(y), int(x)
    bottom, right = min(top + 1, height - 1), min(left + 1, width - 1)
    dy, dx = y - top, x - left
    upper = image[:, top, left] * (1 - dx) + image[:, top, right] * dx
    return upper * (1 - dy) + (image[:, bottom, left] * (1 - dx) + image[:, bottom, right] * dx) * dy


def align_reference(features, regions, size, scale, ratio, aligned) -> np.ndarray:
    results = []
    for batch, *corners in regions.tolist():
        x1, y1, x2, y2 = (corner * scale - (0.5 if aligned else 0) for corner in corners)
        high, wide = y2 - y1, x2 - x1
        if not aligned:
            high, wide = max(high, 1), max(wide, 1)
        bin_high, bin_wide = high / size[0], wide / size[1]
        rows = ratio if ratio > 0 else math.ceil(bin_high)
        columns = ratio if ratio > 0 else math.ceil(bin_wide)
        result = np.zeros((features.shape[1], *size))
        for i in range(size[0]):
            for j in range(size[1]):
                points = [
                    interpolate(
                        features[int(batch)],
                        y1 + (i + (a + 0.5) / rows) * bin_high,
                        x1 + (j + (b + 0.5) / columns) * bin_wide,
                    )
                    for a in range(rows)
                    for b in range(columns)
                ]
                result[:, i, j] = np.mean(points, axis=0)
        results.append(result)
    return np.stack(results)


REGIONS = torch.tensor([[0, 1, 2, 7, 8], [1, -3, 0, 5.5, 20], [0, 3.3, 4.1, 3.4, 4.2]], dtype=torch.float64)


@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("ratio", [-1, 2])
def test_roi_align(aligned, ratio):
    features = torch.from_numpy(np.random.default_rng(0).standard_normal((2, 3, 10, 12)))
    result = ops.roi_align(features, REGIONS, (3, 2), 0.9, ratio, aligned)
    expected = align_reference(features.numpy(), REGIONS, (3, 2), 0.9, ratio, aligned)
    assert np.allclose(result.numpy(), expected)
    as_module = ops.RoIAlign((3, 2), 0.9, ratio, aligned)
    lists = [REGIONS[[0, 2], 1:], REGIONS[[1], 1:]]
    assert np.allclose(as_module(features, lists).numpy(), expected[[0, 2, 1]])


def test_roi_align_has_a_gradient():
    features = torch.from_numpy(np.random.default_rng(0).standard_normal((2, 1, 5, 6))).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: ops.roi_align(x, REGIONS, 2, 0.5), (features,))


def test_ps_roi_align_takes_each_bin_from_its_own_channels():
    features = torch.from_numpy(np.random.default_rng(0).standard_normal((2, 8, 10, 12)))
    result = ops.ps_roi_align(features, REGIONS[:2], 2, 1.0, 2).numpy()
    every = align_reference(features.numpy(), REGIONS[:2], (2, 2), 1.0, 2, True)
    for channel in range(2):
        for i in range(2):
            for j in range(2):
                assert np.allclose(result[:, channel, i, j], every[:, channel * 4 + i * 2 + j, i, j])
    with pytest.raises(ValueError, match=r"input channels \(8\) must be a multiple of the bins 3 \* 3"):
        ops.ps_roi_align(features, REGIONS, 3)


@pytest.mark.parametrize("position_sensitive", [False, True])
def test_roi_pools(position_sensitive):
    features = np.random.default_rng(0).standard_normal((2, 8, 10, 12))
    function = ops.ps_roi_pool if position_sensitive else ops.roi_pool
    result = function(torch.from_numpy(features), REGIONS, 2).numpy()
    for index, (batch, *corners) in enumerate(REGIONS.tolist()):
        x1, y1, x2, y2 = (math.floor(corner + 0.5) for corner in corners)
        extra = 0 if position_sensitive else 1
        high, wide = max(y2 - y1 + extra, 1), max(x2 - x1 + extra, 1)
        for i in range(2):
            for j in range(2):
                rows = slice(max(y1 + math.floor(i * high / 2), 0), max(y1 + math.ceil((i + 1) * high / 2), 0))
                columns = slice(max(x1 + math.floor(j * wide / 2), 0), max(x1 + math.ceil((j + 1) * wide / 2), 0))
                cells = features[int(batch)][:, rows, columns].reshape(8, -1)
                if position_sensitive:  # its bins end before the last row and column of the image
                    rows, columns = slice(rows.start, min(rows.stop, 9)), slice(columns.start, min(columns.stop, 11))
                    cells = features[int(batch)][:, rows, columns].reshape(8, -1)
                    expected = cells[[i * 2 + j, 4 + i * 2 + j]].mean(1) if cells.size else np.zeros(2)
                else:
                    expected = cells.max(1) if cells.size else np.zeros(8)
                assert np.allclose(result[index, :, i, j], expected)


def test_regions_of_the_wrong_shape():
    features = torch.zeros(1, 1, 4, 4)
    with pytest.raises(ValueError, match=r"not correct as Tensor\[K, 5\]"):
        ops.roi_align(features, torch.zeros(2, 4), 2)
    with pytest.raises(ValueError, match=r"not correct as List\[Tensor\[L, 4\]\]"):
        ops.roi_pool(features, [torch.zeros(2, 5)], 2)
    assert ops.roi_align(features, torch.zeros(0, 5), 2).shape == (0, 1, 2, 2)


def test_multi_scale_roi_align_picks_the_level():
    pooler = ops.MultiScaleRoIAlign(["0", "1"], output_size=2, sampling_ratio=2)
    levels = {"0": torch.zeros(1, 1, 64, 64), "1": torch.ones(1, 1, 32, 32), "other": torch.full((1, 1, 4, 4), 9.0)}
    boxes = [torch.tensor([[0.0, 0.0, 20.0, 20.0], [0.0, 0.0, 250.0, 250.0]])]
    assert pooler(levels, boxes, [(256, 256)]).amax((1, 2, 3)).tolist() == [0.0, 1.0]
    assert repr(pooler) == "MultiScaleRoIAlign(featmap_names=['0', '1'], output_size=(2, 2), sampling_ratio=2)"


# Layers


@pytest.mark.parametrize(("groups", "stride", "padding", "dilation"), [(1, 1, 0, 1), (2, 2, 1, 1), (1, (1, 2), (2, 1), 2)])
def test_deformable_convolution_without_offsets_is_convolution(groups, stride, padding, dilation):
    x, weight = torch.randn(2, 4, 7, 8), torch.randn(6, 4 // groups, 3, 3)
    bias = torch.randn(6)
    expected = nnF.conv2d(x, weight, bias, stride, padding, dilation, groups)
    offset = torch.zeros(2, 2 * 2 * 9, *expected.shape[-2:])
    result = ops.deform_conv2d(x, offset, weight, bias, stride, padding, dilation)
    assert np.allclose(result.numpy(), expected.numpy(), atol=1e-4)
    half = torch.full((2, 2 * 9, *expected.shape[-2:]), 0.5)
    masked = ops.deform_conv2d(x, offset, weight, None, stride, padding, dilation, mask=half)
    assert np.allclose(2 * masked.numpy() + bias.numpy()[:, None, None], expected.numpy(), atol=1e-4)


def test_deformable_convolution_moves_points():
    x, weight = torch.randn(1, 2, 6, 7), torch.randn(3, 2, 3, 3)
    offset = torch.zeros(1, 18, 4, 5)
    offset[:, 1::2] = 1.0  # shifts all sampling points by one pixel to the right
    shifted = ops.deform_conv2d(x, offset, weight)[..., :-1]
    assert np.allclose(shifted.numpy(), nnF.conv2d(x, weight)[..., 1:].numpy(), atol=1e-4)


def test_deformable_convolution_module():
    torch.manual_seed(0)
    layer = ops.DeformConv2d(4, 6, 3, padding=1, groups=2)
    torch.manual_seed(0)
    plain = torch.nn.Conv2d(4, 6, 3, padding=1, groups=2)
    assert torch.equal(layer.weight, plain.weight) and torch.equal(layer.bias, plain.bias)
    assert repr(layer) == "DeformConv2d(4, 6, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), groups=2)"
    assert layer(torch.zeros(1, 4, 5, 5), torch.zeros(1, 18, 5, 5)).shape == (1, 6, 5, 5)


def test_frozen_batch_norm():
    norm = torch.nn.BatchNorm2d(3)
    norm.running_mean.copy_(torch.tensor([1.0, 2.0, 3.0]))
    norm.running_var.copy_(torch.tensor([4.0, 5.0, 6.0]))
    frozen = ops.FrozenBatchNorm2d(3)
    frozen.load_state_dict(norm.state_dict())
    x = torch.randn(2, 3, 4, 4)
    assert np.allclose(frozen(x).numpy(), norm.eval()(x).detach().numpy(), atol=1e-5)
    assert not list(frozen.parameters()) and repr(frozen) == "FrozenBatchNorm2d(3, eps=1e-05)"


def test_conv_norm_activation():
    block = ops.Conv2dNormActivation(3, 8, kernel_size=(3, 5), dilation=2, stride=2)
    assert block[0].padding == (2, 4) and block[0].bias is None and block.out_channels == 8 and len(block) == 3
    bare = ops.Conv2dNormActivation(3, 8, 1, norm_layer=None, activation_layer=None)
    assert len(bare) == 1 and bare[0].bias is not None


def test_squeeze_excitation():
    layer = ops.SqueezeExcitation(4, 2)
    x = torch.randn(2, 4, 5, 6)
    squeezed = x.numpy().mean((2, 3))
    hidden = np.maximum(squeezed @ layer.fc1.weight.detach().numpy()[..., 0, 0].T + layer.fc1.bias.detach().numpy(), 0)
    logits = hidden @ layer.fc2.weight.detach().numpy()[..., 0, 0].T + layer.fc2.bias.detach().numpy()
    expected = x.numpy() / (1 + np.exp(-logits))[..., None, None]
    assert np.allclose(layer(x).detach().numpy(), expected, atol=1e-5)


def test_mlp_and_permute():
    layers = [type(layer).__name__ for layer in ops.MLP(4, [8, 3], norm_layer=torch.nn.LayerNorm, dropout=0.1)]
    assert layers == ["Linear", "LayerNorm", "ReLU", "Dropout", "Linear", "Dropout"]
    assert ops.Permute([0, 2, 1])(torch.zeros(2, 3, 4)).shape == (2, 4, 3)


def test_stochastic_depth():
    x = torch.ones(1000, 2)
    rows = ops.stochastic_depth(x, 0.25, "row")
    assert sorted(set(rows.flatten().tolist())) == pytest.approx([0, 4 / 3]) and torch.equal(rows[:, 0], rows[:, 1])
    assert rows[:, 0].mean().item() == pytest.approx(1, abs=0.1)
    assert len(set(ops.stochastic_depth(x, 0.5, "batch").flatten().tolist())) == 1
    assert ops.StochasticDepth(0.5, "row").eval()(x) is x
    assert ops.stochastic_depth(x, 1.0, "row").sum() == 0
    with pytest.raises(ValueError, match="between 0 and 1, but got 2"):
        ops.stochastic_depth(x, 2.0, "row")
    with pytest.raises(ValueError, match="either 'batch' or 'row', but got all"):
        ops.stochastic_depth(x, 0.5, "all")


@pytest.mark.parametrize("dims", [2, 3])
def test_drop_block(dims):
    torch.manual_seed(0)
    function = {2: ops.drop_block2d, 3: ops.drop_block3d}[dims]
    x = torch.ones(8, 4, *([12] * dims))
    dropped = function(x, 0.3, 3)
    kept = (dropped > 0).float()
    assert dropped.mean().item() == pytest.approx(1, abs=1e-3) and 0.6 < kept.mean().item() < 0.85
    along = kept.flatten(0, -2).numpy()
    runs = [len(run) for row in along for run in "".join(str(int(1 - v)) for v in row).split("0") if run]
    assert min(runs) >= 3  # only blocks of size 3 are dropped, which may overlap
    assert function(x, 0.3, 3, training=False) is x
    with pytest.raises(ValueError, match=f"should be {dims + 2} dimensional. Got 2"):
        function(torch.ones(2, 2), 0.3, 3)


def test_focal_loss():
    logits, targets = torch.randn(6, 3), (torch.rand(6, 3) > 0.5).float()
    p = 1 / (1 + np.exp(-logits.numpy()))
    right = np.where(targets.numpy() == 1, p, 1 - p)
    alpha = np.where(targets.numpy() == 1, 0.25, 0.75)
    expected = -alpha * (1 - right) ** 2 * np.log(right)
    assert np.allclose(ops.sigmoid_focal_loss(logits, targets).numpy(), expected, atol=1e-5)
    plain = ops.sigmoid_focal_loss(logits, targets, alpha=-1, gamma=0, reduction="mean")
    assert plain.item() == pytest.approx(-np.log(right).mean(), abs=1e-5)
    with pytest.raises(ValueError, match="Invalid alpha value: 2"):
        ops.sigmoid_focal_loss(logits, targets, alpha=2)


def test_feature_pyramid():
    torch.manual_seed(0)
    pyramid = ops.FeaturePyramidNetwork([4, 8], 6)
    fine, coarse = torch.randn(1, 4, 8, 8), torch.randn(1, 8, 4, 4)
    result = pyramid({"fine": fine, "coarse": coarse})
    top = pyramid.inner_blocks[1](coarse)
    merged = pyramid.inner_blocks[0](fine) + top.repeat_interleave(2, -1).repeat_interleave(2, -2)
    assert list(result) == ["fine", "coarse"]
    assert np.allclose(result["fine"].detach().numpy(), pyramid.layer_blocks[0](merged).detach().numpy(), atol=1e-5)
    old = {key.replace(".0.weight", ".weight").replace(".0.bias", ".bias"): v for key, v in pyramid.state_dict().items()}
    old = {key.replace("blocks.weight", "blocks.0.weight").replace("blocks.bias", "blocks.0.bias"): v for key, v in old.items()}
    assert set(pyramid.load_state_dict(old, strict=False).unexpected_keys) == set()


def test_nms_agrees_with_its_definition_whatever_the_number_of_boxes():
    rng = np.random.default_rng(0)
    for count, threshold in ((1, 0.5), (40, 0.2), (299, 0.4), (1200, 0.1), (1200, 0.7)):
        corners = rng.random((count, 2)) * 60
        boxes = np.concatenate([corners, corners + rng.random((count, 2)) * 30], 1).astype(np.float32)
        boxes[::7, 2:] = boxes[::7, :2]  # empty boxes have no overlap
        order = rng.permutation(count)
        scores = (order / count).astype(np.float32)
        overlaps = ops.box_iou(torch.from_numpy(boxes), torch.from_numpy(boxes)).numpy()
        kept = []
        for place in np.argsort(-scores):
            if not any(overlaps[place, better] > threshold for better in kept):
                kept.append(place)
        assert ops.nms(torch.from_numpy(boxes), torch.from_numpy(scores), threshold).tolist() == kept


def test_nms_by_category_equals_nms_of_each():
    rng = np.random.default_rng(1)
    for count in (100, 1500):  # below and above the number of boxes from which categories are processed one by one
        corners = torch.from_numpy(rng.random((count, 2)).astype(np.float32) * 20)
        boxes = torch.cat([corners, corners + 10], 1)
        scores = torch.from_numpy((rng.permutation(count) / count).astype(np.float32))
        categories = torch.from_numpy(rng.integers(0, 5, count))
        kept = ops.batched_nms(boxes, scores, categories, 0.3)
        expected = []
        for category in range(5):
            members = torch.where(categories == category)[0]
            expected += members[ops.nms(boxes[members], scores[members], 0.3)].tolist()
        assert sorted(kept.tolist()) == sorted(expected)
        assert (scores[kept].diff() < 0).all()


def test_nms_compares_with_the_threshold_exactly():
    # The IoU is 3 / 10. In float32 it is rounded up, so it exceeds the threshold, the float64 number 0.3.
    boxes = torch.tensor([[0.0, 0.0, 10.0, 1.0], [0.0, 0.0, 3.0, 1.0]])
    assert ops.nms(boxes, torch.tensor([0.9, 0.8]), 0.3).tolist() == [0]
    assert ops.nms(boxes, torch.tensor([0.9, 0.8]), 0.31).tolist() == [0, 1]
    assert ops.nms(boxes[:0], torch.zeros(0), 0.3).tolist() == []
