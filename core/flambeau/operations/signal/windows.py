"""Window functions of signal processing.

With `sym=True` the window is symmetric (for filter design), with `sym=False` periodic (for spectral analysis).
All return float32 or float64 tensors of length `M`, and raise ValueError for a negative length or another dtype.

>>> torch.signal.windows.hann(5)
tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from ...engine.calls.dispatch import refuse_size
from ...engine.tensors.tensor import Tensor
from ...engine.values import dtypes
from ..creation.from_shape import ones
from ..creation.options import devices_for, finish
from ..creation.ranges import arange

__all__ = [
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming", "hann",
    "kaiser", "nuttall",
]  # fmt: skip


def _window(
    name: str,
    M: int,
    shape: Callable[[Tensor, float], Tensor],
    *,
    sym: bool,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return the window `shape(positions, period)` for the positions 0 to M - 1, computed in float64."""
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    dtype = dtypes.get_default_dtype() if dtype is None else dtype
    if dtype not in (dtypes.float32, dtypes.float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
    if M < 2:
        window = ones(M, dtype=dtype, device=device)
    else:
        computing, place = devices_for(dtypes.float64, device)
        try:
            positions = arange(M, dtype=dtypes.float64, device=computing)
        except (MemoryError, ValueError) as error:
            refuse_size(error)
            raise
        window = shape(positions, M - 1 if sym else M).to(dtype).to(place)
    return finish(window, requires_grad)


def general_cosine(M: int, *, a: Iterable[float], sym: bool = True, **options: Any) -> Tensor:
    """Return the general cosine window: the sum over `i` of `(-1)**i * a[i] * cos(2 pi i n / (M - 1))`."""

    def shape(n: Tensor, length: float) -> Tensor:
        if not isinstance(a, Iterable):
            raise TypeError("Coefficients must be a list/tuple")
        weights = list(a)
        if not weights:
            raise ValueError("Coefficients cannot be empty")
        terms = [(-1) ** i * w * (n * (2 * math.pi * i / length)).cos() for i, w in enumerate(weights)]
        return sum(terms[1:], terms[0])  # type: ignore[no-any-return]  # a sum may be 0

    return _window("general_cosine", M, shape, sym=sym, **options)


def general_hamming(M: int, *, alpha: float = 0.54, sym: bool = True, **options: Any) -> Tensor:
    """Return the general Hamming window `alpha - (1 - alpha) cos(2 pi n / (M - 1))`."""
    return general_cosine(M, a=[alpha, 1.0 - alpha], sym=sym, **options)


def hamming(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """Return the Hamming window: `general_hamming` with `alpha=0.54`."""
    return general_hamming(M, sym=sym, **options)


def hann(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """Return the Hann window, a raised cosine: `general_hamming` with `alpha=0.5`."""
    return general_hamming(M, alpha=0.5, sym=sym, **options)


def blackman(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """Return the Blackman window: `general_cosine` with `a=[0.42, 0.5, 0.08]`."""
    return general_cosine(M, a=[0.42, 0.5, 0.08], sym=sym, **options)


def nuttall(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """Return the minimum four-term Blackman-Harris window of Nuttall ("Some windows with very good sidelobe behavior", 1981)."""
    return general_cosine(M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], sym=sym, **options)


def bartlett(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """Return the Bartlett window, a triangle that ends in zeros."""
    return _window("bartlett", M, lambda n, length: 1 - (n * (2 / length) - 1).abs(), sym=sym, **options)


def cosine(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """Return the cosine window: half a period of a sine."""
    return _window("cosine", M, lambda n, length: ((n + 0.5) * (math.pi / (length + 1))).sin(), sym=sym, **options)


def exponential(M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, **options: Any) -> Tensor:
    """Return the exponential window `exp(-|n - center| / tau)`; `center` can only be given if `sym` is False."""
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")

    def shape(n: Tensor, length: float) -> Tensor:
        return (-(n - (length / 2 if center is None else center)).abs() / tau).exp()

    return _window("exponential", M, shape, sym=sym, **options)


def gaussian(M: int, *, std: float = 1.0, sym: bool = True, **options: Any) -> Tensor:
    """Return the Gaussian window `exp(-(n / std)**2 / 2)`, with `n` counted from the middle."""
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    return _window("gaussian", M, lambda n, length: (((n - length / 2) / std) ** 2 * -0.5).exp(), sym=sym, **options)


def kaiser(M: int, *, beta: float = 12.0, sym: bool = True, **options: Any) -> Tensor:
    """Return the Kaiser window `i0(beta sqrt(1 - t**2)) / i0(beta)`, with `t` from -1 to 1."""
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")

    def shape(n: Tensor, length: float) -> Tensor:
        t = n * (2 / length) - 1
        return (beta * (1 - t * t).clamp(0).sqrt()).i0() / (n.new_tensor(beta)).i0()

    return _window("kaiser", M, shape, sym=sym, **options)
