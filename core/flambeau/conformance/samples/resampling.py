"""Interpolation, grids, and values at the points of grids."""

from __future__ import annotations

from typing import Any

from .normalization import bad_normalization, layer_function
from .sample import WIDE, fixed, real, torch_function

__all__ = ["BAD", "SAMPLES"]

_IMAGE = real(2, 4, 3, 2)


def _between(np: Any, x: Any, axis: int) -> Any:
    """Interpolate two values along an axis to four evenly spaced values, both ends included."""
    first, last = np.split(x, 2, axis)
    return np.concatenate([first + (last - first) * k / 3 for k in range(4)], axis)


def _linear(np: Any, x: Any, size: int, align: bool) -> Any:
    """Interpolate linearly along the last dimension."""
    length = x.shape[-1]
    centres = np.clip((np.arange(size) + 0.5) * length / size - 0.5, 0, length - 1)
    places = np.arange(size) * ((length - 1) / (size - 1)) if align else centres
    left = np.floor(places).astype(int)
    right = np.minimum(left + 1, length - 1)
    return x[..., left] * (1 - (places - left)) + x[..., right] * (places - left)


def _bilinear(np: Any, x: Any, height: int, width: int, align: bool) -> Any:
    return _linear(np, _linear(np, x, width, align).swapaxes(-1, -2), height, align).swapaxes(-1, -2)


SAMPLES = [
    torch_function("affine_grid_generator", lambda f, t: f(t, (1, 1, 2, 2), False), lambda np, t: np.array(
        [[[[-0.5, -0.5, 1], [0.5, -0.5, 1]], [[-0.5, 0.5, 1], [0.5, 0.5, 1]]]]) @ t[0].T, real(1, 2, 3)),
    *(torch_function(name, lambda f, x, g: f(x, g, 0, 0, True), lambda np, x, g: x.mean((2, 3), keepdims=True), real(1, 2, 2, 2),
          fixed([[[[0.0, 0.0]]]])) for name in ("grid_sampler", "grid_sampler_2d")),
    torch_function("grid_sampler_3d", lambda f, x, g: f(x, g, 0, 2, True), lambda np, x, g: x.mean((2, 3, 4), keepdims=True),
        real(1, 2, 2, 2, 2), fixed([[[[[0.0, 0.0, 0.0]]]]])),
    *(torch_function(f"nn.functional.{name}", lambda f, x: f(x, scale_factor=2), lambda np, x: x.repeat(2, 2).repeat(2, 3),
        _IMAGE)
      for name in ("upsample", "upsample_nearest")),
    torch_function("nn.functional.upsample_bilinear", lambda f, x: f(x, scale_factor=2), lambda np, x: _between(np, _between(np,
        x, 2), 3),
        real(2, 3, 2, 2)),
    layer_function("interpolate", lambda F, x: F.interpolate(x, 5), lambda np, x: x[..., [0, 0, 1, 1, 2]], real(2, 2, 3)),
    layer_function("interpolate", lambda F, x: F.interpolate(x, scale_factor=2), lambda np, x: x.repeat(2, -1).repeat(2, -2),
        real(1, 2, 3, 2)),
    layer_function("interpolate", lambda F, x: F.interpolate(x, 2, mode="nearest-exact"), lambda np, x: x[..., [1, 4]], real(1,
        2, 6)),
    layer_function("interpolate", lambda F, x: F.interpolate(x, 7, mode="linear"), lambda np, x: _linear(np, x, 7, False),
        real(1, 2, 4)),
    layer_function("interpolate", lambda F, x: F.interpolate(x, (5, 3), mode="bilinear"), lambda np, x: _bilinear(np, x, 5, 3,
        False),
        real(1, 2, 3, 4)),
    layer_function("interpolate", lambda F, x: F.interpolate(x, (5, 3), mode="bilinear", align_corners=True),
        lambda np, x: _bilinear(np, x, 5, 3, True),
        real(1, 2, 3, 4)),
    layer_function("interpolate", lambda F, x: F.interpolate(x, 2, mode="area"),
        lambda np, x: np.stack([x[..., :2].mean(-1), x[..., 1:].mean(-1)], -1),
        real(1, 2, 3)),
    layer_function("interpolate", lambda F, x: F.interpolate(x, (4, 4), mode="bicubic", align_corners=True), lambda np, x: x,
        real(1, 2, 4, 4)),
    layer_function("interpolate", lambda F, x: F.interpolate(x, (2, 2), mode="bilinear", antialias=True),
        lambda np, x: np.einsum("...hw,ih,jw->...ij", x, *[np.array([[3, 3, 1, 0], [0, 1, 3, 3]]) / 7] * 2), real(1, 2, 4, 4)),
    layer_function("interpolate", lambda F, x: F.interpolate(x, (3, 3, 3), mode="trilinear", align_corners=True),
        lambda np, x: _linear(np, _bilinear(np, x, 3, 3, True).swapaxes(2, 4), 3, True).swapaxes(2, 4), real(1, 1, 2, 2, 2)),
    layer_function("affine_grid", lambda F, t: F.affine_grid(t, (1, 1, 2, 2), align_corners=False),
        lambda np, t: np.array([[[[-0.5, -0.5, 1], [0.5, -0.5, 1]], [[-0.5, 0.5, 1], [0.5, 0.5, 1]]]]) @ t[0].T, real(1, 2, 3),
        dtypes=WIDE),
    layer_function("grid_sample", lambda F, x, g: F.grid_sample(x, g, align_corners=True), lambda np, x, g: x.mean((2, 3),
        keepdims=True),
        real(1, 2, 2, 2),
        fixed([[[[0.0, 0.0]]]]), dtypes=WIDE),
    layer_function("grid_sample", lambda F, x, g: F.grid_sample(x, g, mode="nearest", padding_mode="border", align_corners=True),
        lambda np, x, g: x[:, :, [[0, 1]], [[2, 0]]], real(1, 2, 2, 3), fixed([[[[3.0, -1.0], [-0.9, 0.8]]]]), dtypes=WIDE,
        grad=False),
    layer_function("grid_sample", lambda F, x, g: F.grid_sample(x, g, padding_mode="zeros", align_corners=False),
        lambda np, x, g: x * 0,
        real(1, 2, 2, 3),
        fixed([[[[3.0, -1.0], [-2.5, 0.8], [2.5, 0]], [[9.0, 9.0], [-9.0, 9.0], [9.0, 0]]]]), dtypes=WIDE, grad=False),
]  # fmt: skip


BAD = [
    bad_normalization("interpolate", lambda F, x: F.interpolate(x), error="ValueError"),
    bad_normalization("interpolate", lambda F, x: F.interpolate(x, 2, mode="bilinear"), error="NotImplementedError"),
    bad_normalization("interpolate", lambda F, x: F.interpolate(x, 2, mode="spline"), error="NotImplementedError"),
    bad_normalization("interpolate", lambda F, x: F.interpolate(x, 2, align_corners=True), error="ValueError"),
    bad_normalization("grid_sample", lambda F, x, g: F.grid_sample(x, g, mode="cubic"), real(1, 1, 2, 2), real(1, 1, 1, 2),
         error="ValueError"),
    bad_normalization("grid_sample", lambda F, x, g: F.grid_sample(x, g, align_corners=False), real(1, 1, 2, 2), real(2, 1, 1,
        2)),
    bad_normalization("affine_grid", lambda F, t: F.affine_grid(t, (1, 1, 2, 2), align_corners=False), real(1, 3, 3),
        error="ValueError"),
]  # fmt: skip
