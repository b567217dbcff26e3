"""What operations take: tensors of plain types, by the generated path, and Python's numbers, as tensors."""

from __future__ import annotations

from typing import Any

from ..runtime.devices import Kind
from ..tape.fast_path import FAST
from ..tensors.tensor import Tensor, wrap
from ..values.scalars import is_library_scalar

__all__ = ["Foreign", "are_of_one_kind", "as_operand", "can_operate", "constant", "no_tensor", "original"]

# --- tensors ------------------------------------------------------------------------------------------------------


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
    """A Python scalar as a 0-d tensor of the kind of `beside`, where its category fits; else the value as Foreign."""
    if type(beside) in FAST and type(value) in beside._kind.constant_types:
        try:
            return constant(value, beside._kind)
        except OverflowError:  # whether it loses its upper bits depends on the operation
            return Foreign(value)
    number = value.item() if is_library_scalar(value) else value
    return Foreign(value) if type(number) is type(value) else as_operand(number, beside)  # a long double's item is itself


def original(operand: Any) -> Any:
    """What `as_operand` was given."""
    return operand.value if type(operand) is Foreign else operand


def no_tensor(operator: str, value: Any) -> TypeError:
    return TypeError(f"descriptor '{operator}' requires a 'flambeau.Tensor' object but received a '{type(value).__name__}'")


def can_operate(value: Any) -> bool:
    """Whether an operator takes `value` as its other operand."""
    return (
        isinstance(value, (Tensor, bool, int, float, complex)) or hasattr(value, "__torch_function__") or is_library_scalar(value)
    )


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
