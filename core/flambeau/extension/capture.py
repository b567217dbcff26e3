"""Recording of steps: the part of `transforms/capture` that `torch.compile` and similar tools use."""

from __future__ import annotations

from ..transforms.capture import (
    Captured,
    CheckFailed,
    LookedAtValue,
    NotCapturable,
    Program,
    Refused,
    capture,
    describe,
    is_own_file,
    is_recording,
    place_in_program,
    refuse,
    register_own_folder,
    tensors_in,
    verified,
)

__all__ = [
    "Captured", "CheckFailed", "LookedAtValue", "NotCapturable", "Program", "Refused", "capture", "describe", "is_own_file",
    "is_recording", "place_in_program", "refuse", "register_own_folder", "tensors_in", "verified",
]  # fmt: skip
