"""Show images: arrange them in grids, draw boxes, masks and keypoints, and colour optical flow."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import flambeau as torch

from ._extras import pillow
from .transforms.functional import pil_to_tensor, to_pil_image

__all__ = [
    "draw_bounding_boxes",
    "draw_keypoints",
    "draw_segmentation_masks",
    "flow_to_image",
    "make_grid",
    "save_image",
]

Tensor = torch.Tensor
Colour = str | tuple[int, int, int]

_DASH = 5  # length of the dashes, and of the gaps between them, in pixels


def _normalize_range(image: Tensor, value_range: tuple[float, float] | None) -> Tensor:
    """Map `value_range` linearly to `[0, 1]`; the default range is `(image.min(), image.max())`."""
    low, high = (image.min().item(), image.max().item()) if value_range is None else value_range
    return (image.clamp(low, high) - low) / max(high - low, 1e-5)


def make_grid(
    tensor: Tensor | list[Tensor],
    nrow: int = 8,
    padding: int = 2,
    normalize: bool = False,
    value_range: tuple[float, float] | None = None,
    scale_each: bool = False,
    pad_value: float = 0.0,
) -> Tensor:
    """Arrange images in a grid and return it as one image.

    Args:
        tensor: images of shape `(N, C, H, W)`, or a list of images of one size.
        nrow: number of images in a row.
        padding: number of pixels between images and around the grid.
        normalize: whether to scale the values to `[0, 1]`.
        value_range: values `(low, high)` that `normalize` maps to 0 and 1; None for the minimum and the maximum.
        scale_each: whether to normalize each image separately.
        pad_value: value of the pixels between images.

    Returns:
        a tensor of shape `(C, height, width)`; grey images get three channels.

    Raises:
        TypeError: `tensor` is not a tensor or a list of tensors, or `value_range` is not a tuple.

    Example:
        >>> from flambeau_vision.utils import make_grid
        >>> make_grid(torch.rand(5, 1, 8, 8), nrow=3).shape
        torch.Size([3, 22, 32])
    """
    if isinstance(tensor, list | tuple):
        tensor = torch.stack(list(tensor), dim=0)
    if not isinstance(tensor, Tensor):
        raise TypeError(f"tensor or list of tensors expected, got {type(tensor)}")
    if tensor.ndim < 4:
        tensor = tensor.reshape(1, -1, *tensor.shape[-2:])
    if tensor.shape[1] == 1:
        tensor = tensor.expand(-1, 3, -1, -1)
    if normalize:
        if value_range is not None and not isinstance(value_range, tuple):
            raise TypeError("value_range has to be a tuple (min, max) if specified. min and max are numbers")
        stretched = [_normalize_range(image, value_range) for image in tensor] if scale_each else None
        tensor = torch.stack(stretched) if scale_each else _normalize_range(tensor, value_range)
    count, channels, height, width = tensor.shape
    if count == 1:
        return tensor[0]
    columns = min(nrow, count)
    rows = math.ceil(count / columns)
    height, width = height + padding, width + padding
    grid = tensor.new_full((channels, height * rows + padding, width * columns + padding), pad_value)
    for index, image in enumerate(tensor):
        top, left = index // columns * height + padding, index % columns * width + padding
        grid[:, top : top + height - padding, left : left + width - padding] = image
    return grid


def save_image(tensor: Tensor | list[Tensor], fp: str | Path | BinaryIO, format: str | None = None, **kwargs: Any) -> None:
    """Write an image to a file; several images are arranged in a grid.

    Args:
        tensor: images with values from 0 to 1, in a form that `make_grid` accepts.
        fp: a path or an open file.
        format: the file format, such as `"png"`; None to use the extension of the path.
        **kwargs: further arguments of `make_grid`.

    Example:
        >>> import tempfile
        >>> from flambeau_vision.io import read_image
        >>> from flambeau_vision.utils import save_image
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_image(torch.rand(4, 3, 8, 8), f"{folder}/grid.png", nrow=2)
        ...     read_image(f"{folder}/grid.png").shape
        torch.Size([3, 22, 22])
    """
    grid = make_grid(tensor, **kwargs)
    pixels = grid.detach().mul(255).add(0.5).clamp(0, 255).to("cpu", torch.uint8)
    to_pil_image(pixels).save(fp, format=format)


def _check_image(image: Tensor, channels: tuple[int, ...] = (3,)) -> None:
    if not isinstance(image, Tensor):
        raise TypeError(f"Tensor expected, got {type(image)}")
    if not (image.dtype == torch.uint8 or image.is_floating_point()):
        raise ValueError(f"The image dtype must be uint8 or float, got {image.dtype}")
    if image.ndim != 3:
        raise ValueError("Pass individual images, not batches")
    if image.shape[0] not in channels:
        raise ValueError("Only grayscale and RGB images are supported" if 1 in channels else "Pass an RGB image.")


def _palette(count: int) -> list[tuple[int, int, int]]:
    """Return a list of `count` colours. Neighbours in the list are easy to distinguish."""
    multipliers = (2**25 - 1, 2**15 - 1, 2**21 - 1)
    return [tuple((index * multiplier) % 255 for multiplier in multipliers) for index in range(count)]


def _colours(colors: Any, count: int) -> list[tuple[int, ...]]:
    """Convert the argument `colors` of a drawing function to a list of `count` colours, one for each object."""
    if colors is None:
        return _palette(count)
    if isinstance(colors, str | tuple):
        colors = [colors] * count
    if len(colors) < count:
        raise ValueError(f"Number of colors must be equal or larger than the number of objects, but got {len(colors)} < {count}.")
    parse = pillow("ImageColor").getrgb
    return [parse(color) if isinstance(color, str) else color for color in colors[:count]]


def _open_canvas(image: Tensor) -> tuple[Any, Any]:
    """Convert an image tensor to a PIL image; return it together with the module `PIL.ImageDraw`."""
    pixels = image if image.dtype == torch.uint8 else image.mul(255).round().clamp(0, 255).to(torch.uint8)
    canvas = to_pil_image(pixels.expand(3, -1, -1) if pixels.shape[0] == 1 else pixels)
    return canvas, pillow("ImageDraw")


def _canvas_to_tensor(canvas: Any, image: Tensor) -> Tensor:
    """Convert a PIL image to a tensor with the dtype and device of `image`."""
    pixels = pil_to_tensor(canvas).to(image.device)
    return pixels if image.dtype == torch.uint8 else pixels.to(image.dtype) / 255


def draw_bounding_boxes(
    image: Tensor,
    boxes: Tensor,
    labels: Sequence[str | None] | None = None,
    colors: Sequence[Colour] | Colour | None = None,
    fill: bool = False,
    width: int = 1,
    font: str | None = None,
    font_size: int | None = None,
    label_colors: Sequence[Colour] | Colour | None = None,
    label_background_colors: Sequence[Colour] | Colour | None = None,
    fill_labels: bool = False,
) -> Tensor:
    """Draw boxes on an image.

    Args:
        image: shape `(3, H, W)` or `(1, H, W)`, uint8, or floating with values from 0 to 1.
        boxes: shape `(N, 4)`: left, top, right, bottom, in pixels; or rotated boxes of shape `(N, 8)`, the `(x, y)` of four
            corners. The side between the first two corners is dashed.
        labels: a text or None for each box; None for no texts.
        colors: one colour, or a list with a colour per box: names, `"#rrggbb"` or `(r, g, b)` from 0 to 255; None for
            different colours.
        fill: whether to fill the boxes with a half transparent colour.
        width: width of the lines in pixels.
        font: a TrueType font file; None for the default font of Pillow.
        font_size: font size in points; None for 10.
        label_colors: text colours; None for the colours of the boxes, or black with `fill_labels`.
        label_background_colors: background colours of the texts; None for the colours of the boxes.
        fill_labels: whether to fill the rectangles behind the texts.

    Returns:
        a new image of shape `(3, H, W)`, of the dtype of `image`.

    Raises:
        ValueError: the number of labels or colours does not match the boxes, `x2 < x1` or `y2 < y1` in a box, or
            `image` has the wrong shape.

    Example:
        >>> from flambeau_vision.utils import draw_bounding_boxes
        >>> image = torch.zeros(3, 4, 5, dtype=torch.uint8)
        >>> draw_bounding_boxes(image, torch.tensor([[1, 0, 3, 2]]), colors="red")[0]
        tensor([[  0, 255, 255, 255,   0],
                [  0, 255,   0, 255,   0],
                [  0, 255, 255, 255,   0],
                [  0,   0,   0,   0,   0]], dtype=torch.uint8)
    """
    _check_image(image, (1, 3))
    if labels is not None and len(labels) != len(boxes):
        raise ValueError(
            f"The number of boxes ({len(boxes)}) and labels ({len(labels)}) mismatch. Please specify labels for each box."
        )
    if boxes.shape[-1] == 4 and ((boxes[:, 0] > boxes[:, 2]) | (boxes[:, 1] > boxes[:, 3])).any():
        raise ValueError("Boxes need to be in (xmin, ymin, xmax, ymax) format. Use flambeau_vision.ops.box_convert")
    outline_colors = _colours(colors, len(boxes))
    if label_colors is None:
        label_colors = "black" if fill_labels else outline_colors
    text_colors = _colours(label_colors, len(boxes))
    backgrounds = _colours(outline_colors if label_background_colors is None else label_background_colors, len(boxes))
    canvas, image_draw = _open_canvas(image)
    draw = image_draw.Draw(canvas, "RGBA" if fill else None)
    text_font = _load_font(font, font_size)
    for index, box in enumerate(boxes.to(torch.int64).tolist()):
        outline = tuple(outline_colors[index])
        draw_box = draw.rectangle if len(box) == 4 else partial(_draw_rotated, draw)
        draw_box(box, width=width, outline=outline, fill=(*outline, 100) if fill else None)
        if labels is not None and labels[index] is not None:
            place = (box[0] + width + 1, box[1] + width + 1)
            if fill_labels:
                left, top, right, bottom = draw.textbbox(place, labels[index], font=text_font)
                draw.rectangle((left - 1, top - 1, right + 1, bottom + 1), fill=tuple(backgrounds[index]))
            draw.text(place, labels[index], fill=tuple(text_colors[index]), font=text_font)
    return _canvas_to_tensor(canvas, image)


def _draw_rotated(draw: Any, box: list[int], width: int, outline: tuple[int, ...], fill: tuple[int, ...] | None) -> None:
    """Draw a rotated box, whose first side is dashed. `fill` is the colour inside; None for no filling."""
    corners = list(zip(box[::2], box[1::2], strict=True))
    (x, y), (end_x, end_y) = corners[:2]
    length, angle, is_dash = math.hypot(end_x - x, end_y - y), math.atan2(end_y - y, end_x - x), True
    while length > 0:
        step = min(length, _DASH)
        start, x, y = (x, y), x + math.cos(angle) * step, y + math.sin(angle) * step
        if is_dash:
            draw.line([start, (x, y)], outline, width)
        length, is_dash = length - step, not is_dash
    for side in range(1, 4):
        draw.line([corners[side], corners[(side + 1) % 4]], outline, width)
    if fill is not None:
        draw.polygon(box, fill=fill, width=0)


def _load_font(font: str | None, size: int | None) -> Any:
    fonts = pillow("ImageFont")
    return fonts.load_default() if font is None else fonts.truetype(font=font, size=size or 10)


def draw_segmentation_masks(
    image: Tensor,
    masks: Tensor,
    alpha: float = 0.8,
    colors: Sequence[Colour] | Colour | None = None,
) -> Tensor:
    """Colour the pixels of masks; pixels in several masks become black.

    Args:
        image: shape `(3, H, W)`, uint8, or floating with values from 0 to 1.
        masks: booleans of shape `(N, H, W)` or `(H, W)`.
        alpha: opacity of the masks, from 0 (only the image is visible) to 1 (only the colour is visible).
        colors: one colour, or a list with a colour per mask: names, `"#rrggbb"` or `(r, g, b)` from 0 to 255; None for
            different colours.

    Returns:
        a new image.

    Raises:
        ValueError: `masks` are not boolean, their size differs from that of `image`, or there are too few colours.

    Example:
        >>> from flambeau_vision.utils import draw_segmentation_masks
        >>> image = torch.zeros(3, 1, 3, dtype=torch.uint8)
        >>> draw_segmentation_masks(image, torch.tensor([[True, False, True]]), alpha=1.0, colors="lime")[1]
        tensor([[255,   0, 255]], dtype=torch.uint8)
    """
    _check_image(image)
    masks = masks[None] if masks.ndim == 2 else masks
    if masks.ndim != 3:
        raise ValueError("masks must be of shape (H, W) or (batch_size, H, W)")
    if masks.dtype != torch.bool:
        raise ValueError(f"The masks must be of dtype bool. Got {masks.dtype}")
    if masks.shape[-2:] != image.shape[-2:]:
        raise ValueError("The image and the masks must have the same height and width")
    if len(masks) == 0:
        warnings.warn("masks doesn't contain any mask. No mask was drawn", stacklevel=2)
        return image
    white = 255 if image.dtype == torch.uint8 else 1.0
    coloured = image.clone()
    for mask, color in zip(masks, _colours(colors, len(masks)), strict=True):
        value = torch.tensor(color, device=image.device) * (white / 255)
        coloured[:, mask] = value.to(image.dtype)[:, None]
    coloured[:, masks.sum(dim=0) > 1] = 0
    mixed = image * (1 - alpha) + coloured * alpha
    untouched = ~masks.any(dim=0)
    return torch.where(untouched, image, mixed.to(image.dtype))


def draw_keypoints(
    image: Tensor,
    keypoints: Tensor,
    connectivity: Sequence[tuple[int, int]] | None = None,
    colors: Colour | None = None,
    radius: int = 2,
    width: int = 3,
    visibility: Tensor | None = None,
) -> Tensor:
    """Draw keypoints and, for skeletons, the lines between them.

    Args:
        image: shape `(3, H, W)`, uint8, or floating with values from 0 to 1.
        keypoints: `(x, y)` in pixels, of shape `(instances, K, 2)`.
        connectivity: pairs of indices of points to connect, from 0 to K - 1; None for no lines.
        colors: the colour of the points, a name, `"#rrggbb"` or `(r, g, b)`; None for blue.
        radius: radius of the points in pixels.
        width: width of the lines in pixels.
        visibility: booleans of shape `(instances, K)` or `(instances, K, 1)`, True for points to draw; None for all.

    Returns:
        a new image.

    Raises:
        ValueError: `keypoints` or `visibility` have the wrong shape.

    Example:
        >>> from flambeau_vision.utils import draw_keypoints
        >>> image = torch.zeros(3, 3, 7, dtype=torch.uint8)
        >>> draw_keypoints(image, torch.tensor([[[1, 1], [5, 1]]]), colors="red", radius=1)[0, 1]
        tensor([255, 255, 255,   0, 255, 255, 255], dtype=torch.uint8)
    """
    _check_image(image)
    if keypoints.ndim != 3:
        raise ValueError("keypoints must be of shape (num_instances, K, 2)")
    if visibility is None:
        visibility = torch.ones(keypoints.shape[:-1], dtype=torch.bool)
    visibility = visibility[..., 0] if visibility.ndim == 3 else visibility
    if visibility.shape != keypoints.shape[:-1]:
        raise ValueError(
            "keypoints and visibility must have the same dimensionality for num_instances and K. "
            f"Got {tuple(visibility.shape) = } and {tuple(keypoints.shape) = }"
        )
    canvas, image_draw = _open_canvas(image)
    draw = image_draw.Draw(canvas)
    for points, visible_points in zip(keypoints.to(torch.int64).tolist(), visibility.tolist(), strict=True):
        for (x, y), visible in zip(points, visible_points, strict=True):
            if visible:
                corners = (x - radius, y - radius, x + radius, y + radius)
                draw.ellipse(corners, fill=colors or (0, 0, 255))
        for start, end in connectivity or ():
            if visible_points[start] and visible_points[end]:
                draw.line((*points[start], *points[end]), width=width)
    return _canvas_to_tensor(canvas, image)


def _colour_wheel() -> Tensor:
    """Return the 55 colours that the [Middlebury benchmark](https://vision.middlebury.edu/flow/) assigns to directions."""
    # In each of the six parts of the wheel, one channel is 255, another one rises from 0 or falls to 0, and the third is 0.
    arcs = (
        (0, 1, 15, True),
        (1, 0, 6, False),
        (1, 2, 4, True),
        (2, 1, 11, False),
        (2, 0, 13, True),
        (0, 2, 6, False),
    )
    parts = []
    for full, changing, length, rises in arcs:
        part = torch.zeros(length, 3)
        ramp = torch.floor(255 * torch.arange(length) / length)
        part[:, full] = 255
        part[:, changing] = ramp if rises else 255 - ramp
        parts.append(part)
    return torch.cat(parts)


def flow_to_image(flow: Tensor) -> Tensor:
    """Show optical flow as colours: the hue is the direction, and the saturation is the speed relative to the fastest pixel.

    The colours are those of the [Middlebury benchmark](https://vision.middlebury.edu/flow/).

    Args:
        flow: float32 `(dx, dy)` of shape `(2, H, W)` or `(N, 2, H, W)`.

    Returns:
        a uint8 tensor of shape `(3, H, W)` or `(N, 3, H, W)`; pixels that do not move are white.

    Raises:
        ValueError: `flow` has another dtype or shape.

    Example:
        >>> from flambeau_vision.utils import flow_to_image
        >>> flow = torch.tensor([[[0.0, 1.0]], [[0.0, 0.0]]])
        >>> flow_to_image(flow)[:, 0].T
        tensor([[255, 255, 255],
                [255,   0,   0]], dtype=torch.uint8)
    """
    if flow.dtype != torch.float:
        raise ValueError(f"Flow should be of dtype torch.float, got {flow.dtype}.")
    if flow.ndim not in (3, 4) or flow.shape[-3] != 2:
        raise ValueError(f"Input flow should have shape (2, H, W) or (N, 2, H, W), got {tuple(flow.shape)}.")
    speed = (flow**2).sum(dim=-3).sqrt()
    flow = flow / (speed.max() + 1e-5)
    dx, dy = flow.unbind(-3)
    speed = (flow**2).sum(dim=-3).sqrt()
    wheel = _colour_wheel().to(flow.device)
    position = (torch.atan2(-dy, -dx) / math.pi + 1) / 2 * (len(wheel) - 1)
    lower = torch.floor(position).long()
    upper = torch.where(lower + 1 == len(wheel), torch.zeros_like(lower), lower + 1)
    fraction = (position - lower)[..., None]
    colour = ((1 - fraction) * wheel[lower] + fraction * wheel[upper]) / 255.0
    colour = 1 - speed[..., None] * (1 - colour)
    return torch.floor(255 * colour).to(torch.uint8).movedim(-1, -3)
