"""Pooling of regions of interest (RoIs) to a fixed output size.

Regions are boxes `(x1, y1, x2, y2)`, given as one tensor of shape `(K, 5)` whose first column is the index of the
image in the batch, or as a list with one tensor of shape `(L, 4)` for each image.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import flambeau as torch
import flambeau.nn.functional as F
from flambeau import nn

__all__ = [
    "PSRoIAlign",
    "PSRoIPool",
    "RoIAlign",
    "RoIPool",
    "ps_roi_align",
    "ps_roi_pool",
    "roi_align",
    "roi_pool",
]

Tensor = torch.Tensor
Size = int | Sequence[int]

_CHUNK = 64  # number of regions that are resampled in one call


def _with_index(boxes: Tensor | Sequence[Tensor]) -> Tensor:
    """Convert regions to one tensor `(K, 5)` whose first column is the image index. It is detached: regions get no gradient."""
    if isinstance(boxes, torch.Tensor):
        if boxes.ndim != 2 or boxes.shape[1] != 5:
            raise ValueError("The boxes tensor shape is not correct as Tensor[K, 5]")
        return boxes.detach()
    if any(image_boxes.ndim != 2 or image_boxes.shape[1] != 4 for image_boxes in boxes):
        raise ValueError("The shape of the tensor in the boxes list is not correct as List[Tensor[L, 4]]")
    return torch.cat([F.pad(image_boxes.detach(), (1, 0), value=index) for index, image_boxes in enumerate(boxes)])


def _round_to_pixels(regions: Tensor, spatial_scale: float) -> Tensor:
    """Scale the coordinates of regions to pixels of the features and round them, with halves away from zero."""
    sides = regions[:, 1:] * spatial_scale
    return sides.sign() * (sides.abs() + 0.5).floor()


def _pair(size: Size) -> tuple[int, int]:
    return (size, size) if isinstance(size, int) else tuple(size)


def _sample_weights(start: Tensor, length: Tensor, bins: int, size: int, sampling_ratio: int) -> Tensor:
    """Return the weight of each pixel along one axis in each bin of each region, of shape `(K, bins, size)`.

    The value of a bin is the mean of evenly spaced points. The value of a point is interpolated between its two neighbouring
    pixels. Both steps are linear and act on each axis separately: with the weights `rows` and `columns` of both axes, the bins
    of a region are `rows @ image @ columns.T`.
    """
    bin_length = (length / bins)[:, None, None]
    if sampling_ratio > 0:
        counts = torch.full_like(bin_length, sampling_ratio)
    else:
        counts = bin_length.ceil()
    most_points = int(counts.max()) if counts.numel() else 0
    index = torch.arange(most_points, dtype=start.dtype, device=start.device)
    bin_index = torch.arange(bins, dtype=start.dtype, device=start.device)[:, None]
    points = start[:, None, None] + (bin_index + (index + 0.5) / counts.clamp(min=1)) * bin_length
    counted = (index < counts) & (points >= -1) & (points <= size)
    pixels = torch.arange(size, dtype=start.dtype, device=start.device)
    weights = (1 - (points.clamp(0, size - 1)[..., None] - pixels).abs()).clamp(min=0)
    return (weights * counted[..., None]).sum(2) / counts.clamp(min=1)


def _resample(input: Tensor, regions: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Compute `rows @ image @ columns` for each region and its image, in chunks of regions to limit the memory."""
    parts = []
    for first in range(0, len(regions), _CHUNK):
        chunk = slice(first, first + _CHUNK)
        images = input[regions[chunk, 0].long()]
        parts.append(rows[chunk].to(input.dtype) @ images @ columns[chunk].to(input.dtype))
    return torch.cat(parts)


def _resample_bins(maps: Tensor, regions: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Compute `rows @ image @ columns` for each region, where each bin has a separate image.

    `maps` has shape `(N, C, bins_y, bins_x, H, W)`.
    """
    rows, columns = rows[:, None, :, None, None, :], columns[:, None, None, :, :, None]
    return _resample(maps, regions, rows, columns).flatten(-3)


def roi_align(
    input: Tensor,
    boxes: Tensor | Sequence[Tensor],
    output_size: Size,
    spatial_scale: float = 1.0,
    sampling_ratio: int = -1,
    aligned: bool = False,
) -> Tensor:
    """Divide each region into bins, and return the mean of interpolated values in each bin.

    He, Gkioxari, Dollár and Girshick, [Mask R-CNN](https://arxiv.org/abs/1703.06870), 2017.

    Args:
        input: features of shape `(N, C, H, W)`.
        boxes: the regions in coordinates of the image: a tensor of shape `(K, 5)` whose rows are
            `(image index, x1, y1, x2, y2)`, or a list with one tensor of shape `(L, 4)` for each image.
        output_size: the number of bins, `(height, width)` or an int for both.
        spatial_scale: factor from box coordinates to pixels of `input`: 1/16 for features of a stride of 16.
        sampling_ratio: number of sampling points along each axis of a bin; if not positive, the size of the bin in pixels,
            rounded up.
        aligned: whether to shift boxes by half a pixel, so that they are aligned with pixel centres. The first published
            version did not.

    Returns:
        a tensor of shape `(K, C, height, width)`, K being the number of regions.

    Raises:
        ValueError: `boxes` has another form.

    Example:
        >>> from flambeau_vision.ops import roi_align
        >>> image = torch.arange(16.0).reshape(1, 1, 4, 4)
        >>> roi_align(image, [torch.tensor([[0.0, 0.0, 2.0, 2.0]])], output_size=2)
        tensor([[[[2.5000, 3.5000],
                  [6.5000, 7.5000]]]])
    """
    regions, (height, width) = _with_index(boxes), _pair(output_size)
    if len(regions) == 0:
        return input.new_zeros(0, input.shape[1], height, width)
    corners = regions[:, 1:] * spatial_scale - (0.5 if aligned else 0.0)
    x, y = corners[:, 0], corners[:, 1]
    wide, high = corners[:, 2] - x, corners[:, 3] - y
    if not aligned:
        wide, high = wide.clamp(min=1), high.clamp(min=1)
    rows = _sample_weights(y, high, height, input.shape[2], sampling_ratio)
    columns = _sample_weights(x, wide, width, input.shape[3], sampling_ratio)
    return _resample(input, regions, rows[:, None], columns[:, None].mT)


def ps_roi_align(
    input: Tensor,
    boxes: Tensor | Sequence[Tensor],
    output_size: Size,
    spatial_scale: float = 1.0,
    sampling_ratio: int = -1,
) -> Tensor:
    """Apply `roi_align`, but with separate input channels for each bin (position-sensitive).

    This is the pooling of Dai, Li, He and Sun, [R-FCN: Object Detection via Region-based Fully Convolutional
    Networks](https://arxiv.org/abs/1605.06409), 2016, with interpolated values.

    Args:
        input: features of shape `(N, C * height * width, H, W)`.
        boxes: the regions in coordinates of the image: a tensor of shape `(K, 5)` whose rows are
            `(image index, x1, y1, x2, y2)`, or a list with one tensor of shape `(L, 4)` for each image.
        output_size: the number of bins, `(height, width)` or an int for both.
        spatial_scale: factor from box coordinates to pixels of `input`: 1/16 for features of a stride of 16.
        sampling_ratio: number of sampling points along each axis of a bin; if not positive, the size of the bin in pixels,
            rounded up.

    Returns:
        a tensor of shape `(K, C, height, width)`, K being the number of regions.

    Raises:
        ValueError: `boxes` has another form, or the channels are not a multiple of `height * width`.

    Example:
        >>> from flambeau_vision.ops import ps_roi_align
        >>> maps = torch.arange(4.0).reshape(1, 4, 1, 1).expand(1, 4, 6, 6)
        >>> ps_roi_align(maps, [torch.tensor([[1.0, 1.0, 5.0, 5.0]])], output_size=2)
        tensor([[[[0., 1.],
                  [2., 3.]]]])
    """
    regions, (height, width) = _with_index(boxes), _pair(output_size)
    maps = _by_bin(input, height, width)
    if len(regions) == 0:
        return input.new_zeros(0, maps.shape[1], height, width)
    x1, y1, x2, y2 = (regions[:, 1:] * spatial_scale - 0.5).unbind(1)
    rows = _sample_weights(y1, y2 - y1, height, input.shape[2], sampling_ratio)
    columns = _sample_weights(x1, x2 - x1, width, input.shape[3], sampling_ratio)
    return _resample_bins(maps, regions, rows, columns)


def _by_bin(input: Tensor, height: int, width: int) -> Tensor:
    if input.shape[1] % (height * width) != 0:
        raise ValueError(f"input channels ({input.shape[1]}) must be a multiple of the bins {height} * {width}")
    return input.reshape(input.shape[0], -1, height, width, *input.shape[2:])


def _bin_weights(start: Tensor, length: Tensor, bins: int, size: int) -> Tensor:
    """Return the weight of each pixel along one axis in the mean of each bin, of shape `(K, bins, size)`."""
    bin_length = (length / bins)[:, None]
    index = torch.arange(bins, dtype=start.dtype, device=start.device)
    # Limiting `high` to size - 1 excludes the last pixel of the image, as in the operator of R-FCN.
    low = ((index * bin_length).floor() + start[:, None]).clamp(0, size - 1)
    high = (((index + 1) * bin_length).ceil() + start[:, None]).clamp(0, size - 1)
    pixels = torch.arange(size, dtype=start.dtype, device=start.device)
    inside = ((pixels >= low[..., None]) & (pixels < high[..., None])).to(start.dtype)
    return inside / inside.sum(-1, keepdim=True).clamp(min=1)


def ps_roi_pool(input: Tensor, boxes: Tensor | Sequence[Tensor], output_size: Size, spatial_scale: float = 1.0) -> Tensor:
    """Divide each region into bins, and return the mean of the pixels in each bin.

    Each bin has separate input channels (position-sensitive pooling).

    Dai, Li, He and Sun, [R-FCN: Object Detection via Region-based Fully Convolutional
    Networks](https://arxiv.org/abs/1605.06409), 2016.

    Args:
        input: features of shape `(N, C * height * width, H, W)`.
        boxes: the regions in coordinates of the image: a tensor of shape `(K, 5)` whose rows are
            `(image index, x1, y1, x2, y2)`, or a list with one tensor of shape `(L, 4)` for each image.
        output_size: the number of bins, `(height, width)` or an int for both.
        spatial_scale: factor from box coordinates to pixels of `input`: 1/16 for features of a stride of 16.

    Returns:
        a tensor of shape `(K, C, height, width)`, K being the number of regions.

    Raises:
        ValueError: `boxes` has another form, or the channels are not a multiple of `height * width`.

    Example:
        >>> from flambeau_vision.ops import ps_roi_pool
        >>> maps = torch.arange(4.0).reshape(1, 4, 1, 1).expand(1, 4, 6, 6)
        >>> ps_roi_pool(maps, [torch.tensor([[1.0, 1.0, 5.0, 5.0]])], output_size=2)
        tensor([[[[0., 1.],
                  [2., 3.]]]])
    """
    regions, (height, width) = _with_index(boxes), _pair(output_size)
    maps = _by_bin(input, height, width)
    if len(regions) == 0:
        return input.new_zeros(0, maps.shape[1], height, width)
    x1, y1, x2, y2 = _round_to_pixels(regions, spatial_scale).unbind(1)
    rows = _bin_weights(y1, (y2 - y1).clamp(min=1), height, input.shape[2])
    columns = _bin_weights(x1, (x2 - x1).clamp(min=1), width, input.shape[3])
    return _resample_bins(maps, regions, rows, columns)


def roi_pool(input: Tensor, boxes: Tensor | Sequence[Tensor], output_size: Size, spatial_scale: float = 1.0) -> Tensor:
    """Divide each region into bins, and return the maximum in each bin. The borders of regions and bins are rounded to pixels.

    Girshick, [Fast R-CNN](https://arxiv.org/abs/1504.08083), 2015. `roi_align` interpolates instead of rounding.

    Args:
        input: features of shape `(N, C, H, W)`.
        boxes: the regions in coordinates of the image: a tensor of shape `(K, 5)` whose rows are
            `(image index, x1, y1, x2, y2)`, or a list with one tensor of shape `(L, 4)` for each image.
        output_size: the number of bins, `(height, width)` or an int for both.
        spatial_scale: factor from box coordinates to pixels of `input`: 1/16 for features of a stride of 16.

    Returns:
        a tensor of shape `(K, C, height, width)`, K being the number of regions; zero for bins outside of the image.

    Raises:
        ValueError: `boxes` has another form.

    Example:
        >>> from flambeau_vision.ops import roi_pool
        >>> image = torch.arange(16.0).reshape(1, 1, 4, 4)
        >>> roi_pool(image, [torch.tensor([[0.0, 0.0, 3.0, 3.0]])], output_size=2)
        tensor([[[[ 5.,  7.],
                  [13., 15.]]]])
    """
    regions, size = _with_index(boxes), _pair(output_size)
    if len(regions) == 0:
        return input.new_zeros(0, input.shape[1], *size)
    corners = _round_to_pixels(regions, spatial_scale).long().tolist()
    images = regions[:, 0].long().tolist()
    pooled = [_pool_region(input[image], *box, size) for image, box in zip(images, corners, strict=True)]
    return torch.stack(pooled)


def _pool_region(image: Tensor, x1: int, y1: int, x2: int, y2: int, size: tuple[int, int]) -> Tensor:
    x2, y2 = max(x2, x1), max(y2, y1)
    region = image[:, max(y1, 0) : max(y2 + 1, 0), max(x1, 0) : max(x2 + 1, 0)]
    # Pixels outside the image get the lowest value, so that the maximum ignores them.
    left, top = min(max(-x1, 0), x2 - x1 + 1), min(max(-y1, 0), y2 - y1 + 1)
    right, bottom = x2 - x1 + 1 - left - region.shape[-1], y2 - y1 + 1 - top - region.shape[-2]
    region = F.pad(region, (left, right, top, bottom), value=-math.inf)
    largest = F.adaptive_max_pool2d(region, size)
    return torch.where(largest == -math.inf, torch.zeros_like(largest), largest)


class _RoI(nn.Module):
    """Base class of the modules below: stores `output_size` and `spatial_scale`."""

    def __init__(self, output_size: Size, spatial_scale: float) -> None:
        super().__init__()
        self.output_size = output_size
        self.spatial_scale = spatial_scale

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value}" for name, value in vars(self).items() if name[0] != "_" and name != "training")
        return f"{type(self).__name__}({shown})"


class RoIPool(_RoI):
    """Divide regions into bins, and return the maximum in each bin: `roi_pool` as a module.

    Args:
        output_size: the number of bins, `(height, width)` or an int for both.
        spatial_scale: factor from box coordinates to pixels of `input`: 1/16 for features of a stride of 16.

    Shape:
        - Input: features `(N, C, H, W)`, and regions `(K, 5)` or a list of `(L, 4)`.
        - Output: `(K, C, height, width)`.

    Example:
        >>> from flambeau_vision.ops import RoIPool
        >>> RoIPool(2, spatial_scale=0.5)(torch.rand(1, 3, 8, 8), [torch.tensor([[0.0, 0.0, 9.0, 9.0]])]).shape
        torch.Size([1, 3, 2, 2])
    """

    def forward(self, input: Tensor, rois: Tensor | Sequence[Tensor]) -> Tensor:
        return roi_pool(input, rois, self.output_size, self.spatial_scale)


class PSRoIPool(_RoI):
    """Return the mean in each bin of each region, with separate input channels for each bin: `ps_roi_pool` as a module.

    Args:
        output_size: the number of bins, `(height, width)` or an int for both.
        spatial_scale: factor from box coordinates to pixels of `input`: 1/16 for features of a stride of 16.

    Shape:
        - Input: features `(N, C * height * width, H, W)`, and regions `(K, 5)` or a list of `(L, 4)`.
        - Output: `(K, C, height, width)`.

    Example:
        >>> from flambeau_vision.ops import PSRoIPool
        >>> PSRoIPool(2, spatial_scale=0.5)(torch.rand(1, 12, 8, 8), [torch.tensor([[0.0, 0.0, 9.0, 9.0]])]).shape
        torch.Size([1, 3, 2, 2])
    """

    def forward(self, input: Tensor, rois: Tensor | Sequence[Tensor]) -> Tensor:
        return ps_roi_pool(input, rois, self.output_size, self.spatial_scale)


class RoIAlign(_RoI):
    """Divide regions into bins, and return the mean of interpolated values in each bin: `roi_align` as a module.

    Args:
        output_size: the number of bins, `(height, width)` or an int for both.
        spatial_scale: factor from box coordinates to pixels of `input`: 1/16 for features of a stride of 16.
        sampling_ratio: number of sampling points along each axis of a bin; if not positive, the size of the bin in pixels,
            rounded up.
        aligned: whether to shift boxes by half a pixel, so that they are aligned with pixel centres.

    Shape:
        - Input: features `(N, C, H, W)`, and regions `(K, 5)` or a list of `(L, 4)`.
        - Output: `(K, C, height, width)`.

    Example:
        >>> from flambeau_vision.ops import RoIAlign
        >>> align = RoIAlign(2, spatial_scale=0.5, sampling_ratio=2)
        >>> align(torch.rand(1, 3, 8, 8), [torch.tensor([[0.0, 0.0, 9.0, 9.0]])]).shape
        torch.Size([1, 3, 2, 2])
    """

    def __init__(self, output_size: Size, spatial_scale: float, sampling_ratio: int, aligned: bool = False) -> None:
        super().__init__(output_size, spatial_scale)
        self.sampling_ratio = sampling_ratio
        self.aligned = aligned

    def forward(self, input: Tensor, rois: Tensor | Sequence[Tensor]) -> Tensor:
        return roi_align(input, rois, self.output_size, self.spatial_scale, self.sampling_ratio, self.aligned)


class PSRoIAlign(_RoI):
    """Apply `roi_align`, but with separate input channels for each bin: `ps_roi_align` as a module.

    Args:
        output_size: the number of bins, `(height, width)` or an int for both.
        spatial_scale: factor from box coordinates to pixels of `input`: 1/16 for features of a stride of 16.
        sampling_ratio: number of sampling points along each axis of a bin; if not positive, the size of the bin in pixels,
            rounded up.

    Shape:
        - Input: features `(N, C * height * width, H, W)`, and regions `(K, 5)` or a list of `(L, 4)`.
        - Output: `(K, C, height, width)`.

    Example:
        >>> from flambeau_vision.ops import PSRoIAlign
        >>> align = PSRoIAlign(2, spatial_scale=0.5, sampling_ratio=2)
        >>> align(torch.rand(1, 12, 8, 8), [torch.tensor([[0.0, 0.0, 9.0, 9.0]])]).shape
        torch.Size([1, 3, 2, 2])
    """

    def __init__(self, output_size: Size, spatial_scale: float, sampling_ratio: int) -> None:
        super().__init__(output_size, spatial_scale)
        self.sampling_ratio = sampling_ratio

    def forward(self, input: Tensor, rois: Tensor | Sequence[Tensor]) -> Tensor:
        return ps_roi_align(input, rois, self.output_size, self.spatial_scale, self.sampling_ratio)
