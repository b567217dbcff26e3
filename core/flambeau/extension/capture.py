"""Recording of programs for `torch.compile` and similar tools: the public part of `transforms/capture`."""

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
