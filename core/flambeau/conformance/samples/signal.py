"""Windows, and short-time Fourier transforms."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .sample import WIDE, Sample, find, fixed, real

__all__ = ["SAMPLES"]


def _cosines(*coefficients: float) -> Callable[..., Any]:
    """Return a function for a window of `size` elements that is a sum of cosines."""

    def window(np: Any, size: int) -> Any:
        angle = 2 * np.pi * np.arange(size) / (size - 1)
        return sum((-1) ** k * a * np.cos(k * angle) for k, a in enumerate(coefficients))

    return window


def _place(np: Any, size: int) -> Any:
    return np.arange(size) - (size - 1) / 2


_HANN, _HAMMING, _BLACKMAN = _cosines(0.5, 0.5), _cosines(0.54, 0.46), _cosines(0.42, 0.5, 0.08)
_WINDOWS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "bartlett": (lambda np, size: np.bartlett(size), {}), "blackman": (_BLACKMAN, {}), "hamming": (_HAMMING, {}),
    "hann": (_HANN, {}),
    "cosine": (lambda np, size: np.sin(np.pi * (np.arange(size) + 0.5) / size), {}),
    "exponential": (lambda np, size: np.exp(-abs(_place(np, size)) / 2.5), {"tau": 2.5}),
    "gaussian": (lambda np, size: np.exp(-0.5 * (_place(np, size) / 1.5) ** 2), {"std": 1.5}),
    "general_cosine": (_cosines(0.4, 0.3, 0.3), {"a": [0.4, 0.3, 0.3]}), "general_hamming": (_cosines(0.6, 0.4), {"alpha": 0.6}),
    "kaiser": (lambda np, size: np.kaiser(size, 5.0), {"beta": 5.0}),
    "nuttall": (_cosines(0.3635819, 0.4891775, 0.1365995, 0.0106411), {}),
}  # fmt: skip
_OF_OLD: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "bartlett_window": (lambda np, size: np.bartlett(size), {}), "blackman_window": (_BLACKMAN, {}),
    "hamming_window": (_HAMMING, {}),
    "hann_window": (_HANN, {}), "kaiser_window": (lambda np, size: np.kaiser(size, 5.0), {"beta": 5.0}),
}  # fmt: skip


def _window(name: str, formula: Callable[..., Any], options: dict[str, Any], repeats: bool, **kind: bool) -> Sample:
    """Return a sample of a window of 8 elements; the periodic window is a symmetric one of 9 elements without the last."""
    return Sample(
        name,
        lambda torch: find(torch, name)(8, dtype=torch.float64, **kind, **options),
        [],
        lambda np: formula(np, 9)[:8] if repeats else formula(np, 8),
        ("float64",),
        "float64",
        grad=False,
    )


def _cosine(np: Any, size: int) -> Any:
    return np.sin(np.pi * (np.arange(8) + 0.5) / size)


def _stft(np: Any, x: Any, n: int, hop: int) -> Any:
    """Return the spectra of segments of `n` samples, whose starts are `hop` apart."""
    return np.stack([np.fft.rfft(x[start : start + n]) for start in range(0, len(x) - n + 1, hop)], -1)


def _rebuilt(torch: Any, x: Any, window: Any) -> Any:
    spectra = torch.stft(x, 8, 4, window=window, return_complex=True)
    return torch.istft(spectra, 8, 4, window=window, length=x.shape[-1])


_HANN_8 = [0.5 - 0.5 * math.cos(2 * math.pi * k / 8) for k in range(8)]


SAMPLES = [
    *(_window(f"signal.windows.{name}", formula, options, False) for name, (formula, options) in _WINDOWS.items()),
    *(_window(f"signal.windows.{name}", _cosine if name == "cosine" else formula, options, True, sym=False)
      for name, (formula, options) in _WINDOWS.items() if name not in ("exponential",)),
    *(_window(name, formula, options, True, periodic=True) for name, (formula, options) in _OF_OLD.items()),
    *(_window(name, formula, options, False, periodic=False) for name, (formula, options) in _OF_OLD.items()),
    Sample("stft", lambda torch, x: torch.stft(x, 8, 4, window=torch.ones(8, dtype=x.dtype), center=False, return_complex=True),
           [real(20)], lambda np, x: _stft(np, x, 8, 4), WIDE, "complex", atol=1e-5),
    Sample("istft", lambda torch, x, w: _rebuilt(torch, x, w), [real(2, 20), fixed(_HANN_8)], lambda np, x, w: x, WIDE,
           atol=1e-5,
           method=False),
]  # fmt: skip
