"""Write exported programs as Python files that require only NumPy."""

from __future__ import annotations

from .writer import numpy_source, save_numpy

__all__ = ["numpy_source", "save_numpy"]
