"""Written by `python -m flambeau.cli.stubs`."""
# ruff: noqa: E501

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from collections.abc import Sequence
from typing import Any, overload

from . import return_types
from .engine.tensors.tensor import Tensor
from .engine.values.dtypes import dtype as _dtype
from .random import Generator

__all__ = [  # noqa: RUF022
    "Tensor", "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2", "ifftn",
    "ifftshift", "ihfft", "ihfft2", "ihfftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip

def fft(input: Tensor, n: _int | None = ..., dim: _int = ..., norm: str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the one-dimensional discrete Fourier transform."""
def fft2(input: Tensor, s: Any = ..., dim: Any = ..., norm: str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the two-dimensional discrete Fourier transform."""
def fftfreq(n: _int, d: _float = ..., **options: Any) -> Tensor:
    """Return the frequencies of `fft` for samples with spacing `d`, in cycles per unit of `d`.

    >>> torch.fft.fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
def fftn(input: Tensor, s: Any = ..., dim: Any = ..., norm: str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the discrete Fourier transform over the dimensions `dim`; by default the last `len(s)`, or all without `s`."""
def fftshift(input: Tensor, dim: Any = ...) -> Tensor:
    """Move the zero frequency from index 0 to the middle."""
def hfft(input: Tensor, n: _int | None = ..., dim: _int = ..., norm: str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the (real) transform of a Hermitian-symmetric signal, given by its first half."""
def hfft2(input: Tensor, s: Any = ..., dim: Any = ..., norm: str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the two-dimensional `hfft`. The input holds only the first half of the last transformed dimension."""
def hfftn(input: Tensor, s: Any = ..., dim: Any = ..., norm: str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the multi-dimensional `hfft`. The input holds only the first half of the last transformed dimension."""
def ifft(input: Tensor, n: _int | None = ..., dim: _int = ..., norm: str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the inverse of `fft`."""
def ifft2(input: Tensor, s: Any = ..., dim: Any = ..., norm: str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the inverse of `fft2`."""
def ifftn(input: Tensor, s: Any = ..., dim: Any = ..., norm: str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the inverse of `fftn`."""
def ifftshift(input: Tensor, dim: Any = ...) -> Tensor:
    """Undo `fftshift`."""
def ihfft(input: Tensor, n: _int | None = ..., dim: _int = ..., norm: str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the inverse of `hfft`."""
def ihfft2(input: Tensor, s: Any = ..., dim: Any = ..., norm: str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the inverse of `hfft2`."""
def ihfftn(input: Tensor, s: Any = ..., dim: Any = ..., norm: str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the inverse of `hfftn`."""
def irfft(input: Tensor, n: _int | None = ..., dim: _int = ..., norm: str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the inverse of `rfft`, with output size `n`; by default `2 * (m - 1)` for `m` frequencies."""
def irfft2(input: Tensor, s: Any = ..., dim: Any = ..., norm: str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the inverse of `rfft2`."""
def irfftn(input: Tensor, s: Any = ..., dim: Any = ..., norm: str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the inverse of `rfftn`."""
def rfft(input: Tensor, n: _int | None = ..., dim: _int = ..., norm: str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the transform of real input, for the `n // 2 + 1` non-negative frequencies only: they determine the others.

    >>> torch.fft.rfft(torch.ones(4))
    tensor([4.+0.j, 0.+0.j, 0.+0.j])
    """
def rfft2(input: Tensor, s: Any = ..., dim: Any = ..., norm: str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the two-dimensional transform of real input; the last dimension keeps only non-negative frequencies."""
def rfftfreq(n: _int, d: _float = ..., **options: Any) -> Tensor:
    """Return the `n // 2 + 1` frequencies of `rfft` for samples with spacing `d`, in cycles per unit of `d`."""
def rfftn(input: Tensor, s: Any = ..., dim: Any = ..., norm: str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the multi-dimensional transform of real input; the last dimension keeps only non-negative frequencies."""
