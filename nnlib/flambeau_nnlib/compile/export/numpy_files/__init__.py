"""Exported programs as files that need NumPy alone."""

from __future__ import annotations

from .writer import save_numpy, source_of

__all__ = ["save_numpy", "source_of"]
