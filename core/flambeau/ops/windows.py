"""The windows of the ``torch`` namespace: those of :mod:`torch.signal.windows`, periodic unless asked otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import dtypes
from .._tensor import Tensor
from ..op import PUBLIC
from ..signal import windows as shapes


def _window(
    name: str, shape: Callable[..., Tensor], window_length: int, periodic: bool, parameters: dict[str, Any], *, dtype: Any = None,
    layout: Any = None, device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    dtype = dtypes.get_default_dtype() if dtype is None else dtype
    if dtype.category < dtypes.FLOATING:
        raise RuntimeError(f"{name} expects floating point dtypes, got: {dtype}")
    if window_length < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={window_length}")
    made = shape(window_length, sym=not periodic, dtype=dtypes.float64, device=device, **parameters)
    return made.to(dtype).requires_grad_(requires_grad)


def hann_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """The Hann window: ``(1 - cos(2 pi n / N)) / 2``.

    >>> import flambeau as torch
    >>> torch.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _window("hann_window", shapes.hann, window_length, periodic, {}, **options)


def hamming_window(window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, **options: Any) -> Tensor:
    """The Hamming window: ``alpha - beta cos(2 pi n / N)``."""
    return _window("hamming_window", shapes.general_cosine, window_length, periodic, {"a": [alpha, beta]}, **options)


def blackman_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """The Blackman window."""
    return _window("blackman_window", shapes.blackman, window_length, periodic, {}, **options)


def bartlett_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """The Bartlett window: a triangle."""
    return _window("bartlett_window", shapes.bartlett, window_length, periodic, {}, **options)


def kaiser_window(window_length: int, periodic: bool = True, beta: float = 12.0, **options: Any) -> Tensor:
    """The Kaiser window; ``beta`` trades the width of its spectrum's peak for the height of the sidelobes."""
    return _window("kaiser_window", shapes.kaiser, window_length, periodic, {"beta": beta}, **options)


for _function in (hann_window, hamming_window, blackman_window, bartlett_window, kaiser_window):
    PUBLIC[_function.__name__] = _function
