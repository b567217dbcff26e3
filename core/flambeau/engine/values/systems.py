"""Differences between operating systems: WebAssembly has neither threads nor processes."""

from __future__ import annotations

import sys
from typing import Final

__all__ = ["WEBASSEMBLY", "require_processes"]

WEBASSEMBLY: Final[bool] = sys.platform in ("emscripten", "wasi")


def require_processes(function: str) -> None:
    """Raise RuntimeError if this system cannot start processes."""
    if WEBASSEMBLY:
        raise RuntimeError(f"{function} needs several processes, which WebAssembly ({sys.platform}) does not have")
