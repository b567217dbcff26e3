"""The level of consistency checks on collectives, from the environment variable `TORCH_DISTRIBUTED_DEBUG`."""

from __future__ import annotations

import os
from enum import Enum

__all__ = ["DebugLevel", "get_debug_level", "set_debug_level", "set_debug_level_from_env"]


class DebugLevel(Enum):
    """Level of checks on collectives. With DETAIL, ranks compare their calls before each collective."""

    OFF = 0
    INFO = 1
    DETAIL = 2


_level = DebugLevel.OFF


def get_debug_level() -> DebugLevel:
    """Return the level of checks on collectives."""
    return _level


def set_debug_level(level: DebugLevel) -> None:
    """Set the level of checks on collectives."""
    global _level
    _level = level


def set_debug_level_from_env() -> None:
    """Set the level of checks from `TORCH_DISTRIBUTED_DEBUG`. Raise RuntimeError for an unknown level."""
    name = os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF")
    if name.upper() not in DebugLevel.__members__:
        raise RuntimeError(f"The value of TORCH_DISTRIBUTED_DEBUG must be one of OFF, INFO, DETAIL, not {name!r}")
    set_debug_level(DebugLevel[name.upper()])


set_debug_level_from_env()
