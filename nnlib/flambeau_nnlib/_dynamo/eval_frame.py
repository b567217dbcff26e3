"""`OptimizedModule`, under the name by which libraries import it."""

from __future__ import annotations

from flambeau_nnlib.compiler import OptimizedModule

__all__ = ["OptimizedModule"]
