"""How much is checked about collectives: `TORCH_DISTRIBUTED_DEBUG`."""

from __future__ import annotations

import os
from enum import Enum

__all__ = ["DebugLevel", "get_debug_level", "set_debug_level", "set_debug_level_from_env"]


class DebugLevel(Enum):
    """How much is checked about collectives: with DETAIL, ranks compare what they are about to do."""

    OFF = 0
    INFO = 1
    DETAIL = 2


_level = DebugLevel.OFF


def get_debug_level() -> DebugLevel:
    """How much is checked."""
    return _level


def set_debug_level(level: DebugLevel) -> None:
    """Choose how much is checked."""
    global _level
    _level = level


def set_debug_level_from_env() -> None:
    """Read how much is checked from `TORCH_DISTRIBUTED_DEBUG`.  RuntimeError for a name that there is not."""
    name = os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF")
    if name.upper() not in DebugLevel.__members__:
        raise RuntimeError(f"The value of TORCH_DISTRIBUTED_DEBUG must be one of OFF, INFO, DETAIL, not {name!r}")
    set_debug_level(DebugLevel[name.upper()])


set_debug_level_from_env()
