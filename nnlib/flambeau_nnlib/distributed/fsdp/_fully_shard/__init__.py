"""`fully_shard`: sharding of parameters, gradients and optimizer states (FSDP2, ZeRO stage 3)."""

from __future__ import annotations

from .api import *  # noqa: F403
from .api import __all__ as __all__
