"""Graphs: a step is recorded at its kernels while it runs, and replayed as generated code.

- `recorder`: arrays and numbers that remember which call made them, and the list of calls.
- `recording`: a stretch of time in which all kernels of a backend go through a recorder.
- `effects`: what a step did to the tensors that were there before it.
- `program`: the calls that are needed, as a Python function.
- `differentiation`: the derivative of a recorded function, recorded behind it.
- `capture`: all of it, for one call of a function.
"""

from __future__ import annotations

from .capture import Captured, capture
from .program import Program
from .recorder import LookedAtValue
from .recording import NotCapturable

__all__ = ["Captured", "LookedAtValue", "NotCapturable", "Program", "capture"]
