"""The switch for filling uninitialised memory while deterministic algorithms are enabled.

The switch is kept for programs that set it.  No operation of flambeau reads what `torch.empty` returns before it has been
written, and memory is not filled.
"""

from __future__ import annotations

__all__ = ["fill_uninitialized_memory"]

fill_uninitialized_memory = True
