"""`torch._utils`, and the checks `torch._check`, `torch._check_index` and so on."""

from __future__ import annotations

import sys
import traceback
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NoReturn

import flambeau as torch  # noqa: F401  # pickles of memory formats refer to `torch._utils.torch.channels_last`

from ..engine.calls.overriding import handle_torch_function, has_torch_function
from ..engine.devices.aliases import private_names
from ..engine.devices.devices import device as Device
from ..engine.tensors.tensor import Tensor
from ..operations.joining import cat

__all__: list[str] = []

__getattr__ = private_names(__name__)


def _assert(condition: Any, message: str) -> Any:
    """Raise AssertionError with `message` unless `condition` is true."""
    if has_torch_function((condition,)):
        return handle_torch_function(_assert, (condition,), condition, message)
    if not condition:
        raise AssertionError(message)
    return None


def _flatten_dense_tensors(tensors: Sequence[Tensor]) -> Tensor:
    """Concatenate the elements of all tensors into one 1-D tensor."""
    return cat([tensor.reshape(-1) for tensor in tensors])


def _unflatten_dense_tensors(flat: Tensor, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Split a 1-D tensor into consecutive views with the shapes of `tensors`."""
    parts, start = [], 0
    for tensor in tensors:
        parts.append(flat.narrow(0, start, tensor.numel()).view_as(tensor))
        start += tensor.numel()
    return tuple(parts)


def _set_obj_state(obj: Any, state: Any) -> Any:
    """Set the attributes that the default `__reduce_ex__` of an object returns: a dictionary, or one and the slots' values."""
    if isinstance(state, tuple) and len(state) != 2:
        raise RuntimeError(f"Invalid serialized state: {state}")
    for attributes in state if isinstance(state, tuple) else (state,):
        for name, value in (attributes or {}).items():
            setattr(obj, name, value)
    return obj


# --- checks -------------------------------------------------------------------------------------------------------


def _check_with(error_type: type[Exception], cond: bool, message: Any = None) -> None:
    """Raise `error_type` unless `cond` is true; `message` is a function that returns the message."""
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if cond:
        return
    if message is None:
        raise error_type("Expected cond to be True, but got False. (The call gave no message.)")
    if not callable(message):
        raise TypeError("message must be a callable")
    raise error_type(str(message()))


def _check(cond: bool, message: Any = None) -> None:
    """Raise RuntimeError unless a condition holds."""
    _check_with(RuntimeError, cond, message)


def _check_is_size(i: int, message: Any = None, *, max: int | None = None) -> None:
    """Raise RuntimeError unless `0 <= i`, and `i <= max` where `max` is given."""
    _check(i >= 0, message)
    if max is not None:
        _check(i <= max, message)


def _check_index(cond: bool, message: Any = None) -> None:
    """Raise IndexError unless a condition holds."""
    _check_with(IndexError, cond, message)


def _check_value(cond: bool, message: Any = None) -> None:
    """Raise ValueError unless a condition holds."""
    _check_with(ValueError, cond, message)


def _check_type(cond: bool, message: Any = None) -> None:
    """Raise TypeError unless a condition holds."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond: bool, message: Any = None) -> None:
    """Raise NotImplementedError unless a condition holds."""
    _check_with(NotImplementedError, cond, message)


def _check_tensor_all(cond: Tensor, message: Any = None) -> None:
    """Raise RuntimeError unless all elements of `cond` are True."""
    _check(bool(cond.all()), message)


def _assert_async(input: Tensor, assert_msg: str = "") -> None:
    """Raise RuntimeError if the single element of `input` is zero.  Despite the name, the check is immediate."""
    if input.numel() != 1:
        raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
    if input._key.backend.has_data and not bool(input):
        raise RuntimeError(assert_msg or "Expected Tensor with single nonzero value, but got zero")


def _element_size(dtype: Any) -> int:
    """Return the number of bytes of one element of a dtype."""
    size: int = dtype.itemsize
    return size


# --- devices, errors and names ------------------------------------------------------------------------------------


class KeyErrorMessage(str):
    """A message whose repr is the text itself.

    KeyError prints the repr of its argument, which would escape the line breaks of a traceback.
    """

    def __repr__(self) -> str:
        return str(self)


class ExceptionWrapper:
    """An exception of another thread or process, stored as its type and traceback text.

    Not every exception can be pickled and sent.

    >>> try:
    ...     1 / 0
    ... except ZeroDivisionError:
    ...     caught = ExceptionWrapper(where="in a test")
    >>> caught.exc_type, caught.exc_msg.splitlines()[0]
    (<class 'ZeroDivisionError'>, 'Traceback (most recent call last):')
    """

    def __init__(self, exc_info: Any = None, where: str = "in background") -> None:
        kind, value, trace = sys.exc_info() if exc_info is None else exc_info
        self.exc_type: Any = kind
        self.where = where
        self.exc_msg = "".join(traceback.format_exception(kind, value, trace))

    def reraise(self) -> NoReturn:
        """Raise an exception of the original type, with the original traceback in its message."""
        message = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            message = KeyErrorMessage(message)
        elif getattr(self.exc_type, "message", None):
            raise self.exc_type(message=message)
        try:
            error = self.exc_type(message)
        except Exception:  # the constructor may require other arguments
            raise RuntimeError(message) from None
        raise error


def _get_available_device_type() -> str | None:
    """Return the device type of the available accelerator, such as "cuda"; None without one."""
    from ..accelerator import current_accelerator

    place = current_accelerator(check_available=True)
    return None if place is None else place.type


def _get_device_module(device_type: str) -> Any:
    """Return the module of a device type, such as `torch.cuda`; RuntimeError if it has no module."""
    from importlib import import_module

    try:
        return import_module(f"flambeau.{device_type}")
    except ImportError:
        raise RuntimeError(
            f"Device '{device_type}' does not have a corresponding module registered as 'torch.{device_type}'."
        ) from None


def _get_all_device_indices() -> list[int] | None:
    """Return the indices of all devices of the accelerator; None without an accelerator."""
    from ..accelerator import device_count

    return None if _get_available_device_type() is None else list(range(device_count()))


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """Return the index of a device.

    Args:
        device: a device, its name, or its index.
        optional: whether a device without an index gives the index of the current accelerator.
        allow_cpu: whether the CPU gives -1.

    Raises:
        ValueError: the device has no index and `optional` is False, or it is the CPU and `allow_cpu` is False.
    """
    place = Device(device) if isinstance(device, str) else device
    if isinstance(place, Device):
        if place.type == "cpu" and not allow_cpu:
            raise ValueError(f"Expected a non cpu device, but got: {place}")
        if place.type == "cpu" or place.index is not None:
            return -1 if place.index is None or place.type == "cpu" else place.index
    elif isinstance(place, int):
        return place
    if not optional:
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device}")
    from ..accelerator import current_device_index

    return current_device_index()


def _take_tensors(tensors: Iterable[Tensor], size_limit: int) -> Iterator[list[Tensor]]:
    """Yield groups of tensors of the same type, with at most `size_limit` bytes each. A larger tensor is a group of one."""
    groups: dict[str, tuple[list[Tensor], int]] = {}
    for tensor in tensors:
        kind, size = tensor.type(), tensor.numel() * tensor.element_size()
        group, total = groups.get(kind, ([], 0))
        if group and total + size > size_limit:
            yield group
            group, total = [], 0
        groups[kind] = [*group, tensor], total + size
    for group, _ in groups.values():
        if group:
            yield group


def _reorder_tensors_as(tensors: Iterable[Tensor], ordered_tensors: Iterable[Tensor]) -> tuple[Tensor, ...]:
    """Reorder tensors so that their types follow those of `ordered_tensors`.

    Tensors of the same type (dtype and device) keep their order among themselves.
    """
    by_type: dict[str, list[Tensor]] = {}
    for tensor in tensors:
        by_type.setdefault(tensor.type(), []).append(tensor)
    queues = {kind: iter(group) for kind, group in by_type.items()}
    return tuple(next(queues[tensor.type()]) for tensor in ordered_tensors)


def _import_dotted_name(name: str) -> Any:
    """Return the object with a dotted name such as `torch.nn.Linear`; its module must be imported already."""
    first, *rest = name.split(".")
    found = __import__(first)
    for part in rest:
        found = getattr(found, part)
    return found


def _get_async_or_non_blocking(function_name: str, non_blocking: bool, kwargs: dict[str, Any]) -> bool:
    """Return `non_blocking`, or the value of its deprecated name `async`.  TypeError for other keywords."""
    if not kwargs:
        return non_blocking
    if set(kwargs) != {"async"}:
        raise TypeError(f"{function_name}() got an unexpected keyword argument '{next(iter(kwargs.keys() - {'async'}))}'")
    warnings.warn("'async' is deprecated; use 'non_blocking'", stacklevel=2)
    return bool(kwargs["async"])


class _ClassPropertyDescriptor:
    def __init__(self, fget: Any) -> None:
        self.fget = fget

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self.fget.__get__(instance, type(instance) if owner is None else owner)()


def classproperty(func: Any) -> _ClassPropertyDescriptor:
    """Decorate a method to be a property of the class: reading it, on the class or an instance, calls it with the class."""
    return _ClassPropertyDescriptor(func if isinstance(func, (classmethod, staticmethod)) else classmethod(func))
