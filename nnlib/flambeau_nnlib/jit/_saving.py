"""Writing archives."""

from __future__ import annotations

import os
from typing import Any, BinaryIO

__all__ = ["save"]


def save(m: Any, f: str | os.PathLike[str] | BinaryIO, _extra_files: dict[str, Any] | None = None) -> None:
    """Write an archive that PyTorch loads.

    Args:
        m: the scripted or traced module or function.
        f: a path, or a file that is open for writing.
        _extra_files: further files for the archive, by their names.
    """
    raise RuntimeError("")
