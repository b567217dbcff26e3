"""`torch.overrides._get_current_function_mode`, a private function that libraries use."""

from __future__ import annotations

from ..engine.calls.function_modes import TorchFunctionMode
from ..engine.calls.overriding import open_modes

__all__: list[str] = []


def _get_current_function_mode() -> TorchFunctionMode | None:
    """Return the innermost TorchFunctionMode that is active, or None."""
    modes = open_modes.get()
    return modes[-1] if modes else None
