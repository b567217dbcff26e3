"""Layers that add a border to their input.

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
    """Pads the last `_dims` dimensions; `_mode` is that of `F.pad`."""

    __constants__ = ("padding",)
    _dims: int
    _mode: str

    def __init__(self, padding: Padding) -> None:
        super().__init__()
        self.padding = _ntuple(2 * self._dims)(padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return str(self.padding)


class _ConstantPad(_Pad):
    __constants__ = ("padding", "value")

    def __init__(self, padding: Padding, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPad):
    """Pads `(C, W)` or `(N, C, W)` input with `value`.

    >>> import flambeau as torch
    >>> torch.nn.ConstantPad1d((1, 2), 9.0)(torch.tensor([[1.0, 2.0]]))
    tensor([[9., 1., 2., 9., 9.]])
    """

    _dims = 1


class ConstantPad2d(_ConstantPad):
    """Pads `(C, H, W)` or `(N, C, H, W)` input with `value`.

    >>> import flambeau as torch
    >>> torch.nn.ConstantPad2d((3, 0, 2, 1), 3.5)(torch.randn(1, 2, 2)).shape
    torch.Size([1, 5, 5])
    """

    _dims = 2


class ConstantPad3d(_ConstantPad):
    """Pads `(C, D, H, W)` or `(N, C, D, H, W)` input with `value`.

    >>> import flambeau as torch
    >>> torch.nn.ConstantPad3d(1, 3.5)(torch.randn(1, 2, 3, 4)).shape
    torch.Size([1, 4, 5, 6])
    """

    _dims = 3


class _ZeroPad(_ConstantPad):
    def __init__(self, padding: Padding) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return str(self.padding)


class ZeroPad1d(_ZeroPad, ConstantPad1d):
    """Pads `(C, W)` or `(N, C, W)` input with zeros.

    >>> import flambeau as torch
    >>> torch.nn.ZeroPad1d(1)(torch.tensor([[1.0, 2.0]]))
    tensor([[0., 1., 2., 0.]])
    """


class ZeroPad2d(_ZeroPad, ConstantPad2d):
    """Pads `(C, H, W)` or `(N, C, H, W)` input with zeros.

    >>> import flambeau as torch
    >>> torch.nn.ZeroPad2d((1, 1, 2, 0))(torch.randn(1, 1, 3, 3)).shape
    torch.Size([1, 1, 5, 5])
    """


class ZeroPad3d(_ZeroPad, ConstantPad3d):
    """Pads `(C, D, H, W)` or `(N, C, D, H, W)` input with zeros.

    >>> import flambeau as torch
    >>> torch.nn.ZeroPad3d(1)(torch.randn(1, 2, 3, 4)).shape
    torch.Size([1, 4, 5, 6])
    """


class _ReflectionPad(_Pad):
    _mode = "reflect"


class ReflectionPad1d(_ReflectionPad):
    """Pads `(C, W)` or `(N, C, W)` input with its mirror image, the edge itself not repeated.

    >>> import flambeau as torch
    >>> torch.nn.ReflectionPad1d(2)(torch.tensor([[0.0, 1.0, 2.0, 3.0]]))
    tensor([[2., 1., 0., 1., 2., 3., 2., 1.]])
    """

    _dims = 1


class ReflectionPad2d(_ReflectionPad):
    """Pads `(C, H, W)` or `(N, C, H, W)` input with its mirror image.

    >>> import flambeau as torch
    >>> torch.nn.ReflectionPad2d((1, 1, 2, 0))(torch.randn(1, 1, 3, 3)).shape
    torch.Size([1, 1, 5, 5])
    """

    _dims = 2


class ReflectionPad3d(_ReflectionPad):
    """Pads `(C, D, H, W)` or `(N, C, D, H, W)` input with its mirror image.

    >>> import flambeau as torch
    >>> torch.nn.ReflectionPad3d(1)(torch.randn(1, 2, 3, 4)).shape
    torch.Size([1, 4, 5, 6])
    """

    _dims = 3


class _ReplicationPad(_Pad):
    _mode = "replicate"


class ReplicationPad1d(_ReplicationPad):
    """Pads `(C, W)` or `(N, C, W)` input with copies of its edge.

    >>> import flambeau as torch
    >>> torch.nn.ReplicationPad1d((2, 1))(torch.tensor([[0.0, 1.0, 2.0]]))
    tensor([[0., 0., 0., 1., 2., 2.]])
    """

    _dims = 1


class ReplicationPad2d(_ReplicationPad):
    """Pads `(C, H, W)` or `(N, C, H, W)` input with copies of its edge.

    >>> import flambeau as torch
    >>> torch.nn.ReplicationPad2d((1, 1, 2, 0))(torch.randn(1, 1, 3, 3)).shape
    torch.Size([1, 1, 5, 5])
    """

    _dims = 2


class ReplicationPad3d(_ReplicationPad):
    """Pads `(C, D, H, W)` or `(N, C, D, H, W)` input with copies of its edge.

    >>> import flambeau as torch
    >>> torch.nn.ReplicationPad3d(1)(torch.randn(1, 2, 3, 4)).shape
    torch.Size([1, 4, 5, 6])
    """

    _dims = 3


class _CircularPad(_Pad):
    _mode = "circular"

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (self._dims + 1, self._dims + 2):
            raise ValueError(f"expected {self._dims + 1}D or {self._dims + 2}D input (got {input.dim()}D input)")
        return super().forward(input)


class CircularPad1d(_CircularPad):
    """Pads `(C, W)` or `(N, C, W)` input with its other end.

    >>> import flambeau as torch
    >>> torch.nn.CircularPad1d((1, 2))(torch.tensor([[0.0, 1.0, 2.0]]))
    tensor([[2., 0., 1., 2., 0., 1.]])
    """

    _dims = 1


class CircularPad2d(_CircularPad):
    """Pads `(C, H, W)` or `(N, C, H, W)` input with its other end.

    >>> import flambeau as torch
    >>> torch.nn.CircularPad2d((1, 1, 2, 0))(torch.randn(1, 1, 3, 3)).shape
    torch.Size([1, 1, 5, 5])
    """

    _dims = 2


class CircularPad3d(_CircularPad):
    """Pads `(C, D, H, W)` or `(N, C, D, H, W)` input with its other end.

    >>> import flambeau as torch
    >>> torch.nn.CircularPad3d(1)(torch.randn(1, 2, 3, 4)).shape
    torch.Size([1, 4, 5, 6])
    """

    _dims = 3
