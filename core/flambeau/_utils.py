"""Private helpers of PyTorch that programs import nevertheless."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .calls.overriding import handle_torch_function, has_torch_function
from .calls.transform_hooks import hooks
from .operations.joining import cat
from .protocols import pickling
from .tensors.tensor import Tensor

__all__: list[str] = []


def _assert(condition: Any, message: str) -> Any:
    """`assert`, as a function."""
    if has_torch_function((condition,)):
        return handle_torch_function(_assert, (condition,), condition, message)
    if not condition:
        raise AssertionError(message)
    return None


def _flatten_dense_tensors(tensors: Sequence[Tensor]) -> Tensor:
    """The elements of all tensors, in one one-dimensional tensor."""
    return cat([tensor.reshape(-1) for tensor in tensors])


def _unflatten_dense_tensors(flat: Tensor, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Consecutive parts of `flat` as views, in the shapes of `tensors`."""
    parts, start = [], 0
    for tensor in tensors:
        parts.append(flat.narrow(0, start, tensor.numel()).view_as(tensor))
        start += tensor.numel()
    return tuple(parts)


def _rebuild_sparse_tensor(layout: Any, data: Any) -> Tensor:
    """A sparse tensor from its layout and parts: what pickles of sparse tensors call."""
    tensor: Tensor = hooks.sparse("rebuild")(layout, data)
    return tensor


# --- checks, as torchvision, torchao, transformers and vllm make them -----------------------------------------------


def _check_with(error_type: type[Exception], cond: bool, message: Any = None) -> None:
    """Raise an error of a type, with a message that a function gives, unless a condition holds."""
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
    """Raise RuntimeError unless a number can be a size."""
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
    """Raise RuntimeError unless all elements are True."""
    _check(bool(cond.all()), message)


def _assert_async(input: Tensor, assert_msg: str = "") -> None:
    """Raise RuntimeError unless a tensor's one element is not zero."""
    if input.numel() != 1:
        raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
    if input._key.backend.has_data and not bool(input):
        raise RuntimeError(assert_msg or "Expected Tensor with single nonzero value, but got zero")


# --- what files of PyTorch's name ---


_REBUILDING = {
    "_rebuild_tensor": "plain_tensor", "_rebuild_tensor_v2": "tensor", "_rebuild_tensor_v3": "tensor_of_dtype",
    "_rebuild_meta_tensor_no_storage": "tensor_without_data",
    "_rebuild_parameter": "parameter", "_rebuild_parameter_with_state": "parameter_with_state",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _REBUILDING:  # picklescan, safetensors' converters, fickling
        return getattr(pickling, _REBUILDING[name])
    raise AttributeError(f"module 'flambeau._utils' has no attribute '{name}'")


def _element_size(dtype: Any) -> int:
    """How many bytes an element takes."""
    size: int = dtype.itemsize
    return size
