"""`torch.autograd.forward_ad`: forward-mode differentiation with dual tensors."""

from __future__ import annotations

from ..engine.devices.state import state
from ..transforms.forward_ad import (
    UnpackedDualTensor,
    dual_level,
    enter_dual_level,
    exit_dual_level,
    make_dual,
    unpack_dual,
)

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]


def __getattr__(name: str) -> int:
    if name == "_current_level":  # the number of the innermost active level, -1 without one
        return state.forward_levels - 1
    raise AttributeError(f"module 'flambeau.autograd.forward_ad' has no attribute '{name}'")
