"""Translate element-wise calls to steps of a fused loop.

An operation that loops do not implement directly is traced: its forward runs on symbols, and each function adds a step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...engine.calls.dispatch import common_shape
from ...engine.calls.tables import OPS
from ...engine.devices.hookspecs import Fusion
from ...engine.values import dtypes
from .recorder import COMPUTE, Call, Recorder, Reference

__all__ = ["Elementwise", "Step", "elementwise"]


@dataclass(eq=False, slots=True)
class Step:
    """One operation of a loop.  Operands are references, earlier steps or numbers; `floats` is the operation's float dtype."""

    name: str
    signature: str
    operands: tuple[Any, ...]
    shape: tuple[int, ...]
    floats: str


@dataclass(slots=True)
class Elementwise:
    """A call that can be part of a loop: its steps (the last one computes the result) and the array it writes to, if any."""

    steps: list[Step]
    target: Reference | None


def elementwise(recorder: Recorder, call: Call, fusion: Fusion) -> Elementwise | None:
    """Return the call as steps of a loop, or None if a loop cannot compute it."""
    if call.kind != COMPUTE or call.scalars or call.constant is not None:
        return None
    name, arguments = call.name, list(call.args)
    target: Reference | None = None
    written: Reference = call.results
    if call.writes:
        if not fusion.general or call.writes != call.args[:1] or call.results is not None:
            return None
        name, target = f"{name}_", call.writes[0]
        written = target
        arguments += call.kwargs.values()
    elif type(call.results) is not Reference or (call.kwargs and not fusion.general):
        return None
    symbols = _Symbols(recorder, fusion)
    result = symbols.run(name, arguments, {} if call.writes else call.kwargs)
    if result is None or type(result.value) is not Step:
        return None
    return Elementwise(symbols.steps, target) if recorder.kind(written) == (result.shape, result.dtype) else None


class _NotElementwise(Exception):
    """Raised if an operation cannot be expressed in steps of a loop."""


@dataclass(slots=True)
class _Symbol:
    """A value in a loop: an input (array or number), the result of a step, or a constant.

    For a number, `dtype` is None, and the dtype of the other operand is used.
    """

    value: Any
    shape: tuple[int, ...]
    dtype: Any
    symbols: _Symbols

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __bool__(self) -> bool:
        raise _NotElementwise


def _operator(name: str) -> Callable[..., _Symbol]:
    return lambda self, *other: self.symbols.step(name, (self, *other))


def _reflected(name: str) -> Callable[..., _Symbol]:
    return lambda self, other: self.symbols.step(name, (other, self))


for _name in ("add", "sub", "mul", "truediv", "pow", "and", "or", "xor"):
    setattr(_Symbol, f"__{_name}__", _operator(_name))
    setattr(_Symbol, f"__r{_name}__", _reflected(_name))
for _name in ("lt", "le", "gt", "ge", "eq", "ne", "neg", "abs", "invert"):
    setattr(_Symbol, f"__{_name}__", _operator(_name))


@dataclass(slots=True)
class _Symbols:
    """The symbols of one call, and the steps recorded from them."""

    recorder: Recorder
    fusion: Fusion
    steps: list[Step] = field(default_factory=list)

    def run(self, name: str, arguments: Sequence[Any], options: dict[str, Any]) -> _Symbol | None:
        """Trace an operation on symbols; return its result, or None if steps cannot compute it."""
        given = [self._given(argument) if type(argument) is Reference else argument for argument in arguments]
        try:
            if name in self.fusion.operations:
                return None if options else self.step(name, given)
            record = OPS.get(name)
            if record is None or record.variadic or not self.fusion.general or name in self.recorder.backend.all_kernels:
                return None
            result = record.forward(_Namespace(self), *given, **options)
        except (_NotElementwise, AttributeError, TypeError, RuntimeError):  # the forward uses a feature that symbols lack
            return None
        return result if type(result) is _Symbol else None

    def _given(self, reference: Reference) -> _Symbol:
        shape, dtype = self.recorder.kinds[reference.index] or ((), None)
        return _Symbol(reference, shape, dtype, self)

    def constant(self, value: Any, dtype: Any = None) -> _Symbol:
        """Return a constant number; without a dtype, the dtype of the other operand is used."""
        if type(value) not in (int, float) or not abs(value) < 1e38 or float(value) != value:
            raise _NotElementwise
        return _Symbol(value, (), dtype, self)

    def step(self, name: str, arguments: Sequence[Any]) -> _Symbol:
        """Add a step for an operation that loops implement; return its result."""
        symbols = [argument if type(argument) is _Symbol else self.constant(argument) for argument in arguments]
        for signature in self.fusion.operations.get(name, ()):
            floats = self._floats(signature.partition(">")[0], symbols)
            if floats is not None:
                break
        else:
            raise _NotElementwise
        if signature.endswith("f") and not floats:
            raise _NotElementwise
        read = [symbol for symbol, letter in zip(symbols, signature, strict=False) if letter != "*"]
        shape = tuple(common_shape(*(symbol.shape for symbol in read)))
        dtype = self.recorder.backend.dtypes[dtypes.bool_] if signature.endswith("b") else floats
        self.steps.append(Step(name, signature, tuple([symbol.value for symbol in read]), shape, str(floats or "")))
        return _Symbol(self.steps[-1], shape, dtype, self)

    def _floats(self, letters: str, symbols: Sequence[_Symbol]) -> Any:
        """Return the arguments' floating-point dtype, "" if none has one, or None if the arguments do not match `letters`."""
        if len(letters) != len(symbols):
            return None
        found, known = "", False
        for letter, symbol in zip(letters, symbols, strict=True):
            if letter == "b" and str(symbol.dtype) != "bool":
                return None
            if letter == "f" and symbol.dtype is None:
                if type(symbol.value) is Reference and (not self.fusion.general or symbol.value in self._dictionaries()):
                    return None
            elif letter == "f":
                if str(symbol.dtype) not in self.fusion.floats or (found and symbol.dtype != found):
                    return None
                found = symbol.dtype
                known = known or type(symbol.value) not in (int, float)
        return found if known or "f" not in letters else None

    def _dictionaries(self) -> set[Reference]:
        return self.recorder.shared_dictionaries()


class _Namespace:
    """Replaces the array library while an operation is traced: functions add steps to a loop; constants are the library's."""

    def __init__(self, symbols: _Symbols) -> None:
        self._symbols, self._real = symbols, symbols.recorder.backend.forward_xp

    def __getattr__(self, name: str) -> Any:
        if name in self._symbols.fusion.operations:
            return lambda *arguments: self._symbols.step(name, arguments)
        attribute = getattr(self._real, name)
        if name == "isdtype" or isinstance(attribute, type) or not callable(attribute):
            return attribute
        raise _NotElementwise

    def clip(self, x: Any, min: Any = None, max: Any = None) -> Any:
        for name, limit in (("maximum", min), ("minimum", max)):
            x = x if limit is None else self._symbols.step(name, (x, limit))
        return x

    def asarray(self, value: Any, *, dtype: Any) -> _Symbol:
        return self._symbols.constant(value, dtype)

    def full(self, shape: tuple[int, ...], value: Any, *, dtype: Any) -> _Symbol:
        if shape != ():
            raise _NotElementwise
        return self._symbols.constant(value, dtype)

    def zeros(self, shape: tuple[int, ...], *, dtype: Any) -> _Symbol:
        return self.full(shape, 0.0, dtype=dtype)

    def ones(self, shape: tuple[int, ...], *, dtype: Any) -> _Symbol:
        return self.full(shape, 1.0, dtype=dtype)

    def zeros_like(self, x: _Symbol) -> _Symbol:
        return self._symbols.constant(0.0, x.dtype)

    def ones_like(self, x: _Symbol) -> _Symbol:
        return self._symbols.constant(1.0, x.dtype)
