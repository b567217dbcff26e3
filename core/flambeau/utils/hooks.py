"""The handle that every `register_..._hook` returns."""

from __future__ import annotations

from ..values.handles import RemovableHandle

__all__ = ["RemovableHandle"]
