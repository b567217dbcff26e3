"""Unfolding into columns, and folding back."""

from __future__ import annotations

from typing import Any

from .convolution import IMAGE, Sizes, padded
from .sample import Sample, bad_functional, real
from .views import view

__all__ = ["BAD", "SAMPLES"]


def _columns(np: Any, x: Any, kernel: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes) -> Any:
    x = padded(np, x, padding)
    size = [(x.shape[2 + i] - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1 for i in range(2)]
    columns = [
        x[:, :, i * dilation[0] :, j * dilation[1] :][:, :, :: stride[0], :: stride[1]][:, :, : size[0], : size[1]]
        for i in range(kernel[0])
        for j in range(kernel[1])
    ]
    return np.stack(columns, 2).reshape(len(x), -1, size[0] * size[1])


def _folded(np: Any, columns: Any, shape: Sizes, *geometry: Any) -> Any:
    """Compute folding as the adjoint of unfolding, by multiplication with its matrix."""
    length = shape[1] * shape[2] * shape[3]
    basis = np.eye(length).reshape(length, *shape[1:])
    matrix = _columns(np, basis, *geometry).reshape(length, -1)
    return (columns.reshape(len(columns), -1) @ matrix.T).reshape(len(columns), *shape[1:])


_WINDOWS = {"kernel_size": (2, 3), "dilation": (2, 1), "padding": (1, 2), "stride": (2, 1)}
_ORDER = ("kernel_size", "dilation", "padding", "stride")


SAMPLES = [
    Sample("nn.functional.unfold", lambda torch, x: torch.nn.functional.unfold(x, **_WINDOWS), [real(2, 3, 5, 4)],
           lambda np, x: _columns(np, x, *(_WINDOWS[name] for name in _ORDER))),
    Sample("nn.functional.unfold", lambda torch, x: torch.nn.functional.unfold(x, 2), [real(3, 5, 4)],
           lambda np, x: _columns(np, x[None], (2, 2), (1, 1), (0, 0), (1, 1))[0]),
    Sample("nn.functional.fold", lambda torch, x: torch.nn.functional.fold(x, (5, 4), **_WINDOWS), [real(2, 6, 18)],
           lambda np, x: _folded(np, x, (2, 1, 5, 4), *(_WINDOWS[name] for name in _ORDER)), atol=1e-3),
    Sample("nn.functional.fold", lambda torch, x: torch.nn.functional.fold(x, 4, 2, stride=2), [real(8, 4)],
           lambda np, x: _folded(np, x[None], (1, 2, 4, 4), (2, 2), (1, 1), (0, 0), (2, 2))[0]),
    view("Tensor.unfold", lambda torch, x: torch.Tensor.unfold(x, 1, 2, 1),
          lambda np, x: np.lib.stride_tricks.sliding_window_view(x, 2, 1), real(2, 4)),
]  # fmt: skip


BAD = [
    bad_functional("unfold", lambda F, x: F.unfold(x, 6), IMAGE),
    bad_functional("fold", lambda F, x: F.fold(x, 4, 2), real(1, 8, 10)),
]  # fmt: skip
