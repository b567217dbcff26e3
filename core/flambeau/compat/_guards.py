"""`torch._guards`: find the `FakeTensorMode` that is active or that tensors belong to."""

from __future__ import annotations

from typing import Any

from ..engine.calls.overriding import open_modes
from ._subclasses.fake_tensor import FakeTensorMode, fake_tensor_mode_of

__all__ = ["active_fake_mode", "detect_fake_mode"]


def active_fake_mode() -> FakeTensorMode | None:
    """Return the innermost active `FakeTensorMode`, or None."""
    return next((mode for mode in reversed(open_modes.get()) if isinstance(mode, FakeTensorMode)), None)


def detect_fake_mode(inputs: Any = None) -> FakeTensorMode | None:
    """Return the active `FakeTensorMode`, else the mode of the fake tensors in `inputs`, else None.

    >>> from flambeau.compat._guards import detect_fake_mode
    >>> detect_fake_mode([torch.ones(1)]) is None
    True
    """
    return active_fake_mode() or fake_tensor_mode_of(inputs)
