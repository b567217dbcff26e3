"""Conversion of arrays, figures and videos to images for TensorBoard."""

from __future__ import annotations

import io
import math
import tempfile
from typing import Any

import flambeau as torch

__all__ = ["as_array", "encode_image", "encode_video", "figure_to_image", "make_grid", "to_hwc", "to_uint8"]


def as_array(x: Any) -> Any:
    """Convert a tensor, array or number to a NumPy array.

    Raises:
        NotImplementedError: `x` has another type.
    """
    import numpy as np

    if isinstance(x, np.ndarray):
        return x
    if np.isscalar(x):
        return np.array([x])
    if isinstance(x, torch.Tensor):
        x = x.detach().cpu()
        return (x.to(torch.float16) if x.dtype == torch.bfloat16 else x).numpy()
    raise NotImplementedError(f"Got {type(x)}, but numpy array or torch tensor are expected.")


def to_hwc(array: Any, dataformats: str) -> Any:
    """Convert an image to shape (H, W, C) with at least three channels. A batch of images becomes one grid.

    Args:
        array: the image or the batch of images.
        dataformats: the order of its dimensions, such as `"CHW"`, `"HW"` or `"NCHW"`.

    Raises:
        AssertionError: a letter is repeated, or the number of letters is not the number of dimensions.
    """
    import numpy as np

    if len(set(dataformats)) != len(dataformats):
        raise AssertionError(f"You can not use the same dimension shorthand twice. input_format: {dataformats}")
    if array.ndim != len(dataformats):
        raise AssertionError(
            f"size of input tensor and input format are different. tensor shape: {array.shape}, input_format: {dataformats}"
        )
    target_format = {4: "NCHW", 3: "HWC", 2: "HW"}[array.ndim]
    array = array.transpose([dataformats.upper().find(letter) for letter in target_format])
    if array.ndim == 4:
        return make_grid(array).transpose(1, 2, 0)
    if array.ndim == 2:
        array = array[:, :, None]
    return np.concatenate([array] * 3, 2) if array.shape[2] == 1 else array


def make_grid(images: Any, ncols: int = 8) -> Any:
    """Arrange images of shape (N, 1 or 3, H, W) in a grid with `ncols` columns, of shape (3, H', W')."""
    import numpy as np

    if images.shape[1] == 1:
        images = np.concatenate([images] * 3, 1)
    if images.ndim != 4 or images.shape[1] != 3:
        raise AssertionError("Input should be a 4D numpy array with 3 channels")
    count, _, height, width = images.shape
    ncols = min(count, ncols)
    grid = np.zeros((3, height * math.ceil(count / ncols), width * ncols), images.dtype)
    for i, image in enumerate(images):
        row, column = divmod(i, ncols)
        grid[:, row * height : (row + 1) * height, column * width : (column + 1) * width] = image
    return grid


def to_uint8(array: Any) -> Any:
    """Convert values in [0, 1] to uint8 values from 0 to 255. uint8 arrays are unchanged."""
    import numpy as np

    scale = 1 if array.dtype == np.uint8 else 255
    return (array.astype(np.float32) * scale).clip(0, 255).astype(np.uint8)


def encode_image(array: Any, rescale: float = 1, boxes: Any = None, labels: Any = None) -> Any:
    """Encode an image of uint8 values (H, W, C), with optional boxes drawn on it, as a protocol buffer containing a PNG."""
    from PIL import Image
    from tensorboard.compat.proto.summary_pb2 import Summary

    height, width, channels = array.shape
    image = Image.fromarray(array)
    for i, box in enumerate(() if boxes is None else boxes):
        _draw_box(image, [float(corner) for corner in box], None if labels is None else labels[i])
    image = image.resize((int(width * rescale), int(height * rescale)), Image.Resampling.LANCZOS)
    file = io.BytesIO()
    image.save(file, format="PNG")
    return Summary.Image(height=height, width=width, colorspace=channels, encoded_image_string=file.getvalue())


def _draw_box(image: Any, box: list[float], label: str | None) -> None:
    import numpy as np
    from PIL import ImageDraw, ImageFont

    font, draw = ImageFont.load_default(), ImageDraw.Draw(image)
    left, top, right, bottom = box
    draw.line([(left, top), (left, bottom), (right, bottom), (right, top), (left, top)], width=2, fill="Red")
    if label:
        x0, y0, x1, y1 = font.getbbox(label)
        margin = np.ceil(0.05 * (y1 - y0))
        draw.rectangle([(left, bottom - (y1 - y0) - 2 * margin), (left + x1 - x0, bottom)], fill="Red")
        draw.text((left + margin, bottom - (y1 - y0) - margin), label, fill="black", font=font)


def figure_to_image(figures: Any, close: bool = True) -> Any:
    """Render a matplotlib figure as uint8 values of shape (3, H, W), or a list of figures as (N, 3, H, W)."""
    import numpy as np
    from matplotlib import pyplot
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    if isinstance(figures, list):
        return np.stack([figure_to_image(figure, close) for figure in figures])
    canvas: Any = FigureCanvasAgg(figures)
    canvas.draw()
    width, height = figures.canvas.get_width_height()
    pixels = np.frombuffer(canvas.buffer_rgba(), dtype=np.uint8).reshape(height, width, 4)
    if close:
        pyplot.close(figures)
    return np.moveaxis(pixels[:, :, :3], 2, 0)


def encode_video(video: Any, fps: float) -> Any:
    """Encode videos of shape (N, T, C, H, W) side by side, as a protocol buffer containing a GIF.

    Raises:
        ImportError: moviepy is not installed.
    """
    from tensorboard.compat.proto.summary_pb2 import Summary

    try:
        try:
            from moviepy import ImageSequenceClip
        except ImportError:  # moviepy before version 2
            from moviepy.editor import ImageSequenceClip
    except ImportError as error:
        raise ImportError("add_video needs package moviepy") from error
    frames = to_uint8(_make_video_grid(video))
    _, height, width, channels = frames.shape
    with tempfile.NamedTemporaryFile(suffix=".gif") as file:
        ImageSequenceClip(list(frames), fps=fps).write_gif(file.name, logger=None)
        encoded = file.read()
    return Summary.Image(height=height, width=width, colorspace=channels, encoded_image_string=encoded)


def _make_video_grid(video: Any) -> Any:
    """Arrange videos of shape (N, T, C, H, W) in a grid, of shape (T, H', W', C). Black cells are added up to a power of two."""
    import numpy as np

    if video.dtype == np.uint8:
        video = np.float32(video) / 255.0
    count, time, channels, height, width = video.shape
    missing = (1 << (count - 1).bit_length()) - count
    video = np.concatenate((video, np.zeros((missing, time, channels, height, width))), axis=0) if missing else video
    rows = 1 << ((count.bit_length() - 1) // 2)
    columns = len(video) // rows
    video = video.reshape(rows, columns, time, channels, height, width).transpose(2, 0, 4, 1, 5, 3)
    return video.reshape(time, rows * height, columns * width, channels)
