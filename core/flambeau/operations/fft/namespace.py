"""Discrete Fourier transforms.

All functions raise RuntimeError for sizes below 1, repeated dimensions, an unknown `norm`, and half precision.

>>> torch.fft.fft(torch.tensor([1.0, 0.0, 0.0, 0.0]))
tensor([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...engine.calls.arguments import Dims, as_python
from ...engine.calls.facts import FACTORY_OPTIONS, Autocast, Kind, Linearity, declare
from ...engine.calls.record import Out
from ...engine.calls.signatures import with_args
from ...engine.calls.wrappers import open_to_overrides, with_out
from ...engine.tensors.tensor import Tensor
from ...engine.values import dtypes
from ..creation import from_shape as creation
from ..creation import options as factory
from ..creation import ranges
from ..joining import roll
from . import complex_to_complex, complex_to_real, normalized_dims, real_to_complex, scale_of, sized

__all__ = [
    "Tensor", "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2", "ifftn", "ifftshift",
    "ihfft", "ihfft2", "ihfftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip

Sizes = Sequence[int] | int | None

_NORM = """\
    norm: the scaling: "backward" or None for `1 / n` in the inverse transforms, "forward" for `1 / n` in the forward ones,
        "ortho" for `1 / sqrt(n)` in both. `n` is the number of transformed points."""
_ONE_DIM = f"    dim: the transformed dimension.\n{_NORM}"
_SEVERAL_DIMS = f"    dim: the transformed dimensions; None for the last `len(s)` or, if `s` is None as well, for all.\n{_NORM}"
_FFT_ARGS = f"""\
    n: the length along `dim` to which the input is cropped or zero-padded; None for no change.
{_ONE_DIM}"""
_FFTN_ARGS = f"""\
    s: the lengths along `dim` to which the input is cropped or zero-padded; None, or a length of -1, for no change.
{_SEVERAL_DIMS}"""
_IRFFT_ARGS = f"""\
    n: the length of the result along `dim`; None for `2 * (m - 1)`, where `m` is the size of that dimension of the input.
{_ONE_DIM}"""
_IRFFTN_ARGS = f"""\
    s: the lengths of the result along `dim`; None, or a length of -1, for the length in the input and, in the last transformed
        dimension, for `2 * (m - 1)`, where `m` is the size of that dimension of the input.
{_SEVERAL_DIMS}"""
_SHIFT_ARGS = "    dim: the dimension or dimensions to shift; None for all."
_FREQUENCY_ARGS = """\
    n: the number of samples.
    d: the distance between samples.
    **options: `dtype` (floating-point), `layout`, `device`, `requires_grad` and `out`, as for `torch.empty`."""


def _prepared(name: str, input: Tensor, is_complex: bool) -> Tensor:
    """Convert the input to a complex dtype or, for a transform of real input, to a floating-point one."""
    dtype = input.dtype
    if not is_complex and dtype.category == dtypes.COMPLEX:
        raise RuntimeError(f"{name} expects a real input tensor, but got {dtype.legacy_name}")
    if dtype in dtypes.HALF:
        raise RuntimeError(f"Unsupported dtype {dtype.legacy_name}")
    if dtype.category < dtypes.FLOATING:
        dtype = dtypes.get_default_dtype()
    return input.to(dtype.to_complex() if is_complex else dtype)


def _one(input: Tensor, n: int | None, dim: int) -> tuple[tuple[int, ...] | None, tuple[int, ...]]:
    if not input.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return (None if n is None else (n,)), (dim,)


def _tuple(value: Sizes) -> tuple[int, ...] | None:
    return (as_python(value),) if isinstance(value, (int, Tensor)) else None if value is None else tuple(value)


def _c2c(name: str, input: Tensor, s: Sizes, dim: Sizes, norm: str | None, forward: bool) -> Tensor:
    dims, sizes = normalized_dims(input, _tuple(s), _tuple(dim))
    scale = scale_of(norm, forward)
    if forward and dims and not input._requires_grad and input.dtype.category < dtypes.COMPLEX:
        # a transform of real input takes half the work of a complex one
        return real_to_complex(sized(_prepared(name, input, False), dims, sizes), dims, scale, False)
    prepared = sized(_prepared(name, input, True), dims, sizes)
    return complex_to_complex(prepared, dims, scale, forward) if dims else prepared


def _r2c(name: str, input: Tensor, s: Sizes, dim: Sizes, norm: str | None, forward: bool = True, onesided: bool = True) -> Tensor:
    dims, sizes = normalized_dims(input, _tuple(s), _tuple(dim))
    scale = scale_of(norm, forward)
    prepared = _prepared(name, input, False)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    spectrum = real_to_complex(sized(prepared, dims, sizes), dims, scale, onesided)
    return spectrum if forward else spectrum.conj()


def _c2r(name: str, input: Tensor, s: Sizes, dim: Sizes, norm: str | None, forward: bool = False) -> Tensor:
    dims, sizes = normalized_dims(input, _tuple(s), _tuple(dim))
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    scale = scale_of(norm, forward)
    last = 2 * (input.shape[dims[-1]] - 1) if sizes[-1] == -1 else sizes[-1]
    if last < 1:
        raise RuntimeError(f"Invalid number of data points ({last}) specified")
    prepared = sized(_prepared(name, input, True), dims, (*sizes[:-1], last // 2 + 1))
    return complex_to_real(prepared.conj() if forward else prepared, dims, scale, last)


def _ihfftn(name: str, input: Tensor, s: Sizes, dim: Sizes, norm: str | None) -> Tensor:
    """Compute the inverse transform of real input.  The last dimension is transformed first, and only half of it is kept."""
    dims, sizes = normalized_dims(input, _tuple(s), _tuple(dim))
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    scale = scale_of(norm, False)
    halved = real_to_complex(sized(_prepared(name, input, False), dims, sizes), dims[-1:], scale, True)
    return complex_to_complex(halved.conj_physical(), dims[:-1], scale, False) if dims[1:] else halved.conj()


@with_out(Out.ROW_MAJOR | Out.UNCHECKED, kind=Kind.FOURIER, linearity=Linearity.JOINT, autocast={"cpu": Autocast.FLOAT32})
@with_args(_FFT_ARGS)
def fft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Compute the one-dimensional discrete Fourier transform."""
    if input.dtype.category < dtypes.COMPLEX:
        return _r2c("fft", input, *_one(input, n, dim), norm, onesided=False)
    return _c2c("fft", input, *_one(input, n, dim), norm, True)


@with_out(
    Out.ROW_MAJOR | Out.RECORDED | Out.UNCHECKED, kind=Kind.FOURIER, linearity=Linearity.JOINT, autocast={"cpu": Autocast.FLOAT32}
)
@with_args(_FFT_ARGS)
def ifft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Compute the inverse of `fft`."""
    if input.dtype.category < dtypes.COMPLEX:
        return _r2c("ifft", input, *_one(input, n, dim), norm, forward=False, onesided=False)
    return _c2c("ifft", input, *_one(input, n, dim), norm, False)


@with_out(Out.ROW_MAJOR | Out.UNCHECKED, kind=Kind.FOURIER, linearity=Linearity.JOINT, autocast={"cpu": Autocast.FLOAT32})
@with_args(_FFTN_ARGS)
def fft2(input: Tensor, s: Dims | None = None, dim: Dims = (-2, -1), norm: str | None = None) -> Tensor:
    """Compute the two-dimensional discrete Fourier transform."""
    return _c2c("fft2", input, s, dim, norm, True)


@with_out(Out.ROW_MAJOR | Out.UNCHECKED, kind=Kind.FOURIER, linearity=Linearity.JOINT, autocast={"cpu": Autocast.FLOAT32})
@with_args(_FFTN_ARGS)
def ifft2(input: Tensor, s: Dims | None = None, dim: Dims = (-2, -1), norm: str | None = None) -> Tensor:
    """Compute the inverse of `fft2`."""
    return _c2c("ifft2", input, s, dim, norm, False)


@with_out(Out.ROW_MAJOR | Out.UNCHECKED, kind=Kind.FOURIER, linearity=Linearity.JOINT, autocast={"cpu": Autocast.FLOAT32})
@with_args(_FFTN_ARGS)
def fftn(input: Tensor, s: Dims | None = None, dim: Dims | None = None, norm: str | None = None) -> Tensor:
    """Compute the discrete Fourier transform over the dimensions `dim`; by default the last `len(s)`, or all without `s`."""
    return _c2c("fftn", input, s, dim, norm, True)


@with_out(Out.ROW_MAJOR | Out.UNCHECKED, kind=Kind.FOURIER, linearity=Linearity.JOINT, autocast={"cpu": Autocast.FLOAT32})
@with_args(_FFTN_ARGS)
def ifftn(input: Tensor, s: Dims | None = None, dim: Dims | None = None, norm: str | None = None) -> Tensor:
    """Compute the inverse of `fftn`."""
    return _c2c("ifftn", input, s, dim, norm, False)


@with_out(Out.ROW_MAJOR | Out.UNCHECKED, kind=Kind.FOURIER, linearity=Linearity.JOINT, autocast={"cpu": Autocast.FLOAT32})
@with_args(_FFT_ARGS)
def rfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Compute the transform of real input, for the `n // 2 + 1` non-negative frequencies only: they determine the others.

    >>> torch.fft.rfft(torch.ones(4))
    tensor([4.+0.j, 0.+0.j, 0.+0.j])
    """
    return _r2c("rfft", input, *_one(input, n, dim), norm)


@with_out(
    Out.REAL | Out.ROW_MAJOR | Out.UNCHECKED, kind=Kind.FOURIER, linearity=Linearity.JOINT, autocast={"cpu": Autocast.FLOAT32}
)
@with_args(_IRFFT_ARGS)
def irfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Compute the inverse of `rfft`: a real signal."""
    return _c2r("irfft", input, *_one(input, n, dim), norm)


@with_out(Out.ROW_MAJOR | Out.UNCHECKED, kind=Kind.FOURIER, linearity=Linearity.JOINT, autocast={"cpu": Autocast.FLOAT32})
@with_args(_FFTN_ARGS)
def rfft2(input: Tensor, s: Dims | None = None, dim: Dims = (-2, -1), norm: str | None = None) -> Tensor:
    """Compute the two-dimensional transform of real input; the last dimension keeps only non-negative frequencies."""
    return _r2c("rfft2", input, s, dim, norm)


@with_out(
    Out.REAL | Out.ROW_MAJOR | Out.UNCHECKED, kind=Kind.FOURIER, linearity=Linearity.JOINT, autocast={"cpu": Autocast.FLOAT32}
)
@with_args(_IRFFTN_ARGS)
def irfft2(input: Tensor, s: Dims | None = None, dim: Dims = (-2, -1), norm: str | None = None) -> Tensor:
    """Compute the inverse of `rfft2`."""
    return _c2r("irfft2", input, s, dim, norm)


@with_out(Out.ROW_MAJOR | Out.UNCHECKED, kind=Kind.FOURIER, linearity=Linearity.JOINT, autocast={"cpu": Autocast.FLOAT32})
@with_args(_FFTN_ARGS)
def rfftn(input: Tensor, s: Dims | None = None, dim: Dims | None = None, norm: str | None = None) -> Tensor:
    """Compute the multi-dimensional transform of real input; the last dimension keeps only non-negative frequencies."""
    return _r2c("rfftn", input, s, dim, norm)


@with_out(
    Out.REAL | Out.ROW_MAJOR | Out.UNCHECKED, kind=Kind.FOURIER, linearity=Linearity.JOINT, autocast={"cpu": Autocast.FLOAT32}
)
@with_args(_IRFFTN_ARGS)
def irfftn(input: Tensor, s: Dims | None = None, dim: Dims | None = None, norm: str | None = None) -> Tensor:
    """Compute the inverse of `rfftn`."""
    return _c2r("irfftn", input, s, dim, norm)


@with_out(
    Out.REAL | Out.ROW_MAJOR | Out.UNCHECKED, kind=Kind.FOURIER, linearity=Linearity.JOINT, autocast={"cpu": Autocast.FLOAT32}
)
@with_args(_IRFFT_ARGS)
def hfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Compute the (real) transform of a Hermitian-symmetric signal, given by its first half."""
    return _c2r("hfft", input, *_one(input, n, dim), norm, forward=True)


@with_out(
    Out.OWN_DTYPE | Out.ROW_MAJOR | Out.RECORDED | Out.UNCHECKED,
    kind=Kind.FOURIER,
    linearity=Linearity.JOINT,
    autocast={"cpu": Autocast.FLOAT32},
)
@with_args(_FFT_ARGS)
def ihfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Compute the inverse of `hfft`."""
    return _r2c("ihfft", input, *_one(input, n, dim), norm, forward=False)


@with_out(Out.ROW_MAJOR | Out.UNCHECKED, kind=Kind.FOURIER, linearity=Linearity.JOINT)
@with_args(_IRFFTN_ARGS)
def hfft2(input: Tensor, s: Dims | None = None, dim: Dims = (-2, -1), norm: str | None = None) -> Tensor:
    """Compute the two-dimensional `hfft`. The input holds only the first half of the last transformed dimension."""
    return _c2r("hfft2", input, s, dim, norm, forward=True)


@with_out(Out.ROW_MAJOR | Out.UNCHECKED, kind=Kind.FOURIER, linearity=Linearity.JOINT)
@with_args(_FFTN_ARGS)
def ihfft2(input: Tensor, s: Dims | None = None, dim: Dims = (-2, -1), norm: str | None = None) -> Tensor:
    """Compute the inverse of `hfft2`."""
    return _ihfftn("ihfft2", input, s, dim, norm)


@with_out(Out.ROW_MAJOR | Out.UNCHECKED, kind=Kind.FOURIER, linearity=Linearity.JOINT)
@with_args(_IRFFTN_ARGS)
def hfftn(input: Tensor, s: Dims | None = None, dim: Dims | None = None, norm: str | None = None) -> Tensor:
    """Compute the multi-dimensional `hfft`. The input holds only the first half of the last transformed dimension."""
    return _c2r("hfftn", input, s, dim, norm, forward=True)


@with_out(Out.ROW_MAJOR | Out.UNCHECKED, kind=Kind.FOURIER, linearity=Linearity.JOINT)
@with_args(_FFTN_ARGS)
def ihfftn(input: Tensor, s: Dims | None = None, dim: Dims | None = None, norm: str | None = None) -> Tensor:
    """Compute the inverse of `hfftn`."""
    return _ihfftn("ihfftn", input, s, dim, norm)


# --- frequencies --------------------------------------------------------------------------------------------------


@declare(kind=Kind.FACTORY, schema=f"fft_fftfreq(int n, float d=1.0, *, {FACTORY_OPTIONS}) -> Tensor")
@with_args(_FREQUENCY_ARGS)
def fftfreq(n: int, d: float = 1.0, **options: Any) -> Tensor:
    """Return the frequencies of `fft` for samples with spacing `d`, in cycles per unit of `d`.

    >>> torch.fft.fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    positions = ranges.arange(n, dtype=dtypes.float64, device="cpu")
    return _frequencies(positions - n * (positions >= (n + 1) // 2), n, d, **options)


@declare(kind=Kind.FACTORY, schema=f"fft_rfftfreq(int n, float d=1.0, *, {FACTORY_OPTIONS}) -> Tensor")
@with_args(_FREQUENCY_ARGS)
def rfftfreq(n: int, d: float = 1.0, **options: Any) -> Tensor:
    """Return the `n // 2 + 1` frequencies of `rfft` for samples with spacing `d`, in cycles per unit of `d`."""
    return _frequencies(ranges.arange(n // 2 + 1, dtype=dtypes.float64, device="cpu"), n, d, **options)


def _frequencies(
    cycles: Tensor,
    n: int,
    d: float,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    dtype = dtype or factory.dtype_of_out(out) or dtypes.get_default_dtype()
    if dtype.category < dtypes.FLOATING:
        raise RuntimeError(f"fftfreq requires a floating point or complex dtype, not {dtype}")
    if out is not None:
        ranges.warn_of_length(out, cycles.numel())
    frequencies = creation.empty(cycles.shape, dtype=dtype, device=device).copy_(cycles * (1.0 / (n * d)))
    return factory.finish(frequencies, requires_grad, out)


def _all_dims(input: Tensor, dim: Sizes) -> tuple[int, ...]:
    return tuple(range(input.ndim)) if dim is None else _tuple(dim)  # type: ignore[return-value]  # None only for None


@declare(kind=Kind.MOVEMENT)
@with_args(_SHIFT_ARGS)
def fftshift(input: Tensor, dim: Dims | None = None) -> Tensor:
    """Move the zero frequency from index 0 to the middle."""
    dims = _all_dims(input, dim)
    return roll(input, [input.shape[d] // 2 for d in dims], dims)


@declare(kind=Kind.MOVEMENT)
@with_args(_SHIFT_ARGS)
def ifftshift(input: Tensor, dim: Dims | None = None) -> Tensor:
    """Undo `fftshift`."""
    dims = _all_dims(input, dim)
    return roll(input, [(input.shape[d] + 1) // 2 for d in dims], dims)


open_to_overrides(globals(), __all__, native=__all__)
