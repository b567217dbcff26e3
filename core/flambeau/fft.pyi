"""Written by `python -m flambeau.cli.stubs`."""
# ruff: noqa: E501

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from collections.abc import Sequence
from typing import Any, overload

from . import return_types
from .engine.devices.devices import device as _device
from .engine.tensors.tensor import Tensor
from .engine.values.constants import layout as _layout
from .engine.values.constants import memory_format as _memory_format
from .engine.values.dtypes import dtype as _dtype
from .random import Generator

__all__ = [  # noqa: RUF022
    "Tensor", "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2", "ifftn",
    "ifftshift", "ihfft", "ihfft2", "ihfftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip

def fft(input: Tensor, n: _int | None = ..., dim: _int = ..., norm: str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the one-dimensional discrete Fourier transform.

    Args:
        n: the length along `dim` to which the input is cropped or zero-padded; None for no change.
        dim: the transformed dimension.
        norm: the scaling: "backward" or None for `1 / n` in the inverse transforms, "forward" for `1 / n` in the forward ones,
            "ortho" for `1 / sqrt(n)` in both. `n` is the number of transformed points.
    """
def fft2(input: Tensor, s: _int | Sequence[_int] | None = ..., dim: _int | Sequence[_int] = ..., norm: str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the two-dimensional discrete Fourier transform.

    Args:
        s: the lengths along `dim` to which the input is cropped or zero-padded; None, or a length of -1, for no change.
        dim: the transformed dimensions; None for the last `len(s)` or, if `s` is None as well, for all.
        norm: the scaling: "backward" or None for `1 / n` in the inverse transforms, "forward" for `1 / n` in the forward ones,
            "ortho" for `1 / sqrt(n)` in both. `n` is the number of transformed points.
    """
def fftfreq(n: _int, d: _float = ..., **options: Any) -> Tensor:
    """Return the frequencies of `fft` for samples with spacing `d`, in cycles per unit of `d`.

    Args:
        n: the number of samples.
        d: the distance between samples.
        **options: `dtype` (floating-point), `layout`, `device`, `requires_grad` and `out`, as for `torch.empty`.

    >>> torch.fft.fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
def fftn(input: Tensor, s: _int | Sequence[_int] | None = ..., dim: _int | Sequence[_int] | None = ..., norm: str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the discrete Fourier transform over the dimensions `dim`; by default the last `len(s)`, or all without `s`.

    Args:
        s: the lengths along `dim` to which the input is cropped or zero-padded; None, or a length of -1, for no change.
        dim: the transformed dimensions; None for the last `len(s)` or, if `s` is None as well, for all.
        norm: the scaling: "backward" or None for `1 / n` in the inverse transforms, "forward" for `1 / n` in the forward ones,
            "ortho" for `1 / sqrt(n)` in both. `n` is the number of transformed points.
    """
def fftshift(input: Tensor, dim: _int | Sequence[_int] | None = ...) -> Tensor:
    """Move the zero frequency from index 0 to the middle.

    Args:
        dim: the dimension or dimensions to shift; None for all.
    """
def hfft(input: Tensor, n: _int | None = ..., dim: _int = ..., norm: str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the (real) transform of a Hermitian-symmetric signal, given by its first half.

    Args:
        n: the length of the result along `dim`; None for `2 * (m - 1)`, where `m` is the size of that dimension of the input.
        dim: the transformed dimension.
        norm: the scaling: "backward" or None for `1 / n` in the inverse transforms, "forward" for `1 / n` in the forward ones,
            "ortho" for `1 / sqrt(n)` in both. `n` is the number of transformed points.
    """
def hfft2(input: Tensor, s: _int | Sequence[_int] | None = ..., dim: _int | Sequence[_int] = ..., norm: str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the two-dimensional `hfft`. The input holds only the first half of the last transformed dimension.

    Args:
        s: the lengths of the result along `dim`; None, or a length of -1, for the length in the input and, in the last transformed
            dimension, for `2 * (m - 1)`, where `m` is the size of that dimension of the input.
        dim: the transformed dimensions; None for the last `len(s)` or, if `s` is None as well, for all.
        norm: the scaling: "backward" or None for `1 / n` in the inverse transforms, "forward" for `1 / n` in the forward ones,
            "ortho" for `1 / sqrt(n)` in both. `n` is the number of transformed points.
    """
def hfftn(input: Tensor, s: _int | Sequence[_int] | None = ..., dim: _int | Sequence[_int] | None = ..., norm: str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the multi-dimensional `hfft`. The input holds only the first half of the last transformed dimension.

    Args:
        s: the lengths of the result along `dim`; None, or a length of -1, for the length in the input and, in the last transformed
            dimension, for `2 * (m - 1)`, where `m` is the size of that dimension of the input.
        dim: the transformed dimensions; None for the last `len(s)` or, if `s` is None as well, for all.
        norm: the scaling: "backward" or None for `1 / n` in the inverse transforms, "forward" for `1 / n` in the forward ones,
            "ortho" for `1 / sqrt(n)` in both. `n` is the number of transformed points.
    """
def ifft(input: Tensor, n: _int | None = ..., dim: _int = ..., norm: str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the inverse of `fft`.

    Args:
        n: the length along `dim` to which the input is cropped or zero-padded; None for no change.
        dim: the transformed dimension.
        norm: the scaling: "backward" or None for `1 / n` in the inverse transforms, "forward" for `1 / n` in the forward ones,
            "ortho" for `1 / sqrt(n)` in both. `n` is the number of transformed points.
    """
def ifft2(input: Tensor, s: _int | Sequence[_int] | None = ..., dim: _int | Sequence[_int] = ..., norm: str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the inverse of `fft2`.

    Args:
        s: the lengths along `dim` to which the input is cropped or zero-padded; None, or a length of -1, for no change.
        dim: the transformed dimensions; None for the last `len(s)` or, if `s` is None as well, for all.
        norm: the scaling: "backward" or None for `1 / n` in the inverse transforms, "forward" for `1 / n` in the forward ones,
            "ortho" for `1 / sqrt(n)` in both. `n` is the number of transformed points.
    """
def ifftn(input: Tensor, s: _int | Sequence[_int] | None = ..., dim: _int | Sequence[_int] | None = ..., norm: str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the inverse of `fftn`.

    Args:
        s: the lengths along `dim` to which the input is cropped or zero-padded; None, or a length of -1, for no change.
        dim: the transformed dimensions; None for the last `len(s)` or, if `s` is None as well, for all.
        norm: the scaling: "backward" or None for `1 / n` in the inverse transforms, "forward" for `1 / n` in the forward ones,
            "ortho" for `1 / sqrt(n)` in both. `n` is the number of transformed points.
    """
def ifftshift(input: Tensor, dim: _int | Sequence[_int] | None = ...) -> Tensor:
    """Undo `fftshift`.

    Args:
        dim: the dimension or dimensions to shift; None for all.
    """
def ihfft(input: Tensor, n: _int | None = ..., dim: _int = ..., norm: str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the inverse of `hfft`.

    Args:
        n: the length along `dim` to which the input is cropped or zero-padded; None for no change.
        dim: the transformed dimension.
        norm: the scaling: "backward" or None for `1 / n` in the inverse transforms, "forward" for `1 / n` in the forward ones,
            "ortho" for `1 / sqrt(n)` in both. `n` is the number of transformed points.
    """
def ihfft2(input: Tensor, s: _int | Sequence[_int] | None = ..., dim: _int | Sequence[_int] = ..., norm: str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the inverse of `hfft2`.

    Args:
        s: the lengths along `dim` to which the input is cropped or zero-padded; None, or a length of -1, for no change.
        dim: the transformed dimensions; None for the last `len(s)` or, if `s` is None as well, for all.
        norm: the scaling: "backward" or None for `1 / n` in the inverse transforms, "forward" for `1 / n` in the forward ones,
            "ortho" for `1 / sqrt(n)` in both. `n` is the number of transformed points.
    """
def ihfftn(input: Tensor, s: _int | Sequence[_int] | None = ..., dim: _int | Sequence[_int] | None = ..., norm: str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the inverse of `hfftn`.

    Args:
        s: the lengths along `dim` to which the input is cropped or zero-padded; None, or a length of -1, for no change.
        dim: the transformed dimensions; None for the last `len(s)` or, if `s` is None as well, for all.
        norm: the scaling: "backward" or None for `1 / n` in the inverse transforms, "forward" for `1 / n` in the forward ones,
            "ortho" for `1 / sqrt(n)` in both. `n` is the number of transformed points.
    """
def irfft(input: Tensor, n: _int | None = ..., dim: _int = ..., norm: str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the inverse of `rfft`: a real signal.

    Args:
        n: the length of the result along `dim`; None for `2 * (m - 1)`, where `m` is the size of that dimension of the input.
        dim: the transformed dimension.
        norm: the scaling: "backward" or None for `1 / n` in the inverse transforms, "forward" for `1 / n` in the forward ones,
            "ortho" for `1 / sqrt(n)` in both. `n` is the number of transformed points.
    """
def irfft2(input: Tensor, s: _int | Sequence[_int] | None = ..., dim: _int | Sequence[_int] = ..., norm: str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the inverse of `rfft2`.

    Args:
        s: the lengths of the result along `dim`; None, or a length of -1, for the length in the input and, in the last transformed
            dimension, for `2 * (m - 1)`, where `m` is the size of that dimension of the input.
        dim: the transformed dimensions; None for the last `len(s)` or, if `s` is None as well, for all.
        norm: the scaling: "backward" or None for `1 / n` in the inverse transforms, "forward" for `1 / n` in the forward ones,
            "ortho" for `1 / sqrt(n)` in both. `n` is the number of transformed points.
    """
def irfftn(input: Tensor, s: _int | Sequence[_int] | None = ..., dim: _int | Sequence[_int] | None = ..., norm: str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the inverse of `rfftn`.

    Args:
        s: the lengths of the result along `dim`; None, or a length of -1, for the length in the input and, in the last transformed
            dimension, for `2 * (m - 1)`, where `m` is the size of that dimension of the input.
        dim: the transformed dimensions; None for the last `len(s)` or, if `s` is None as well, for all.
        norm: the scaling: "backward" or None for `1 / n` in the inverse transforms, "forward" for `1 / n` in the forward ones,
            "ortho" for `1 / sqrt(n)` in both. `n` is the number of transformed points.
    """
def rfft(input: Tensor, n: _int | None = ..., dim: _int = ..., norm: str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the transform of real input, for the `n // 2 + 1` non-negative frequencies only: they determine the others.

    Args:
        n: the length along `dim` to which the input is cropped or zero-padded; None for no change.
        dim: the transformed dimension.
        norm: the scaling: "backward" or None for `1 / n` in the inverse transforms, "forward" for `1 / n` in the forward ones,
            "ortho" for `1 / sqrt(n)` in both. `n` is the number of transformed points.

    >>> torch.fft.rfft(torch.ones(4))
    tensor([4.+0.j, 0.+0.j, 0.+0.j])
    """
def rfft2(input: Tensor, s: _int | Sequence[_int] | None = ..., dim: _int | Sequence[_int] = ..., norm: str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the two-dimensional transform of real input; the last dimension keeps only non-negative frequencies.

    Args:
        s: the lengths along `dim` to which the input is cropped or zero-padded; None, or a length of -1, for no change.
        dim: the transformed dimensions; None for the last `len(s)` or, if `s` is None as well, for all.
        norm: the scaling: "backward" or None for `1 / n` in the inverse transforms, "forward" for `1 / n` in the forward ones,
            "ortho" for `1 / sqrt(n)` in both. `n` is the number of transformed points.
    """
def rfftfreq(n: _int, d: _float = ..., **options: Any) -> Tensor:
    """Return the `n // 2 + 1` frequencies of `rfft` for samples with spacing `d`, in cycles per unit of `d`.

    Args:
        n: the number of samples.
        d: the distance between samples.
        **options: `dtype` (floating-point), `layout`, `device`, `requires_grad` and `out`, as for `torch.empty`.
    """
def rfftn(input: Tensor, s: _int | Sequence[_int] | None = ..., dim: _int | Sequence[_int] | None = ..., norm: str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the multi-dimensional transform of real input; the last dimension keeps only non-negative frequencies.

    Args:
        s: the lengths along `dim` to which the input is cropped or zero-padded; None, or a length of -1, for no change.
        dim: the transformed dimensions; None for the last `len(s)` or, if `s` is None as well, for all.
        norm: the scaling: "backward" or None for `1 / n` in the inverse transforms, "forward" for `1 / n` in the forward ones,
            "ortho" for `1 / sqrt(n)` in both. `n` is the number of transformed points.
    """
