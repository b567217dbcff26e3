"""The setting `torch.utils.deterministic.fill_uninitialized_memory`, which has no effect.

PyTorch fills uninitialized memory while deterministic algorithms are enabled.  flambeau does not need to: none of its operations
reads uninitialized memory.
"""

from __future__ import annotations

__all__ = ["fill_uninitialized_memory"]

fill_uninitialized_memory = True
