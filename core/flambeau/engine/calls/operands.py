"""Convert the Python numbers among the operands of a call to 0-d tensors."""

from __future__ import annotations

from typing import Any, Final

from ..devices.devices import DispatchKey
from ..tape.fast_path import PLAIN
from ..tensors.tensor import Tensor, wrap
from ..values.scalars import converted, is_library_scalar, too_large

__all__ = ["UnconvertedOperand", "as_operand", "can_operate", "constant", "filler", "no_tensor", "original"]


class UnconvertedOperand:
    """Wraps an operand that cannot be converted: neither a plain tensor nor a number that fits the other operand's dtype."""

    __slots__ = ("value",)
    _key = None

    def __init__(self, value: Any) -> None:
        self.value: Final = value


def as_operand(value: Any, other: Any) -> Any:
    """Convert a scalar to a 0-d tensor of the other operand's dispatch key if that dtype fits, else to `UnconvertedOperand`."""
    if type(other) in PLAIN and type(value) in other._key.constant_types:
        try:
            return constant(value, other._key)
        except OverflowError:
            return UnconvertedOperand(value)
    number = value.item() if is_library_scalar(value) else value
    # the type is unchanged unless `value` is a library scalar; `item` of a NumPy long double returns a long double
    return UnconvertedOperand(value) if type(number) is type(value) else as_operand(number, other)


def original(operand: Any) -> Any:
    """Return the value that `as_operand` has converted to `operand`."""
    return operand.value if type(operand) is UnconvertedOperand else operand


def no_tensor(operator: str, value: Any) -> TypeError:
    return TypeError(f"descriptor '{operator}' requires a 'flambeau.Tensor' object but received a '{type(value).__name__}'")


def can_operate(value: Any) -> bool:
    """Whether operators of Tensor accept `value` as their second operand."""
    return (
        isinstance(value, (Tensor, bool, int, float, complex)) or hasattr(value, "__torch_function__") or is_library_scalar(value)
    )


def constant(value: Any, key: DispatchKey) -> Tensor:
    """Convert a Python scalar to a 0-d tensor of this dispatch key, cached: kernels are faster with an array than with a scalar.

    Raises:
        OverflowError: the dtype cannot hold the number; whether that is an error depends on the operation.
    """
    constants = key.constants
    if type(constants) is not dict and type(value) in constants.followed:  # type: ignore[attr-defined]  # a recorder's table
        plain = key.scalar_key
        return wrap(plain.backend.asarray(value, plain.raw_dtype, index=plain.device.index or 0), plain)
    cache_key = value or str(value)  # a string for 0: 0.0 == -0.0 would share one entry
    tensor: Tensor | None = constants.get(cache_key)
    if tensor is None:
        plain = key.scalar_key
        if too_large(value, plain.dtype):
            raise OverflowError(f"{value} is too large for {plain.dtype}")
        array = plain.backend.asarray(value, plain.raw_dtype, index=plain.device.index or 0)
        tensor = wrap(array, plain)
        if value == value:  # NaN is not cached: as NaN != NaN, it would never be found
            if len(key.constants) > 256:
                key.constants.clear()
            key.constants[cache_key] = tensor
    return tensor


def filler(value: Any, key: DispatchKey, alone: bool = False) -> Tensor:
    """Convert a Python number, which will fill elements of this dispatch key, to a 0-d tensor.

    For `alone` and the errors, see `flambeau.engine.values.scalars.converted`.
    """
    if type(value) in key.constant_types:
        try:
            return constant(value, key)
        except OverflowError:
            pass
    number = value.item() if is_library_scalar(value) else value
    if not isinstance(number, (bool, int, float, complex)):
        raise TypeError(f"the value must be a number or a Tensor, not {type(value).__name__}")
    plain = key.scalar_key
    array = plain.backend.asarray(converted(number, plain.dtype, alone), plain.raw_dtype, index=plain.device.index or 0)
    return wrap(array, plain)
