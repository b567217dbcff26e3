"""`torch.SymInt`, `SymFloat` and `SymBool`: numbers whose computation is recorded.

An example is the size of an input that varies between calls.  The number has the value of the example inputs, and a *recorder*
(such as that of `flambeau.export`) records arithmetic with it.  If code needs a plain number, as `range` and `if` do, the
recorder either specializes the program to the example value or raises an error.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, ClassVar, Protocol

__all__ = ["ARITHMETIC", "BINARY", "COMPARISONS", "UNARY", "SymBool", "SymFloat", "SymInt", "is_symbolic", "plain"]

# {Python operator: array API function}.  An operator is named like its method, without the underscores of `__add__`.
ARITHMETIC = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide", "mod": "remainder",
    "pow": "pow",
}  # fmt: skip
BINARY = ARITHMETIC | {
    "matmul": "matmul", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
}  # fmt: skip
COMPARISONS = {"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}
UNARY = {"neg": "negative", "pos": "positive", "abs": "abs", "invert": "bitwise_invert"}


class Recorder(Protocol):
    """Records computations with symbolic numbers."""

    def computed(self, function: Callable[..., Any], args: tuple[Any, ...], value: Any) -> Any:
        """Return the symbolic result of a function of symbolic numbers; `value` is its plain result."""

    def decided(self, number: Any) -> Any:
        """Return the plain value and specialize the program to it; raise an error if that is not allowed."""


class _Symbolic:
    """A number that passes each computation with it to a recorder.

    Args:
        recorder: the recorder of computations with the number.
        value: the value for the example inputs.
        origin: any data that the recorder stores with the number.
    """

    __slots__ = ("origin", "recorder", "value")
    recorder: Recorder
    value: Any
    origin: Any

    def __init__(self, recorder: Recorder, value: Any, origin: Any) -> None:
        self.recorder, self.value, self.origin = recorder, value, origin

    def __repr__(self) -> str:
        return str(self.origin)

    def __bool__(self) -> bool:
        return bool(self.recorder.decided(self if isinstance(self, SymBool) else operator.ne(self, 0)))

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call `func` with plain numbers. The recorder specializes the program to these numbers instead of recording the call."""
        return func(*map(_decided, args), **{name: _decided(value) for name, value in (kwargs or {}).items()})

    __hash__: ClassVar[None] = None  # type: ignore[assignment]  # equality may depend on the inputs

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __copy__(self) -> Any:
        return self


def _binary(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def compute(self: Any, other: Any) -> Any:
        if not isinstance(other, (_Symbolic, int, float)):
            return NotImplemented
        return self.recorder.computed(function, (self, other), function(self.value, plain(other)))

    return compute


def _reflected(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def compute(self: Any, other: Any) -> Any:
        if not isinstance(other, (int, float)):
            return NotImplemented
        return self.recorder.computed(function, (other, self), function(other, self.value))

    return compute


def _unary(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda self: self.recorder.computed(function, (self,), function(self.value))


for _name in (*ARITHMETIC, *COMPARISONS):
    setattr(_Symbolic, f"__{_name}__", _binary(getattr(operator, _name)))
for _name in ARITHMETIC:
    setattr(_Symbolic, f"__r{_name}__", _reflected(getattr(operator, _name)))
for _function in (operator.neg, operator.pos, operator.abs, math.trunc, math.floor, math.ceil):
    setattr(_Symbolic, f"__{_function.__name__}__", _unary(_function))


class SymInt(_Symbolic):
    """An integer whose use is recorded, such as the size of an input that varies between calls."""

    __slots__ = ()

    def __int__(self) -> int:
        return int(self.recorder.decided(self))

    __index__ = __int__

    def __float__(self) -> float:
        return float(self.recorder.decided(self))

    def __round__(self, digits: Any = None) -> SymInt:
        return self


class SymFloat(_Symbolic):
    """A floating-point number whose use is recorded."""

    __slots__ = ()

    def __float__(self) -> float:
        return float(self.recorder.decided(self))

    def __int__(self) -> Any:
        return int(self.recorder.decided(self))


class SymBool(_Symbolic):
    """A bool that a recorded program computes.  If Python code branches on it, the recording depends on its value."""

    __slots__ = ()

    def __int__(self) -> int:
        return int(self.recorder.decided(self))

    def __and__(self, other: Any) -> Any:
        return self.recorder.computed(operator.and_, (self, other), self.value and bool(plain(other)))

    def __or__(self, other: Any) -> Any:
        return self.recorder.computed(operator.or_, (self, other), self.value or bool(plain(other)))

    def __invert__(self) -> Any:
        return self.recorder.computed(operator.not_, (self,), not self.value)


def _decided(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_decided(item) for item in value]
    return value.recorder.decided(value) if isinstance(value, _Symbolic) else value


def is_symbolic(value: Any) -> bool:
    """Whether the value is a SymInt, SymFloat or SymBool."""
    return isinstance(value, _Symbolic)


def plain(value: Any) -> Any:
    """Return a symbolic number's value for the example inputs; return other values unchanged."""
    return value.value if isinstance(value, _Symbolic) else value
