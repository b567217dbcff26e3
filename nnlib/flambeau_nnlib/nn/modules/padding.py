"""Padding layers, which add elements around their input.

`padding` is one number for all sides, or a number for each: left, right, then top, bottom, then front, back.
"""

from __future__ import annotations

from collections.abc import Sequence

from flambeau import Tensor

from .. import functional as F
from .module import Module
from .utils import _ntuple

__all__ = [
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]

Padding = int | Sequence[int]


class _Pad(Module):
    """The base of padding layers: pads the last `_dims` dimensions with `F.pad` in mode `_mode`."""

    __constants__: tuple[str, ...] = ("padding",)
    _dims: int
    _mode: str

    def __init__(self, padding: Padding) -> None:
        super().__init__()
        self.padding = _ntuple(2 * self._dims)(padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return str(self.padding)


class _ConstantPadNd(_Pad):
    __constants__ = ("padding", "value")

    def __init__(self, padding: Padding, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """Pads sequences with a constant.

    Args:
        padding: the numbers of elements to add on the left and on the right, or one number for both. Negative numbers
            crop.
        value: the value of the added elements.

    Shape:
        - Input: `(N, C, W)` or `(C, W)`.
        - Output: `(N, C, W_out)` or `(C, W_out)`, with `W_out = left + W + right`.

    Example:
        >>> torch.nn.ConstantPad1d((1, 2), 9.0)(torch.tensor([[1.0, 2.0]]))
        tensor([[9., 1., 2., 9., 9.]])
    """

    _dims = 1


class ConstantPad2d(_ConstantPadNd):
    """Pads images with a constant.

    Args:
        padding: the numbers of pixels to add on the left, right, top and bottom, in this order, or one number for all.
            Negative numbers crop.
        value: the value of the added elements.

    Shape:
        - Input: `(N, C, H, W)` or `(C, H, W)`.
        - Output: `(N, C, H_out, W_out)` or `(C, H_out, W_out)`, with `H_out = top + H + bottom` and
          `W_out = left + W + right`.

    Example:
        >>> torch.nn.ConstantPad2d((3, 0, 2, 1), 3.5)(torch.randn(1, 2, 2)).shape
        torch.Size([1, 5, 5])
    """

    _dims = 2


class ConstantPad3d(_ConstantPadNd):
    """Pads volumes with a constant.

    Args:
        padding: the numbers of voxels to add on the left, right, top, bottom, front and back, in this order, or one
            number for all. Negative numbers crop.
        value: the value of the added elements.

    Shape:
        - Input: `(N, C, D, H, W)` or `(C, D, H, W)`.
        - Output: `(N, C, D_out, H_out, W_out)` or `(C, D_out, H_out, W_out)`, with `D_out = front + D + back`,
          `H_out = top + H + bottom` and `W_out = left + W + right`.

    Example:
        >>> torch.nn.ConstantPad3d(1, 3.5)(torch.randn(1, 2, 3, 4)).shape
        torch.Size([1, 4, 5, 6])
    """

    _dims = 3


class _ZeroPad(_ConstantPadNd):
    def __init__(self, padding: Padding) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return str(self.padding)


class ZeroPad1d(_ZeroPad, ConstantPad1d):
    """Pads sequences with zeros.

    Args:
        padding: the numbers of elements to add on the left and on the right, or one number for both. Negative numbers
            crop.

    Shape:
        - Input: `(N, C, W)` or `(C, W)`.
        - Output: `(N, C, W_out)` or `(C, W_out)`, with `W_out = left + W + right`.

    Example:
        >>> torch.nn.ZeroPad1d(1)(torch.tensor([[1.0, 2.0]]))
        tensor([[0., 1., 2., 0.]])
    """


class ZeroPad2d(_ZeroPad, ConstantPad2d):
    """Pads images with zeros.

    Args:
        padding: the numbers of pixels to add on the left, right, top and bottom, in this order, or one number for all.
            Negative numbers crop.

    Shape:
        - Input: `(N, C, H, W)` or `(C, H, W)`.
        - Output: `(N, C, H_out, W_out)` or `(C, H_out, W_out)`, with `H_out = top + H + bottom` and
          `W_out = left + W + right`.

    Example:
        >>> torch.nn.ZeroPad2d((1, 1, 2, 0))(torch.ones(1, 1, 2))
        tensor([[[0., 0., 0., 0.],
                 [0., 0., 0., 0.],
                 [0., 1., 1., 0.]]])
    """


class ZeroPad3d(_ZeroPad, ConstantPad3d):
    """Pads volumes with zeros.

    Args:
        padding: the numbers of voxels to add on the left, right, top, bottom, front and back, in this order, or one
            number for all. Negative numbers crop.

    Shape:
        - Input: `(N, C, D, H, W)` or `(C, D, H, W)`.
        - Output: `(N, C, D_out, H_out, W_out)` or `(C, D_out, H_out, W_out)`, with `D_out = front + D + back`,
          `H_out = top + H + bottom` and `W_out = left + W + right`.

    Example:
        >>> torch.nn.ZeroPad3d(1)(torch.randn(1, 2, 3, 4)).shape
        torch.Size([1, 4, 5, 6])
    """


class _ReflectionPadNd(_Pad):
    _mode = "reflect"


class ReflectionPad1d(_ReflectionPadNd):
    """Pads sequences with their mirror image, without repeating the edge.

    Args:
        padding: the numbers of elements to add on the left and on the right, or one number for both. The call raises
            RuntimeError for a number that is not below the size of its dimension. Negative numbers crop.

    Shape:
        - Input: `(N, C, W)` or `(C, W)`.
        - Output: `(N, C, W_out)` or `(C, W_out)`, with `W_out = left + W + right`.

    Example:
        >>> torch.nn.ReflectionPad1d(2)(torch.tensor([[0.0, 1.0, 2.0, 3.0]]))
        tensor([[2., 1., 0., 1., 2., 3., 2., 1.]])
    """

    _dims = 1


class ReflectionPad2d(_ReflectionPadNd):
    """Pads images with their mirror image, without repeating the edge.

    Args:
        padding: the numbers of pixels to add on the left, right, top and bottom, in this order, or one number for all.
            The call raises RuntimeError for a number that is not below the size of its dimension. Negative numbers crop.

    Shape:
        - Input: `(N, C, H, W)` or `(C, H, W)`.
        - Output: `(N, C, H_out, W_out)` or `(C, H_out, W_out)`, with `H_out = top + H + bottom` and
          `W_out = left + W + right`.

    Example:
        >>> torch.nn.ReflectionPad2d((1, 1, 1, 0))(torch.tensor([[[0.0, 1.0], [2.0, 3.0]]]))
        tensor([[[3., 2., 3., 2.],
                 [1., 0., 1., 0.],
                 [3., 2., 3., 2.]]])
    """

    _dims = 2


class ReflectionPad3d(_ReflectionPadNd):
    """Pads volumes with their mirror image, without repeating the edge.

    Args:
        padding: the numbers of voxels to add on the left, right, top, bottom, front and back, in this order, or one
            number for all. The call raises RuntimeError for a number that is not below the size of its dimension. Negative
            numbers crop.

    Shape:
        - Input: `(N, C, D, H, W)` or `(C, D, H, W)`.
        - Output: `(N, C, D_out, H_out, W_out)` or `(C, D_out, H_out, W_out)`, with `D_out = front + D + back`,
          `H_out = top + H + bottom` and `W_out = left + W + right`.

    Example:
        >>> torch.nn.ReflectionPad3d(1)(torch.randn(1, 2, 3, 4)).shape
        torch.Size([1, 4, 5, 6])
    """

    _dims = 3


class _ReplicationPadNd(_Pad):
    _mode = "replicate"


class ReplicationPad1d(_ReplicationPadNd):
    """Pads sequences with copies of their first and last elements.

    Args:
        padding: the numbers of elements to add on the left and on the right, or one number for both. Negative numbers
            crop.

    Shape:
        - Input: `(N, C, W)` or `(C, W)`.
        - Output: `(N, C, W_out)` or `(C, W_out)`, with `W_out = left + W + right`.

    Example:
        >>> torch.nn.ReplicationPad1d((2, 1))(torch.tensor([[0.0, 1.0, 2.0]]))
        tensor([[0., 0., 0., 1., 2., 2.]])
    """

    _dims = 1


class ReplicationPad2d(_ReplicationPadNd):
    """Pads images with copies of the nearest edge pixel.

    Args:
        padding: the numbers of pixels to add on the left, right, top and bottom, in this order, or one number for all.
            Negative numbers crop.

    Shape:
        - Input: `(N, C, H, W)` or `(C, H, W)`.
        - Output: `(N, C, H_out, W_out)` or `(C, H_out, W_out)`, with `H_out = top + H + bottom` and
          `W_out = left + W + right`.

    Example:
        >>> torch.nn.ReplicationPad2d((1, 1, 1, 0))(torch.tensor([[[0.0, 1.0], [2.0, 3.0]]]))
        tensor([[[0., 0., 1., 1.],
                 [0., 0., 1., 1.],
                 [2., 2., 3., 3.]]])
    """

    _dims = 2


class ReplicationPad3d(_ReplicationPadNd):
    """Pads volumes with copies of the nearest edge voxel.

    Args:
        padding: the numbers of voxels to add on the left, right, top, bottom, front and back, in this order, or one
            number for all. Negative numbers crop.

    Shape:
        - Input: `(N, C, D, H, W)` or `(C, D, H, W)`.
        - Output: `(N, C, D_out, H_out, W_out)` or `(C, D_out, H_out, W_out)`, with `D_out = front + D + back`,
          `H_out = top + H + bottom` and `W_out = left + W + right`.

    Example:
        >>> torch.nn.ReplicationPad3d(1)(torch.randn(1, 2, 3, 4)).shape
        torch.Size([1, 4, 5, 6])
    """

    _dims = 3


class _CircularPadNd(_Pad):
    _mode = "circular"

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (self._dims + 1, self._dims + 2):
            raise ValueError(f"expected {self._dims + 1}D or {self._dims + 2}D input (got {input.dim()}D input)")
        return super().forward(input)


class CircularPad1d(_CircularPadNd):
    """Pads sequences circularly: each side gets the elements of the opposite end.

    Args:
        padding: the numbers of elements to add on the left and on the right, or one number for both. The call raises
            RuntimeError for a number that is above the size of its dimension. Negative numbers crop.

    Shape:
        - Input: `(N, C, W)` or `(C, W)`; ValueError for other numbers of dimensions.
        - Output: `(N, C, W_out)` or `(C, W_out)`, with `W_out = left + W + right`.

    Example:
        >>> torch.nn.CircularPad1d((1, 2))(torch.tensor([[0.0, 1.0, 2.0]]))
        tensor([[2., 0., 1., 2., 0., 1.]])
    """

    _dims = 1


class CircularPad2d(_CircularPadNd):
    """Pads images circularly: each side gets the pixels of the opposite side.

    Args:
        padding: the numbers of pixels to add on the left, right, top and bottom, in this order, or one number for all.
            The call raises RuntimeError for a number that is above the size of its dimension. Negative numbers crop.

    Shape:
        - Input: `(N, C, H, W)` or `(C, H, W)`; ValueError for other numbers of dimensions.
        - Output: `(N, C, H_out, W_out)` or `(C, H_out, W_out)`, with `H_out = top + H + bottom` and
          `W_out = left + W + right`.

    Example:
        >>> torch.nn.CircularPad2d((1, 1, 1, 0))(torch.tensor([[[0.0, 1.0], [2.0, 3.0]]]))
        tensor([[[3., 2., 3., 2.],
                 [1., 0., 1., 0.],
                 [3., 2., 3., 2.]]])
    """

    _dims = 2


class CircularPad3d(_CircularPadNd):
    """Pads volumes circularly: each side gets the voxels of the opposite side.

    Args:
        padding: the numbers of voxels to add on the left, right, top, bottom, front and back, in this order, or one
            number for all. The call raises RuntimeError for a number that is above the size of its dimension. Negative
            numbers crop.

    Shape:
        - Input: `(N, C, D, H, W)` or `(C, D, H, W)`; ValueError for other numbers of dimensions.
        - Output: `(N, C, D_out, H_out, W_out)` or `(C, D_out, H_out, W_out)`, with `D_out = front + D + back`,
          `H_out = top + H + bottom` and `W_out = left + W + right`.

    Example:
        >>> torch.nn.CircularPad3d(1)(torch.randn(1, 2, 3, 4)).shape
        torch.Size([1, 4, 5, 6])
    """

    _dims = 3
