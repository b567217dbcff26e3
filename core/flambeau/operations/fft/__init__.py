"""Discrete Fourier transforms: operation records, and the functions of `torch.fft` in `namespace`.

Three records implement all transforms: complex to complex, real to complex, complex to real.  `scale` is the normalisation of
a transform of `n` elements: 0 for none, 1 for `1 / sqrt(n)`, 2 for `1 / n`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...engine.calls.facts import Kind, Linearity
from ...engine.calls.op import op
from ...engine.tensors.tensor import Tensor
from ..views.views import wrap_dim

__all__ = [
    "FORWARD", "INVERSE", "complex_to_complex", "complex_to_real", "normalized_dims", "real_to_complex", "scale_of", "sized",
]  # fmt: skip

# the values of `norm` for each direction; the index of a value is its `scale`
FORWARD, INVERSE = ("backward", "ortho", "forward"), ("forward", "ortho", "backward")


def scale_of(norm: str | None, forward: bool) -> int:
    """Return `scale` (0, 1 or 2) for `norm`, which has different meanings for forward and inverse transforms."""
    names = FORWARD if forward else INVERSE
    norm = "backward" if norm is None else norm
    if norm not in names:
        raise RuntimeError(f'Invalid normalization mode: "{norm}"')
    return names.index(norm)


def _c2c(xp: Any, input: Any, /, dims: tuple[int, ...], scale: int, forward: bool) -> Any:
    if forward:
        return xp.fft.fftn(input, axes=dims, norm=FORWARD[scale])
    return xp.fft.ifftn(input, axes=dims, norm=INVERSE[scale])


def _c2r(xp: Any, input: Any, /, dims: tuple[int, ...], scale: int, size: int) -> Any:
    sizes = (*(input.shape[d] for d in dims[:-1]), size)
    return xp.fft.irfftn(input, s=sizes, axes=dims, norm=INVERSE[scale])


def _c2r_grad(F: Any, g: Any, dims: tuple[int, ...], scale: int, size: int) -> Any:
    """Return the transform of `g`; frequencies whose negatives are not stored are doubled.

    All are doubled except frequency 0 and, if `size` is even, the highest frequency.
    """
    return F.doubled_inside(F.fft_r2c(g, dims, scale), dims[-1], size - size // 2)


def _doubled_inside(xp: Any, input: Any, /, dim: int, stop: int) -> Any:
    frequency = xp.reshape(xp.arange(input.shape[dim]), (-1,) + (1,) * (input.ndim - 1 - dim))
    return xp.where((frequency > 0) & (frequency < stop), 2 * input, input)


def _r2c(xp: Any, input: Any, /, dims: tuple[int, ...], scale: int, onesided: bool = True) -> Any:
    if onesided:
        return xp.fft.rfftn(input, axes=dims, norm=FORWARD[scale])
    return xp.fft.fftn(xp.astype(input, xp.result_type(input.dtype, xp.complex64)), axes=dims, norm=FORWARD[scale])


def _r2c_grad(F: Any, g: Any, input_shape: Any, dims: tuple[int, ...], scale: int) -> Any:
    return F.real(F.fft_c2c(F.pad_to(g, tuple(input_shape)), dims, scale, False))


complex_to_complex = op(
    "fft_c2c", _c2c, kind=Kind.FOURIER, linearity=Linearity.JOINT, requires="fft", public=False, method=False, out=False,
    input=lambda F, g, dims, scale, forward: F.fft_c2c(g, dims, scale, not forward),
)  # fmt: skip
real_to_complex = op(
    "fft_r2c", _r2c, promote="complex",
    kind=Kind.FOURIER, linearity=Linearity.JOINT, requires="fft", public=False, method=False, out=False,
    input=_r2c_grad,
)  # fmt: skip
complex_to_real = op(
    "fft_c2r", _c2r, promote="real",
    kind=Kind.FOURIER, linearity=Linearity.JOINT, requires="fft", public=False, method=False, out=False,
    input=_c2r_grad,
)  # fmt: skip
op(
    "doubled_inside",
    _doubled_inside,
    kind=Kind.FOURIER,
    public=False,
    method=False,
    out=False,
    input=lambda F, g, dim, stop: F.doubled_inside(g, dim, stop),
)


def sized(input: Tensor, dims: Sequence[int], sizes: Sequence[int]) -> Tensor:
    """Crop or zero-pad the dimensions `dims` to the sizes `sizes`; -1 keeps the size of a dimension."""
    from ...engine.calls.tables import OPS

    shape = list(input.shape)
    for dim, size in zip(dims, sizes, strict=True):
        if size != -1:
            shape[dim] = size
        if shape[dim] < 1:
            raise RuntimeError(f"Invalid number of data points ({shape[dim]}) specified")
    if shape == list(input.shape):
        return input
    cut = input[tuple(slice(0, n) for n in shape)]
    return cut if list(cut.shape) == shape else OPS["pad_to"].function(cut, tuple(shape))


# --- the short-time transform -------------------------------------------------------------------------------------


def normalized_dims(input: Tensor, s: Sequence[int] | None, dim: Sequence[int] | None) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the dimensions to transform, and the sizes to crop or pad them to (-1 keeps a size)."""
    if dim is not None:
        dims = tuple(wrap_dim(d, input.ndim) for d in dim)
        if len(set(dims)) != len(dims):
            raise RuntimeError("FFT dims must be unique")
    if s is not None:
        if dim is not None and len(s) != len(dims):
            raise RuntimeError("When given, dim and shape arguments must have the same length")
        if len(s) > input.ndim:
            raise RuntimeError(f"Got shape with {len(s)} values but input tensor only has {input.ndim} dimensions.")
        if dim is None:
            dims = tuple(range(input.ndim - len(s), input.ndim))
        return dims, tuple(s)
    dims = tuple(range(input.ndim)) if dim is None else dims
    return dims, (-1,) * len(dims)
