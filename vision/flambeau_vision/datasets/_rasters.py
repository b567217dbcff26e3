"""Read optical flow, disparity and depth files into NumPy arrays."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from .folder import open_image

__all__ = ["read_flo", "read_flow_png", "read_numbers", "read_pfm"]


def read_flo(path: str | Path) -> Any:
    """Read optical flow from a Middlebury `.flo` file as a float32 array of shape `(2, H, W)`.

    Raises:
        ValueError: the header is invalid.
    """
    import numpy as np

    content = Path(path).read_bytes()
    if content[:4] != b"PIEH":
        raise ValueError(f"Magic number incorrect. Invalid .flo file: {path}")
    width, height = np.frombuffer(content, "<i4", 2, offset=4).tolist()
    return np.frombuffer(content, "<f4", 2 * width * height, offset=12).reshape(height, width, 2).transpose(2, 0, 1)


def read_pfm(path: str | Path, channels: int) -> Any:
    """Read the first channels of a portable float map as a float32 array of shape `(channels, H, W)`.

    Raises:
        ValueError: the header is invalid.
    """
    import numpy as np

    # The header is the type, the size and a scale. A negative scale means little-endian. Rows are stored bottom to top.
    header = re.match(rb"(P[Ff])[ \t\r]*\n(\d+)[ \t](\d+)[ \t\r]*\n([-+.\deE]+)[ \t\r]*\n", content := Path(path).read_bytes())
    if header is None:
        raise ValueError(f"Invalid PFM file: {path}")
    kind, width, height, scale = header.groups()
    order = "<" if float(scale) < 0 else ">"
    values = np.frombuffer(content, f"{order}f4", offset=header.end())
    planes = values.reshape(int(height), int(width), 3 if kind == b"PF" else 1).transpose(2, 0, 1)
    return planes[:channels, ::-1].astype(np.float32)


def read_flow_png(path: str | Path) -> tuple[Any, Any]:
    """Read a KITTI flow PNG: the flow as float32 of shape `(2, H, W)` and a bool mask of valid pixels of shape `(H, W)`.

    Raises:
        ModuleNotFoundError: PyAV is not installed. It reads images with 16 bits per channel.
    """
    import flambeau as torch

    from ..io import decode_png, read_file

    planes = decode_png(read_file(path)).to(torch.float32)
    return ((planes[:2] - 2**15) / 64).numpy(), planes[2].bool().numpy()


def read_numbers(path: str | Path, dtype: Any = None) -> Any:
    """Read an image file as a NumPy array, without converting its mode."""
    import numpy as np

    return np.asarray(open_image(path), dtype=dtype)
