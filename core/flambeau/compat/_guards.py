"""Which mode fake tensors are in."""

from __future__ import annotations

from typing import Any

from ..engine.calls.overriding import open_modes
from ._subclasses.fake_tensor import FakeTensorMode, fake_tensor_mode_of

__all__ = ["active_fake_mode", "detect_fake_mode"]


def active_fake_mode() -> FakeTensorMode | None:
    """The innermost `FakeTensorMode` that is open; None without one."""
    return next((mode for mode in reversed(open_modes.get()) if isinstance(mode, FakeTensorMode)), None)


def detect_fake_mode(inputs: Any = None) -> FakeTensorMode | None:
    """The `FakeTensorMode` that is open, or that the inputs belong to; None without any.

    >>> from flambeau.compat._guards import detect_fake_mode
    >>> detect_fake_mode([torch.ones(1)]) is None
    True
    """
    return active_fake_mode() or fake_tensor_mode_of(inputs)
