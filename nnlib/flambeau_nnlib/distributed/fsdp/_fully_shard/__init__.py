"""`fully_shard`: parameters, gradients and states of optimizers in parts (FSDP2, ZeRO stage 3)."""

from __future__ import annotations

from .api import *  # noqa: F403
from .api import __all__ as __all__
