"""Public names of functions and types, and names of variables in generated code."""

from __future__ import annotations

import builtins
import functools
import inspect
import keyword
import math
import re
import types
from collections.abc import Callable
from typing import Any

import flambeau as torch
from flambeau import functional
from flambeau.extension import names
from flambeau.utils import pytree

from ...nn import functional as F
from . import _pytree as fx_pytree

__all__ = ["READS_VALUES", "Namespace", "is_magic", "public_module", "qualified_name", "snake_case", "torch_path", "type_repr"]

# Functions and methods that read the values of tensors and return a Python number or bool. `item` and `tolist` are not among
# them, since a graph can compute what they return.
READS_VALUES = names(returns_bool=True) | {
    "__bool__", "__float__", "__int__", "__index__", "__complex__", "__contains__", "is_nonzero",
}  # fmt: skip

# Public names of flambeau's packages; the first matching prefix is used.
_PUBLIC_MODULES = {
    "torch._ops": "torch.ops",
    "flambeau_nnlib.data": "torch.utils.data",
    "flambeau_nnlib.checkpoint": "torch.utils.checkpoint",
    "flambeau_nnlib": "torch",
    "flambeau_vision": "torchvision",
    "flambeau": "torch",
}


def public_module(name: str) -> str:
    """Return the public name of a module, as users of PyTorch write it.

    >>> public_module("flambeau_nnlib.nn.functional")
    'torch.nn.functional'
    """
    for inner, face in _PUBLIC_MODULES.items():
        if name == inner or name.startswith(inner + "."):
            return face + name.removeprefix(inner)
    return name


def torch_path(value: Any) -> str | None:
    """Return the path of a function or class of flambeau, such as `torch.nn.functional.relu`, or None for other objects."""
    name, module = getattr(value, "__name__", None), getattr(value, "__module__", None)
    if not isinstance(name, str) or isinstance(value, types.ModuleType):
        return None
    if not isinstance(module, str):
        module = "torch"
    public = public_module(module)
    if public != "torch" and not public.startswith("torch."):
        return None
    in_python = isinstance(value, types.FunctionType) and hasattr(functional, name)
    places = ((functional, "torch.functional"),) if in_python else ()
    for place, path in (*places, (torch, "torch"), (F, "torch.nn.functional"), (torch.Tensor, "torch.Tensor")):
        if inspect.getattr_static(place, name, None) is value or vars(place).get(name) is value:
            return f"{path}.{name}"
    path = f"{public}.{getattr(value, '__qualname__', name)}"
    for candidate in (path, f"{public}.{name}"):
        if _at(candidate) is value:
            return candidate
    return None


def _at(path: str) -> Any:
    found: Any = torch
    for name in path.split(".")[1:]:
        found = getattr(found, name, None)
    return found


def qualified_name(function: Callable[..., Any]) -> str:
    """Return the qualified name of a function, such as `len`, `torch.relu` or `mypackage.ops.norm`.

    Raises:
        RuntimeError: the function is a lambda, or its module cannot be found.
    """
    name: str | None = getattr(function, "__name__", None)
    if name is None:  # objects such as `functools.partial` have no name
        raise AttributeError(f"{type(function).__name__!r} object has no attribute '__name__'")
    if getattr(builtins, name, None) is function:
        return name
    path = torch_path(function)
    if path is not None:
        return path
    if name == "<lambda>":
        try:
            name = inspect.getsource(function).split("=")[0].strip()
        except Exception as error:
            raise RuntimeError("Unable to represent lambda") from error
    module = getattr(function, "__module__", None)
    if not isinstance(module, str):
        raise RuntimeError(f"cannot find module for {function}")
    return f"{public_module(module)}.{name}"


def type_repr(value: Any) -> str:
    """Convert a type or another annotation to code, such as `int`, `torch.Tensor` or `...`."""
    if isinstance(value, type) and not isinstance(value, types.GenericAlias):
        if value.__module__ == "builtins":
            return value.__qualname__
        return torch_path(value) or f"{public_module(value.__module__)}.{value.__qualname__}"
    if value is ...:
        return "..."
    if isinstance(value, types.FunctionType):
        return value.__name__
    return re.sub(r"\bflambeau(?:_nnlib)?\b[\w.]*\.(?=Tensor\b)", "torch.", repr(value))


def is_magic(name: str) -> bool:
    """Whether a name starts and ends with two underscores."""
    return name.startswith("__") and name.endswith("__")


def snake_case(name: str) -> str:
    """Convert a CamelCase name to snake_case.

    >>> snake_case("layer.BatchNorm")
    'layer.batch_norm'
    """
    return re.sub(r"(?<=[a-z])([A-Z])", r"_\1", name).lower()


# The fixed global names in generated code, each with an import statement and the object.
CUSTOM_BUILTINS: dict[str, tuple[str, Any]] = {
    "inf": ("from math import inf", math.inf),
    "nan": ("from math import nan", math.nan),
    "NoneType": ("NoneType = type(None)", type(None)),
    "torch": ("import torch", torch),
    "device": ("from torch import device", torch.device),
    "fx_pytree": ("import torch.fx._pytree as fx_pytree", fx_pytree),
    "pytree": ("import torch.utils._pytree as pytree", pytree),
}


@functools.cache
def _taken() -> dict[str, Any]:
    names: dict[str, Any] = {word: object() for word in keyword.kwlist}
    return names | vars(builtins) | {name: value for name, (_, value) in CUSTOM_BUILTINS.items()}


_NUMBERED = re.compile(r"^([a-zA-Z_][0-9a-zA-Z_]*?)(?:_(\d+))?$")


class Namespace:
    """Assigns unique variable names to objects. Names are not keywords and do not shadow builtins."""

    def __init__(self) -> None:
        self._names: dict[Any, str] = {}
        self._used: set[str] = set()
        self._counts: dict[str, int] = {}

    def create_name(self, candidate: str, obj: Any) -> str:
        """Return an unused name similar to `candidate`. If `obj` is not None and already has a name, return that name."""
        if obj is not None and obj in self._names:
            return self._names[obj]
        candidate = re.sub("[^0-9a-zA-Z_]+", "_", candidate) or "_unnamed"
        if candidate[0].isdigit():
            candidate = f"_{candidate}"
        matched = _NUMBERED.match(candidate)
        assert matched is not None
        base, digits = matched.groups()
        if digits is None or candidate in self._used:
            number = self._counts.get(base, 0)
            if _taken().get(candidate, obj) is not obj:
                number += 1
                candidate = f"{base}_{number}"
        else:
            number = int(digits)
        while candidate in self._used:
            number += 1
            candidate = f"{base}_{number}"
        self._used.add(candidate)
        self._counts[base] = number
        if obj is not None:
            self._names[obj] = candidate
        return candidate

    def associate_name_with_obj(self, name: str, obj: Any) -> None:
        """Assign a newly created name to an object without a name."""
        if self._names.setdefault(obj, name) is not name:
            raise AssertionError("obj is already associated")

    def rename(self, obj: Any, name: str) -> None:
        """Assign another name to an object."""
        self._names[obj] = name
        self._used.add(name)
