"""Graphs: a step is recorded at its kernels while it runs, and replayed as generated code.

Entry points: `capture` (record one call of a function) and `Program` (replay it); `flambeau.extension.capture` is their public
name.  Must stay true: a replay gives the bits of the recorded call, writes to the same tensors, and runs only while its guards
hold; what cannot be replayed so raises `NotCapturable` or `LookedAtValue`, and the function runs as it is.  The passes and the
generated source may change freely.

- `recorder`: arrays and numbers that remember which call made them, and the list of calls.
- `recording`: a stretch of time in which all kernels of a backend go through a recorder.
- `effects`: what a step did to the tensors that were there before it.
- `sources`: where a replay finds what a step was given.
- `results`: what a step gave back: new tensors, views, tensors that were there.
- `guards`: what a replay relies on of tensors.
- `passes`: which of the calls are needed, and in which order.
- `elementwise`: what an element-wise call computes, as steps.
- `fusion`: chains of element-wise calls, as one loop each.
- `whole`: all calls in one, for array libraries that compile whole programs.
- `source`: calls as a Python function.
- `device_graphs`: a program as a graph of the device, launched at once.
- `program`: what these make of the calls.
- `differentiation`: the derivative of a recorded function, recorded behind it.
- `capture`: all of it, for one call of a function.
- `verification`: the first replay, compared with the call itself.
"""

from __future__ import annotations

from .capture import Captured, Refused, capture, describe, tensors_in
from .program import Program
from .recorder import LookedAtValue, is_own_file, is_recording, place_in_program, refuse, register_own_folder
from .recording import NotCapturable
from .source import CheckFailed
from .verification import verified

__all__ = [
    "Captured", "CheckFailed", "LookedAtValue", "NotCapturable", "Program", "Refused", "capture", "describe", "is_own_file",
    "is_recording", "place_in_program", "refuse", "register_own_folder", "tensors_in", "verified",
]  # fmt: skip
