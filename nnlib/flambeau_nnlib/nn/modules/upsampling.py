"""Upsampling layers, which resize sequences, images and volumes."""

from __future__ import annotations

from flambeau import Tensor

from .. import functional as F
from .module import Module

__all__ = ["Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]


class Upsample(Module):
    """Resizes sequences, images or volumes, to a given size or by a factor.

    Args:
        size: the spatial sizes of the output, or one number for all. Give either `size` or `scale_factor`; otherwise the
            call raises ValueError.
        scale_factor: the factor of each spatial dimension, or one number for all; sizes are rounded down.
        mode: "nearest" (the pixel at the rounded-down position), "nearest-exact" (the nearest pixel), "linear" (sequences),
            "bilinear", "bicubic" (images), "trilinear" (volumes) or "area" (the mean of the covered pixels).
        align_corners: whether input and output are aligned at the centres of the corner pixels, not at their outer edges.
            For the linear and cubic modes, where None means False; the call raises ValueError for other modes.
        recompute_scale_factor: whether to interpolate with the factor computed from the rounded sizes instead of the given
            `scale_factor`; None means False.

    Shape:
        - Input: `(N, C, W_in)`, `(N, C, H_in, W_in)` or `(N, C, D_in, H_in, W_in)`.
        - Output: `(N, C, W_out)`, `(N, C, H_out, W_out)` or `(N, C, D_out, H_out, W_out)`, with sizes from `size`, or
          `floor(size_in * scale_factor)`.

    Example:
        >>> torch.nn.Upsample(scale_factor=2)(torch.tensor([[[1.0, 2.0]]]))
        tensor([[[1., 1., 2., 2.]]])
        >>> torch.nn.Upsample(size=5, mode="linear", align_corners=True)(torch.tensor([[[1.0, 2.0]]]))
        tensor([[[1.0000, 1.2500, 1.5000, 1.7500, 2.0000]]])
    """

    __constants__ = ("size", "scale_factor", "mode", "align_corners", "name", "recompute_scale_factor")

    def __init__(
        self,
        size: int | tuple[int, ...] | None = None,
        scale_factor: float | tuple[float, ...] | None = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.name = type(self).__name__
        self.size = size
        self.scale_factor: float | tuple[float, ...] | None
        if isinstance(scale_factor, tuple):
            self.scale_factor = tuple(float(factor) for factor in scale_factor)
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            recompute_scale_factor=self.recompute_scale_factor,
        )

    def extra_repr(self) -> str:
        if self.scale_factor is not None:
            return f"scale_factor={self.scale_factor!r}, mode={self.mode!r}"
        return f"size={self.size!r}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Resizes images by nearest-neighbour interpolation: `Upsample` in mode "nearest".

    Args:
        size: height and width of the output, or one number for both. Give either `size` or `scale_factor`.
        scale_factor: the factors of height and width, or one number for both; sizes are rounded down.

    Shape:
        - Input: `(N, C, H_in, W_in)`.
        - Output: `(N, C, H_out, W_out)`, of the size given, or `floor(size_in * scale_factor)`.

    Example:
        >>> torch.nn.UpsamplingNearest2d(scale_factor=2)(torch.tensor([[[[1.0, 2.0]]]]))
        tensor([[[[1., 1., 2., 2.],
                  [1., 1., 2., 2.]]]])
    """

    def __init__(
        self, size: int | tuple[int, int] | None = None, scale_factor: float | tuple[float, float] | None = None
    ) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Resizes images by bilinear interpolation with aligned corner pixels.

    It is `Upsample` in mode "bilinear" with `align_corners=True`.

    Args:
        size: height and width of the output, or one number for both. Give either `size` or `scale_factor`.
        scale_factor: the factors of height and width, or one number for both; sizes are rounded down.

    Shape:
        - Input: `(N, C, H_in, W_in)`.
        - Output: `(N, C, H_out, W_out)`, of the size given, or `floor(size_in * scale_factor)`.

    Example:
        >>> torch.nn.UpsamplingBilinear2d(size=(1, 3))(torch.tensor([[[[1.0, 2.0]]]]))
        tensor([[[[1.0000, 1.5000, 2.0000]]]])
    """

    def __init__(
        self, size: int | tuple[int, int] | None = None, scale_factor: float | tuple[float, float] | None = None
    ) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
