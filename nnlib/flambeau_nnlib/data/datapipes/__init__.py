"""Data pipes: datasets with chainable methods, as in `IterableWrapper(range(9)).map(f).batch(3)`."""

from __future__ import annotations

from . import datapipe, iter, map

__all__ = ["datapipe", "iter", "map"]
