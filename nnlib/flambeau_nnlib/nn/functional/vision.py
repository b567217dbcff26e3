"""Resizing of images, sequences and volumes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from flambeau import Tensor, channel_shuffle, pixel_shuffle, pixel_unshuffle
from flambeau.extension import Autocast, Kind, as_float, declare, require_flags, warn, whole_numbers
from flambeau.extension.functions import fold, resample, unfold

from .pooling import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d

__all__ = [
    "channel_shuffle", "fold", "interpolate", "native_channel_shuffle", "pixel_shuffle", "pixel_unshuffle", "unfold", "upsample",
    "upsample_bilinear", "upsample_nearest",
]  # fmt: skip

native_channel_shuffle = declare("native_channel_shuffle", kind=Kind.MOVEMENT)(channel_shuffle)

# --- resizing -----------------------------------------------------------------------------------------------------

# The number of input dimensions that each mode requires; modes that are missing accept several.
_DIMENSIONS = {"linear": 3, "bilinear": 4, "bicubic": 4, "lanczos": 4, "trilinear": 5}
_METHODS = {"linear": "linear", "bilinear": "linear", "trilinear": "linear", "bicubic": "cubic", "lanczos": "lanczos"}
_AREA_POOLS = {3: adaptive_avg_pool1d, 4: adaptive_avg_pool2d, 5: adaptive_avg_pool3d}


@declare(kind=Kind.RESAMPLING, autocast={"cpu": Autocast.WHOLE, "cuda": Autocast.FLOAT32})
def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Resize sequences, images or volumes to a given size or by a factor.

    Args:
        input: a tensor `(N, C, W)`, `(N, C, H, W)` or `(N, C, D, H, W)`.
        size: the spatial sizes of the result, or one number for all. Give either `size` or `scale_factor`.
        scale_factor: the factor of each spatial dimension, or one number for all; sizes are rounded down.
        mode: "nearest" (the pixel at the rounded-down position), "nearest-exact" (the nearest pixel), "area" (the mean of
            the pixels that an output pixel covers), "linear" (sequences), "bilinear", "bicubic", "lanczos" (images; the last with
            `antialias`) or "trilinear" (volumes).
        align_corners: whether input and output are aligned at the centres of the corner pixels, not at their outer edges.
            For the linear and cubic modes, where None means False.
        recompute_scale_factor: whether to interpolate with the factor computed from the rounded sizes instead of the given
            `scale_factor`; None means False.
        antialias: whether to widen the filter when images shrink, so that every pixel contributes; for "bilinear",
            "bicubic" and "lanczos".

    Raises:
        ValueError: both or neither of `size` and `scale_factor` are given, or the mode does not support an option.
        NotImplementedError: the mode is unknown, or not available for this number of dimensions.

    Example:
        >>> F.interpolate(torch.tensor([[[1.0, 2.0]]]), scale_factor=2)
        tensor([[[1., 1., 2., 2.]]])
        >>> F.interpolate(torch.tensor([[[1.0, 2.0]]]), size=3, mode="linear", align_corners=True)
        tensor([[[1.0000, 1.5000, 2.0000]]])
    """
    if mode in ("nearest", "area", "nearest-exact") and align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
        )
    sizes, scales = _target_sizes(input, size, scale_factor, bool(recompute_scale_factor) or mode == "area")
    if recompute_scale_factor and size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    if antialias and not (mode in ("bilinear", "bicubic", "lanczos") and input.dim() == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input"
        )
    _check_mode(input.dim(), mode)
    if mode == "lanczos" and (align_corners or not antialias):
        raise ValueError(
            "Lanczos mode does not support align_corners=True" if align_corners else "Lanczos mode requires antialias=True"
        )
    if align_corners is not None:
        require_flags(f"upsample_{mode}{input.dim() - 2}d", align_corners=align_corners)
    space = input.shape[2:]
    if min(space) < 1 or min(sizes) < 1:
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input ({_by_axis(space)}) output ({_by_axis(sizes)})"
        )
    if mode == "area":
        return _AREA_POOLS[input.dim()](input, sizes)
    method = mode if mode.startswith("nearest") else _METHODS[mode] + (" antialias" if antialias else "")
    return resample(input, sizes, scales, method, bool(align_corners))


def _target_sizes(input: Tensor, size: Any, scale_factor: Any, recompute: bool) -> tuple[list[int], list[float | None]]:
    """Return the output size of each spatial dimension, and its scale factor (None if not given)."""
    space = list(input.shape[2:])
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    if size is not None:
        sizes = size if isinstance(size, (tuple, list)) else [size] * len(space)
        if len(sizes) != len(space):
            raise ValueError(
                f"Input and output must have the same number of spatial dimensions, but got input with spatial dimensions of "
                f"{space} and output size of {size}. Please provide input tensor in (N, C, d1, d2, ...,dK) format and output "
                "size in (o1, o2, ...,oK) format."
            )
        return list(whole_numbers("size", sizes)), [None] * len(space)
    scales = list(scale_factor) if isinstance(scale_factor, (tuple, list)) else [scale_factor] * len(space)
    if len(scales) != len(space):
        raise ValueError(
            f"Input and scale_factor must have the same number of spatial dimensions, but got input with spatial dimensions of "
            f"{space} and scale_factor of shape {scale_factor}. Please provide input tensor in (N, C, d1, d2, ...,dK) format "
            "and scale_factor in (s1, s2, ...,sK) format."
        )
    scales = [as_float("interpolate", "scale_factor", scale) for scale in scales]
    sizes = [math.floor(length * scale) for length, scale in zip(space, scales, strict=True)]
    return sizes, [None] * len(space) if recompute else scales


def _check_mode(ndim: int, mode: str) -> None:
    expected = _DIMENSIONS.get(str(mode))
    if ndim in (3, 4, 5) and (mode in ("nearest", "nearest-exact", "area") or expected == ndim):
        return
    if ndim in (3, 4, 5) and expected and mode not in ("bicubic", "lanczos"):
        raise NotImplementedError(f"Got {ndim}D input, but {mode} mode needs {expected}D input")
    raise NotImplementedError(
        f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {ndim}D) for the modes: nearest | linear | bilinear | "
        f"bicubic | trilinear | lanczos | area | nearest-exact (got {mode})"
    )


def _by_axis(sizes: Sequence[int]) -> str:
    return ", ".join(f"{name}: {size}" for name, size in zip("DHW"[-len(sizes) :], sizes, strict=True))


@declare(kind=Kind.RESAMPLING, autocast={"cpu": Autocast.WHOLE, "cuda": Autocast.FLOAT32})
def upsample(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
) -> Tensor:
    """Call `interpolate`; deprecated, with a warning.

    Args:
        input: a tensor `(N, C, W)`, `(N, C, H, W)` or `(N, C, D, H, W)`.
        size, scale_factor: the size of the result, or the factor; exactly one of them must be given.
        mode: how to interpolate, as for `interpolate`.
        align_corners: whether to align the centres of the corner pixels, as for `interpolate`.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings(action="ignore"):
        ...     torch.nn.functional.upsample(torch.tensor([[[1.0, 2.0]]]), scale_factor=2)
        tensor([[[1., 1., 2., 2.]]])
    """
    warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode, align_corners)


@declare(kind=Kind.RESAMPLING)
def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Call `interpolate` with mode "nearest"; deprecated, with a warning.

    Args:
        input: a tensor `(N, C, W)`, `(N, C, H, W)` or `(N, C, D, H, W)`.
        size, scale_factor: the size of the result, or the factor; exactly one of them must be given.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings(action="ignore"):
        ...     torch.nn.functional.upsample_nearest(torch.tensor([[[1.0, 2.0]]]), scale_factor=2)
        tensor([[[1., 1., 2., 2.]]])
    """
    warn("`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode="nearest")


@declare(kind=Kind.RESAMPLING)
def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Call `interpolate` with mode "bilinear" and aligned corners; deprecated, with a warning.

    Args:
        input: a tensor `(N, C, H, W)`.
        size, scale_factor: the size of the result, or the factor; exactly one of them must be given.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings(action="ignore"):
        ...     torch.nn.functional.upsample_bilinear(torch.tensor([[[[1.0, 2.0]]]]), size=(1, 3))
        tensor([[[[1.0000, 1.5000, 2.0000]]]])
    """
    warn("`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)
