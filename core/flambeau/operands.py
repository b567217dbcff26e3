"""What operations take: tensors of plain types, by the generated path, and Python's numbers, as tensors."""

from __future__ import annotations

from typing import Any

from ._tensor import Tensor, wrap
from .devices import Kind

__all__ = [
    "FAST", "Foreign", "are_of_one_kind", "as_operand", "can_operate", "constant", "is_library_scalar", "leave_fast_path",
    "no_tensor", "original", "register_plain", "return_to_fast_path",
]  # fmt: skip

# --- tensors ------------------------------------------------------------------------------------------------------

FAST: set[type] = set()  # tensor types that take the generated path; emptied while a mode wants to see every call
PLAIN: set[type] = {Tensor}  # what FAST holds otherwise
FAST.update(PLAIN)
_slow_modes = 0


def leave_fast_path() -> None:
    """Send every call through ``dispatch``, until ``return_to_fast_path`` has been called as often."""
    global _slow_modes
    _slow_modes += 1
    FAST.clear()


def return_to_fast_path() -> None:
    global _slow_modes
    _slow_modes -= 1
    if not _slow_modes:
        FAST.update(PLAIN)


def register_plain(cls: type) -> None:
    """Let a Tensor subclass that changes no operation (Parameter) take the generated path."""
    PLAIN.add(cls)
    if not _slow_modes:
        FAST.add(cls)


def are_of_one_kind(tensors: Any) -> bool:
    """Whether a sequence holds plain tensors of one kind."""
    if type(tensors) not in (list, tuple) or not tensors or type(tensors[0]) not in FAST:
        return False
    kind = tensors[0]._kind
    for each in tensors:  # noqa: SIM110 (faster than all() of a generator)
        if type(each) not in FAST or each._kind is not kind:
            return False
    return True


# --- numbers ------------------------------------------------------------------------------------------------------


class Foreign:
    """An operand that is no plain tensor, and no number that fits the one beside it: of no kind at all."""

    __slots__ = ("value",)
    _kind = None

    def __init__(self, value: Any) -> None:
        self.value = value


def as_operand(value: Any, beside: Any) -> Any:
    """A Python scalar as a 0-d tensor of the kind of ``beside``, where its category fits; else the value as Foreign."""
    if type(beside) in FAST and type(value) in beside._kind.constant_types:
        try:
            return constant(value, beside._kind)
        except OverflowError:  # whether it loses its upper bits depends on the operation
            return Foreign(value)
    number = value.item() if is_library_scalar(value) else value
    return Foreign(value) if type(number) is type(value) else as_operand(number, beside)  # a long double's item is itself


def original(operand: Any) -> Any:
    """What ``as_operand`` was given."""
    return operand.value if type(operand) is Foreign else operand


def no_tensor(operator: str, value: Any) -> TypeError:
    return TypeError(f"descriptor '{operator}' requires a 'flambeau.Tensor' object but received a '{type(value).__name__}'")


def can_operate(value: Any) -> bool:
    """Whether an operator takes ``value`` as its other operand."""
    return (isinstance(value, (Tensor, bool, int, float, complex)) or hasattr(value, "__torch_function__")
            or is_library_scalar(value))  # fmt: skip


def constant(value: Any, kind: Kind) -> Tensor:
    """A Python scalar as a 0-d tensor of this kind, remembered: a kernel takes an array faster than a scalar."""
    key = value or str(value)  # 0.0 and -0.0 are equal
    found: Tensor | None = kind.constants.get(key)
    if found is None:
        array = kind.backend.asarray(value, kind.raw_dtype, index=kind.device.index or 0)
        found = wrap(array, kind)
        if value == value:  # NaN is no key
            if len(kind.constants) > 256:
                kind.constants.clear()
            kind.constants[key] = found
    return found


def is_library_scalar(value: Any) -> bool:
    """Whether this is another library's scalar, as NumPy's ``float32(2)`` is."""
    if value is None or isinstance(value, (Tensor, bool, int, float, complex, str, bytes)):
        return False
    return getattr(value, "shape", None) == () and hasattr(value, "item") and not hasattr(value, "__setitem__")
