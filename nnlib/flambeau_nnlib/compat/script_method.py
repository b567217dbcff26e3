"""`torch._C.ScriptMethod`, the type of the methods of scripted modules."""

from __future__ import annotations

from types import MethodType
from typing import Any

from flambeau_nnlib.compile.jit import ScriptModule

__all__ = ["ScriptMethod"]


class _ScriptMethodType(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, MethodType) and isinstance(instance.__self__, ScriptModule)


class ScriptMethod(metaclass=_ScriptMethodType):
    """A method of a scripted module, for `isinstance`: here it is a Python method."""
