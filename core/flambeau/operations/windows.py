"""The windows of the `torch` namespace: those of `torch.signal.windows`, periodic unless asked otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..engine.calls.tables import PUBLIC
from ..engine.tensors.tensor import Tensor
from ..engine.values import dtypes
from .factory import _finish, _with_dtype
from .signal import windows as shapes


def _window(
    name: str,
    shape: Callable[..., Tensor],
    window_length: int,
    periodic: bool,
    parameters: dict[str, Any],
    dtype: Any,
    device: Any,
    pin_memory: bool | None,
    requires_grad: bool | None,
) -> Tensor:
    dtype = dtypes.get_default_dtype() if dtype is None else dtype
    if dtype.category < dtypes.FLOATING:
        raise RuntimeError(f"{name} expects floating point dtypes, got: {dtype}")
    if window_length < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={window_length}")
    computing, place = _with_dtype(dtypes.float64, device)
    window = shape(window_length, sym=not periodic, dtype=dtypes.float64, device=computing, **parameters)
    return _finish(window.to(dtype).to(place), requires_grad, pin_memory=pin_memory)


def hann_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool | None = False,
    requires_grad: bool | None = False,
) -> Tensor:
    """The Hann window: `(1 - cos(2 pi n / N)) / 2`.

    >>> import flambeau as torch
    >>> torch.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _window("hann_window", shapes.hann, window_length, periodic, {}, dtype, device, pin_memory, requires_grad)


def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool | None = False,
    requires_grad: bool | None = False,
) -> Tensor:
    """The Hamming window: `alpha - beta cos(2 pi n / N)`."""
    weights = {"a": [alpha, beta]}
    shape = shapes.general_cosine
    return _window("hamming_window", shape, window_length, periodic, weights, dtype, device, pin_memory, requires_grad)


def blackman_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool | None = False,
    requires_grad: bool | None = False,
) -> Tensor:
    """The Blackman window."""
    return _window("blackman_window", shapes.blackman, window_length, periodic, {}, dtype, device, pin_memory, requires_grad)


def bartlett_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool | None = False,
    requires_grad: bool | None = False,
) -> Tensor:
    """The Bartlett window: a triangle."""
    return _window("bartlett_window", shapes.bartlett, window_length, periodic, {}, dtype, device, pin_memory, requires_grad)


def kaiser_window(
    window_length: int,
    periodic: bool = True,
    beta: float = 12.0,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool | None = False,
    requires_grad: bool | None = False,
) -> Tensor:
    """The Kaiser window; `beta` trades the width of its spectrum's peak for the height of the sidelobes."""
    shape = shapes.kaiser
    return _window("kaiser_window", shape, window_length, periodic, {"beta": beta}, dtype, device, pin_memory, requires_grad)


for _function in (hann_window, hamming_window, blackman_window, bartlett_window, kaiser_window):
    PUBLIC[_function.__name__] = _function
