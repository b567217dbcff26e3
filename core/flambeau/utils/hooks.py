"""The handle that all `register_..._hook` functions return."""

from __future__ import annotations

from ..values.handles import RemovableHandle

__all__ = ["RemovableHandle"]
