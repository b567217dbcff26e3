"""`torch.jit._state`: whether functions and modules are scripted and traced.

The environment variable `PYTORCH_JIT=0` turns it off: `torch.jit.script` and `torch.jit.trace` then return their argument.
"""

from __future__ import annotations

import os

__all__ = ["disable", "enable", "switch"]


class EnabledProxy:
    """A switch that is shared by the modules that import it."""

    def __init__(self) -> None:
        value = os.environ.get("PYTORCH_JIT", "1").lower()
        if value not in ("1", "true", "yes", "0", "false", "no"):
            raise ValueError(f"PYTORCH_JIT is {value!r}, expected 0 or 1")
        self.enabled = value in ("1", "true", "yes")

    def __bool__(self) -> bool:
        return self.enabled


switch = _enabled = EnabledProxy()  # libraries read `_enabled`


def disable() -> None:
    """Make `torch.jit.script` and `torch.jit.trace` return their argument."""
    switch.enabled = False


def enable() -> None:
    """Make `torch.jit.script` and `torch.jit.trace` work again after `disable`."""
    switch.enabled = True


def _clear_class_state() -> None:
    """Do nothing: scripted classes are forgotten when the program frees them."""
