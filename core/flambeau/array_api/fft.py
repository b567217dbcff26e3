"""The Fourier transforms of the array API (its `fft` extension)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import flambeau as torch

from ..engine.tensors.tensor import Tensor
from ..engine.values.dtypes import dtype

__all__ = [
    "fft",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfftn",
    "rfft",
    "rfftfreq",
    "rfftn",
]

_fft: Any = torch.fft


def _wrap_one_dimensional(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def wrapper(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
        return function(x, n, axis, norm).resolve_conj()  # other libraries do not support lazy conjugation

    return _copy_name_and_doc(wrapper, function)


def _wrap_n_dimensional(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def wrapper(
        x: Tensor, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str = "backward"
    ) -> Tensor:
        return function(x, s, axes, norm)

    return _copy_name_and_doc(wrapper, function)


def _copy_name_and_doc(wrapper: Any, function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    wrapper.__name__ = wrapper.__qualname__ = function.__name__
    wrapper.__doc__ = function.__doc__
    return wrapper  # type: ignore[no-any-return]


fft: Callable[..., Tensor] = _wrap_one_dimensional(_fft.fft)
ifft: Callable[..., Tensor] = _wrap_one_dimensional(_fft.ifft)
rfft: Callable[..., Tensor] = _wrap_one_dimensional(_fft.rfft)
irfft: Callable[..., Tensor] = _wrap_one_dimensional(_fft.irfft)
hfft: Callable[..., Tensor] = _wrap_one_dimensional(_fft.hfft)
ihfft: Callable[..., Tensor] = _wrap_one_dimensional(_fft.ihfft)
fftn: Callable[..., Tensor] = _wrap_n_dimensional(_fft.fftn)
ifftn: Callable[..., Tensor] = _wrap_n_dimensional(_fft.ifftn)
rfftn: Callable[..., Tensor] = _wrap_n_dimensional(_fft.rfftn)
irfftn: Callable[..., Tensor] = _wrap_n_dimensional(_fft.irfftn)


def fftfreq(n: int, /, *, d: float = 1.0, dtype: dtype | None = None, device: Any = None) -> Tensor:
    """Return the sample frequencies of `fft` for `n` samples with spacing `d`."""
    return _fft.fftfreq(n, d, dtype=dtype, device=device)  # type: ignore[no-any-return]


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: dtype | None = None, device: Any = None) -> Tensor:
    """Return the sample frequencies of `rfft` for `n` samples with spacing `d`."""
    return _fft.rfftfreq(n, d, dtype=dtype, device=device)  # type: ignore[no-any-return]


def fftshift(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
    """Shift the zero-frequency component to the center of the array."""
    return _fft.fftshift(x, axes)  # type: ignore[no-any-return]


def ifftshift(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
    """Undo `fftshift`."""
    return _fft.ifftshift(x, axes)  # type: ignore[no-any-return]
