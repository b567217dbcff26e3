"""`torch._guards`: find the `FakeTensorMode` that is active or that tensors belong to."""

from __future__ import annotations

from typing import Any, NoReturn

from ..engine.calls.overriding import open_modes
from ._subclasses.fake_tensor import FakeTensorMode, fake_tensor_mode_of

__all__ = ["TracingContext", "active_fake_mode", "detect_fake_mode"]


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


class TracingContext:
    """The state of PyTorch's compiler while it traces a function.  flambeau's compiler has none."""

    @staticmethod
    def try_get() -> None:
        """Return None: no function is being traced by PyTorch's compiler."""

    @staticmethod
    def get() -> NoReturn:
        """Raise RuntimeError: no function is being traced by PyTorch's compiler."""
        raise RuntimeError("TracingContext.get() must be called within an ongoing trace.")
