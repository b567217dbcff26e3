"""Decode and encode images with Pillow."""

from __future__ import annotations

import io
from enum import Enum
from pathlib import Path
from typing import Any

import flambeau as torch

from .._extras import optional, pillow
from ..transforms.functional import pil_to_tensor, to_pil_image

__all__ = [
    "ImageReadMode",
    "decode_avif",
    "decode_gif",
    "decode_heic",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "decode_webp",
    "encode_jpeg",
    "encode_png",
    "read_file",
    "read_image",
    "write_file",
    "write_jpeg",
    "write_png",
]

Tensor = torch.Tensor


class ImageReadMode(Enum):
    """Channels of a decoded image."""

    UNCHANGED = 0
    GRAY = 1
    GRAY_ALPHA = 2
    RGB = 3
    RGB_ALPHA = 4
    RGBA = RGB_ALPHA


_PIL_MODES = {
    ImageReadMode.GRAY: "L",
    ImageReadMode.GRAY_ALPHA: "LA",
    ImageReadMode.RGB: "RGB",
    ImageReadMode.RGB_ALPHA: "RGBA",
}


def read_file(path: str | Path) -> Tensor:
    """Read a file into a one-dimensional `uint8` tensor."""
    return torch.frombuffer(bytearray(Path(path).read_bytes()), dtype=torch.uint8)


def write_file(filename: str | Path, data: Tensor) -> None:
    """Write a one-dimensional `uint8` tensor to a file."""
    Path(filename).write_bytes(data.cpu().numpy().tobytes())


def _encoded_bytes(input: Tensor) -> bytes:
    if not isinstance(input, Tensor) or input.dtype != torch.uint8 or input.ndim != 1:
        raise ValueError("Expected a one-dimensional uint8 tensor with the bytes of an image")
    return input.cpu().numpy().tobytes()


def _open(input: Tensor, formats: tuple[str, ...] | None = None) -> Any:
    try:
        return pillow().open(io.BytesIO(_encoded_bytes(input)), formats=formats)
    except pillow().UnidentifiedImageError as error:
        kinds = "a known image format" if formats is None else " or ".join(formats)
        raise RuntimeError(f"The bytes are not {kinds}") from error


def _to_tensor(image: Any, mode: ImageReadMode | str) -> Tensor:
    mode = ImageReadMode[mode.upper()] if isinstance(mode, str) else mode
    if mode in _PIL_MODES:
        image = image.convert(_PIL_MODES[mode])
    elif image.mode in ("1", "P", "CMYK"):
        image = image.convert("L" if image.mode == "1" else "RGBA" if "transparency" in image.info else "RGB")
    return pil_to_tensor(image)


def _deep_png(data: bytes) -> bool:
    """Whether `data` is a colour PNG with 16 bits per channel. Pillow would drop the lower 8 bits."""
    return data[:8] == b"\x89PNG\r\n\x1a\n" and data[24:25] == b"\x10" and data[25:26] in (b"\x02", b"\x06")


def _decode_deep_png(data: bytes, mode: ImageReadMode) -> Tensor:
    av = optional("av", "av", "decoding PNG images of 16 bits a channel")
    has_alpha = mode is ImageReadMode.RGB_ALPHA or (mode is ImageReadMode.UNCHANGED and data[25] == 6)
    with av.open(io.BytesIO(data), format="png_pipe") as container:
        (frame,) = container.decode(video=0)
        pixels = frame.to_ndarray(format="rgba64le" if has_alpha else "rgb48le")
    return torch.from_numpy(pixels).permute(2, 0, 1)


def decode_image(
    input: Tensor | str | Path,
    mode: ImageReadMode | str = ImageReadMode.UNCHANGED,
    apply_exif_orientation: bool = False,
) -> Tensor:
    """Decode an image in JPEG, PNG, GIF, WebP or any other format that Pillow supports.

    Args:
        input: the encoded bytes as a `uint8` tensor, or a path. PNG images with 16 bits per channel are decoded to `uint16`
            by PyAV.
        mode: the channels of the result; by default the channels of the image.
        apply_exif_orientation: rotate or flip the image according to its EXIF orientation.

    Returns:
        Shape `(C, H, W)`.

    Raises:
        RuntimeError: if the bytes are not an image in a supported format.

    Example:
        >>> from flambeau_vision.io import decode_image, encode_png
        >>> image = torch.arange(12, dtype=torch.uint8).reshape(3, 2, 2)
        >>> torch.equal(decode_image(encode_png(image)), image)
        True
    """
    encoded = input if isinstance(input, Tensor) else read_file(input)
    data = _encoded_bytes(encoded)
    chosen = ImageReadMode[mode.upper()] if isinstance(mode, str) else mode
    if _deep_png(data) and chosen not in (ImageReadMode.GRAY, ImageReadMode.GRAY_ALPHA):
        return _decode_deep_png(data, chosen)
    image = _open(encoded)
    if apply_exif_orientation:
        image = pillow("ImageOps").exif_transpose(image)
    return _to_tensor(image, mode)


def read_image(
    path: str | Path,
    mode: ImageReadMode | str = ImageReadMode.UNCHANGED,
    apply_exif_orientation: bool = False,
) -> Tensor:
    """Read a file and decode it with `decode_image`."""
    return decode_image(read_file(path), mode, apply_exif_orientation)


def decode_png(
    input: Tensor, mode: ImageReadMode | str = ImageReadMode.UNCHANGED, apply_exif_orientation: bool = False
) -> Tensor:
    """Decode a PNG image, as `decode_image` does."""
    _open(input, ("PNG",))
    return decode_image(input, mode, apply_exif_orientation)


def decode_jpeg(
    input: Tensor | list[Tensor],
    mode: ImageReadMode | str = ImageReadMode.UNCHANGED,
    device: torch.device | str = "cpu",
    apply_exif_orientation: bool = False,
) -> Tensor | list[Tensor]:
    """Decode a JPEG image to a tensor on `device`, or a list of JPEG images to a list of tensors."""
    if isinstance(input, list):
        return [decode_jpeg(data, mode, device, apply_exif_orientation) for data in input]
    _open(input, ("JPEG",))
    return decode_image(input, mode, apply_exif_orientation).to(device)


def decode_webp(input: Tensor, mode: ImageReadMode | str = ImageReadMode.UNCHANGED) -> Tensor:
    """Decode a WebP image, as `decode_image` does."""
    return _to_tensor(_open(input, ("WEBP",)), mode)


def decode_avif(input: Tensor, mode: ImageReadMode | str = ImageReadMode.UNCHANGED) -> Tensor:
    """Decode an AVIF image, as `decode_image` does. Requires Pillow 11.3 or later."""
    return _to_tensor(_open(input, ("AVIF",)), mode)


def decode_heic(input: Tensor, mode: ImageReadMode | str = ImageReadMode.UNCHANGED) -> Tensor:
    """Decode a HEIC image, as `decode_image` does. Requires the package `pillow-heif`."""
    optional("pillow_heif", "pillow-heif", "decoding HEIC").register_heif_opener()
    return _to_tensor(_open(input, ("HEIF",)), mode)


def decode_gif(input: Tensor) -> Tensor:
    """Decode a GIF into shape `(3, H, W)`, or `(frames, 3, H, W)` if it is animated."""
    image = _open(input, ("GIF",))
    frames = []
    for index in range(getattr(image, "n_frames", 1)):
        image.seek(index)
        frames.append(pil_to_tensor(image.convert("RGB")))
    return torch.stack(frames) if len(frames) > 1 else frames[0]


def _encode(input: Tensor, **options: Any) -> Tensor:
    if input.dtype != torch.uint8:
        raise RuntimeError(f"Input tensor dtype should be uint8, got {input.dtype}")
    if input.ndim != 3 or input.shape[0] not in (1, 3):
        raise RuntimeError(f"Input data should have shape (1 or 3, H, W), got {tuple(input.shape)}")
    encoded = io.BytesIO()
    to_pil_image(input).save(encoded, **options)
    return torch.frombuffer(bytearray(encoded.getvalue()), dtype=torch.uint8)


def encode_png(input: Tensor, compression_level: int = 6) -> Tensor:
    """Encode an image of shape `(1 or 3, H, W)` as PNG bytes, with a `compression_level` from 0 to 9."""
    if not 0 <= compression_level <= 9:
        raise RuntimeError(f"Compression level should be between 0 and 9, got {compression_level}")
    return _encode(input, format="PNG", compress_level=compression_level)


def write_png(input: Tensor, filename: str | Path, compression_level: int = 6) -> None:
    """Write an image to a PNG file, as encoded by `encode_png`."""
    write_file(filename, encode_png(input, compression_level))


def encode_jpeg(input: Tensor | list[Tensor], quality: int = 75) -> Tensor | list[Tensor]:
    """Encode an image of shape `(1 or 3, H, W)`, or a list of images, as JPEG bytes, with a `quality` from 1 to 100."""
    if not 1 <= quality <= 100:
        raise ValueError(f"Image quality should be a positive number between 1 and 100, got {quality}")
    if isinstance(input, list):
        return [encode_jpeg(image, quality) for image in input]
    return _encode(input, format="JPEG", quality=quality)


def write_jpeg(input: Tensor, filename: str | Path, quality: int = 75) -> None:
    """Write an image to a JPEG file, as encoded by `encode_jpeg`."""
    write_file(filename, encode_jpeg(input, quality))
