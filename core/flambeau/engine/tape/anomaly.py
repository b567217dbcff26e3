"""Anomaly mode: find the forward call that caused an error or a NaN in backward."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import Any

from ..devices.state import state
from .node import Node

__all__ = ["detect_anomaly", "is_anomaly_check_nan_enabled", "is_anomaly_enabled", "set_anomaly_enabled", "set_detect_anomaly"]


def set_anomaly_enabled(enabled: bool, check_nan: bool = True) -> None:
    """Turn anomaly mode on or off.

    Args:
        enabled: whether anomaly mode is on.
        check_nan: whether a NaN in a gradient raises an error.

    Raises:
        TypeError: an argument is not a bool.
    """
    for position, (name, value) in enumerate((("enabled", enabled), ("check_nan", check_nan)), 1):
        if type(value) is not bool:
            raise TypeError(
                f"set_anomaly_enabled(): argument '{name}' (position {position}) must be bool, not {type(value).__name__}"
            )
    state.anomaly_mode, state.checks_nan = enabled, check_nan
    state.update_observing()


def is_anomaly_enabled() -> bool:
    """Whether anomaly mode is on."""
    return state.anomaly_mode


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly mode, when on, looks for NaN."""
    return state.checks_nan


class set_detect_anomaly:
    """Turn anomaly mode on or off immediately; as a context manager, restore the previous state on exit.

    In anomaly mode, an error in backward comes with a warning that shows the traceback of the forward call.  A NaN in a gradient
    raises an error, unless `check_nan=False`.

    Args:
        mode: whether anomaly mode is on.
        check_nan: whether a NaN in a gradient raises an error.

    >>> with torch.autograd.set_detect_anomaly(True):
    ...     torch.is_anomaly_enabled()
    True
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._previous = state.anomaly_mode, state.checks_nan
        set_anomaly_enabled(mode, check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        set_anomaly_enabled(*self._previous)


class detect_anomaly:
    """Context in which anomaly mode is on; see `set_detect_anomaly`.

    Args:
        check_nan: whether a NaN in a gradient raises an error.
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.check_nan = check_nan
        self._previous = state.anomaly_mode, state.checks_nan
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for debugging.",
            stacklevel=2,
        )

    def __enter__(self) -> None:
        set_anomaly_enabled(True, self.check_nan)

    def __exit__(self, *exception: object) -> None:
        set_anomaly_enabled(*self._previous)


# --- called by the engine -----------------------------------------------------------------------------------------


def warn_of(node: Node) -> None:
    """Warn that the backward of `node` failed, with the traceback of its forward call."""
    _warn(f"Error detected in {node.name()}. {_forward_trace(node)}")
    while node.parent is not None:
        node = node.parent
        _warn(f"\n\nPrevious calculation was induced by {node.name()}. {_forward_trace(node)}")


def _warn(text: str) -> None:
    """Issue a warning; print it if a filter turns warnings into errors, which would replace the error of the backward."""
    try:
        warnings.warn(text, stacklevel=3)
    except UserWarning as warning:
        print(f"Warning: {warning}", file=sys.stderr)


def _forward_trace(node: Node) -> str:
    if node.trace is None:
        return "No forward pass information available. Enable detect anomaly during forward pass for more information."
    return "Traceback of forward call that caused the error:\n" + "".join(node.trace)


def check_nan(node: Node, gradients: Sequence[Any]) -> None:
    """Raise RuntimeError if a gradient computed by `node` contains NaN."""
    for index, gradient in enumerate(gradients):
        if gradient is not None and gradient.dtype.category >= 2 and bool(gradient.detach().isnan().any()):
            warn_of(node)
            raise RuntimeError(f"Function '{node.name()}' returned nan values in its {index}th output.")
