"""Find the Python state that a function depends on: globals, closures, modules, containers and objects that its code can
reach.

A compiled function is replayed only while this state is unchanged. A call that changes any of it is not compiled, because a
replay would not repeat the change.
"""

from __future__ import annotations

import dis
import functools
import sys
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterable, Iterator
from operator import is_, itemgetter
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import flambeau as torch
from flambeau import Tensor
from flambeau.extension.capture import is_own_file

from ... import nn
from ...amp.autocast_mode import autocast_dtypes
from ...nn.modules.hooks import global_call_hooks

__all__ = ["Dependencies"]

_PLAIN = (int, float, complex, str, bytes, bool, type(None), range, slice, type(...))
_LEAVES = (Tensor, torch.dtype, torch.device, torch.Generator, type, CodeType)
_CONTAINERS = (dict, list, set, OrderedDict, defaultdict, deque)
_MOST = 50_000
_ABSENT = object()


class Dependencies:
    """A snapshot of the state that a function's code can reach.

    Args:
        function: the function, method or module.

    Attributes:
        numbers: the learning rates found, as (container, key); they may change from call to call.
        codes: the code objects of user-defined functions that were found.
        tensors: the tensors that were found.
    """

    def __init__(self, function: Any) -> None:
        self.tensors: list[Tensor] = []
        self.numbers: list[tuple[dict[Any, Any], Any]] = []
        self.codes: set[CodeType] = set()
        self._containers: list[Any] = []
        self._copies: list[Any] = []  # copies of the containers, to detect changes
        self._empty: list[Any] = []  # empty containers, such as most hooks of modules, which must stay empty
        self._groups: list[tuple[dict[Any, Any], dict[Any, Any]]] = []
        self._names: list[tuple[Any, str, Any]] = []
        self._cells: list[tuple[Any, Any]] = []
        self._seen: dict[int, Any] = {}
        self._waiting = [function]
        self._environment = environment()
        self._walk()
        self._group_names()

    def is_unchanged(self) -> bool:
        """Whether all state is the same as in the snapshot, apart from learning rates."""
        try:
            if any(self._empty) or self._containers != self._copies:
                return False
            for group, copy in self._groups:
                if group != copy:  # only the learning rate may have changed
                    if type(group.get("lr")) is not float or group != {**copy, "lr": group["lr"]}:
                        return False
                    copy["lr"] = group["lr"]
        except Exception:  # values that cannot be compared, such as arrays
            return False
        for names, read, values in self._reads:
            try:
                found = read(names)
            except KeyError:  # a global has been deleted
                return False
            if not all(map(is_, found, values)) and not all(map(_same, found, values)):
                return False
        for cell, value in self._cells:
            found = _contents(cell)
            if found is not value and not _same(found, value):
                return False
        return self._environment == environment()

    def add_code(self, code: CodeType, names: dict[str, Any]) -> None:
        """Add the globals that `code` uses to the dependencies. Called after the code has run."""
        if code not in self.codes:
            self._note_code(code, names)
            self._walk()
            self._group_names()

    def _group_names(self) -> None:
        """Group the globals by their dictionary, so that a check reads all of one dictionary in one call."""
        groups: dict[int, tuple[Any, dict[str, Any]]] = {}
        for names, name, value in self._names:
            groups.setdefault(id(names), (names, {}))[1].setdefault(name, value)
        self._reads = [
            (names, itemgetter(*found, next(iter(found))), [*found.values(), next(iter(found.values()))])  # two or more: a tuple
            for names, found in groups.values()
        ]

    # --- search ---

    def _walk(self) -> None:
        while self._waiting:
            value = self._waiting.pop()
            if isinstance(value, Tensor):
                self.tensors.append(value)
            if isinstance(value, (*_PLAIN, *_LEAVES)) or id(value) in self._seen:
                continue
            self._seen[id(value)] = value
            if len(self._seen) > _MOST:
                raise RuntimeError("it depends on too many objects")
            self._waiting += self._within(value)

    def _within(self, value: Any) -> Iterable[Any]:
        """Return the objects directly reachable from a value, after recording its current state."""
        if isinstance(value, MethodType):
            return (value.__self__, value.__func__)
        if isinstance(value, BuiltinFunctionType):  # a bound method such as `list.append` may modify its owner
            owner = value.__self__
            return () if owner is None or isinstance(owner, ModuleType) else (owner,)
        if isinstance(value, functools.partial):
            return (value.func, value.args, value.keywords)
        if isinstance(value, FunctionType):
            return self._within_function(value)
        if isinstance(value, (staticmethod, classmethod)):
            return (value.__func__,)
        if isinstance(value, property):
            return (value.fget, value.fset)
        if isinstance(value, tuple):
            return tuple.__iter__(value)  # a tuple subclass may override `__iter__`
        if isinstance(value, _CONTAINERS):
            if not value:
                self._empty.append(value)
                return ()
            copy = _copy_of(value)
            self._note_container(value, copy)
            return [*copy.values(), *copy.keys()] if isinstance(copy, dict) else list(copy)
        if isinstance(value, ModuleType):
            return ()
        return self._within_object(value)

    def _note_container(self, container: Any, copy: Any) -> None:
        self._containers.append(container)
        self._copies.append(copy)

    def _within_function(self, function: FunctionType) -> Iterator[Any]:
        if is_own_file(function.__code__.co_filename):
            wrapped = getattr(function, "__wrapped__", None)
            if wrapped is not None:  # a decorated function: follow the original one
                yield wrapped
            return
        self._note_code(function.__code__, function.__globals__)
        for cell in function.__closure__ or ():
            contents = _contents(cell)
            self._cells.append((cell, contents))
            yield contents
        yield function.__defaults__
        if function.__kwdefaults__:
            yield function.__kwdefaults__
        if vars(function):
            yield vars(function)

    def _within_object(self, value: Any) -> Iterator[Any]:
        attributes = getattr(value, "__dict__", None)
        if isinstance(attributes, dict):
            self._note_container(attributes, attributes.copy())
            if _is_optimizer(value):
                yield from self._within_groups(value.param_groups)
            has_no_hooks = isinstance(value, nn.Module) and attributes.get("_has_hooks") is False
            yield from (item for name, item in attributes.items() if not (has_no_hooks and name in value._hook_kinds))
        for cls in type(value).__mro__:
            if cls.__module__ == "builtins" or id(cls) in self._seen or _is_own(cls):
                continue
            self._seen[id(cls)] = cls
            self._note_container(vars(cls), vars(cls).copy())
            yield from (
                member for member in vars(cls).values() if isinstance(member, (FunctionType, property, staticmethod, classmethod))
            )
        for name in getattr(type(value), "__slots__", ()) or ():
            yield getattr(value, name, None)

    def _within_groups(self, groups: list[dict[Any, Any]]) -> Iterator[Any]:
        """Record parameter groups, whose learning rates may change."""
        for group in groups:
            if type(group.get("lr")) is float:
                self._seen[id(group)] = group
                self.numbers.append((group, "lr"))
                self._groups.append((group, dict(group)))
                yield from (value for key, value in group.items() if key != "lr")

    def _note_code(self, code: CodeType, names: dict[str, Any]) -> None:
        self.codes.add(code)
        for name in _globals_of(code):
            value = names.get(name, _ABSENT)
            if value is _ABSENT:
                continue
            self._names.append((names, name, value))
            self._waiting.append(value)
            if isinstance(value, ModuleType) and not value.__name__.startswith(("flambeau", "torch")):
                self._names += [(vars(value), inner, vars(value)[inner]) for inner in code.co_names if inner in vars(value)]
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                self._note_code(constant, names)


@functools.cache
def _globals_of(code: CodeType) -> list[str]:
    """Return the names of the globals that code uses. `code.co_names` would also contain names of attributes."""
    return [*dict.fromkeys(step.argval for step in dis.get_instructions(code) if step.opname.endswith(("_GLOBAL", "_NAME")))]


def _copy_of(container: Any) -> Any:
    """Copy a container without the methods of its subclass, which may create other values, as those of transformers' `ACT2FN`."""
    if isinstance(container, OrderedDict):
        return OrderedDict(OrderedDict.items(container))
    base = next(base for base in (dict, list, set, deque) if isinstance(container, base))
    return base(dict.items(container)) if base is dict else base(base.__iter__(container))


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # raised if the variable of the closure has no value yet
        return _ABSENT


def _same(value: Any, before: Any) -> bool:
    return value is before or (type(value) is type(before) and isinstance(value, _PLAIN) and value == before)


def _is_optimizer(value: Any) -> bool:
    """Whether the value is an optimizer.  Their module is not imported for this: a process for inference does not need it."""
    optimizers = sys.modules.get("flambeau_nnlib.optim.optimizer")
    return optimizers is not None and isinstance(value, optimizers.Optimizer)


@functools.cache
def _is_own(cls: type) -> bool:
    return cls.__module__.partition(".")[0] in ("flambeau", "flambeau_nnlib", "flambeau_vision", "flambeau_backends", "torch")


def environment() -> tuple[Any, ...]:
    """Return the global modes and defaults that affect results, such as the default dtype."""
    return (
        torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.get_default_dtype(), torch.is_anomaly_enabled(),
        torch.are_deterministic_algorithms_enabled(), autocast_dtypes(), global_call_hooks(),
    )  # fmt: skip
