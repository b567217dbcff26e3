"""`torch._C.ScriptMethod`, the type of the methods of scripted modules."""

from __future__ import annotations

from typing import Any

from flambeau_nnlib.compile.jit import ScriptModule

__all__ = ["ScriptMethod"]


class _ScriptMethodType(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return callable(instance) and isinstance(getattr(instance, "__self__", None), ScriptModule)


class ScriptMethod(metaclass=_ScriptMethodType):
    """A method of a scripted module, for `isinstance`."""
