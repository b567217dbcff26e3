"""Pickle and deep-copy tensors, parameters and storages."""

from __future__ import annotations

import copyreg
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any

from ..engine.calls.transform_hooks import hooks
from ..engine.devices import devices
from ..engine.tape.grad_mode import no_grad
from ..engine.tensors.tensor import Tensor
from ..engine.values import dtypes
from ..layouts.subclasses.parameter import Parameter
from ..operations.creation.from_data import frombuffer
from ..operations.creation.from_shape import empty, empty_strided
from ..storage import TypedStorage, UntypedStorage, storage_layout
from ..transforms.conjugate_views import show

__all__ = [
    "NOT_STATE",
    "copy_sharing_storage",
    "from_type",
    "get_attributes",
    "nested_tensor",
    "on_storage",
    "parameter",
    "parameter_with_state",
    "plain_tensor",
    "reduce_parameter",
    "reduce_storage",
    "reduce_tensor",
    "set_attributes",
    "sparse_tensor",
    "storage_of_bytes",
    "storage_over",
    "tensor",
    "tensor_of_dtype",
    "tensor_without_data",
    "wrapper",
]

Reduced = tuple[Callable[..., Any], tuple[Any, ...]]

# Attributes of autograd and hooks, which are not saved, as in PyTorch.
NOT_STATE = frozenset({  # the attributes describe autograd history and memory, not the value of a tensor
    "_accumulator", "_argument", "_became", "_depth", "_grad_dtype", "_has_hooks", "_hidden_at", "_hooks", "_inference",
    "_output_of", "_post_accumulate_hooks", "_retains_grad", "_running", "_shares", "_tangents",
})  # fmt: skip
# PyTorch has no typed storages for these dtypes: it saves an untyped storage and the dtype.
_UNTYPED = frozenset({dtypes.uint16, dtypes.uint32, dtypes.uint64, *dtypes.FLOAT8})


# --- reducing ---


def reduce_tensor(tensor: Tensor) -> Reduced:
    """Return (function, args) that rebuild a tensor from its storage, offset, size and stride; see `Tensor.__reduce_ex__`."""
    function, args = _reduce_plain(tensor)
    state = tensor.__getstate__()
    if type(tensor) is Tensor and not state:
        return function, args
    return from_type, (function, type(tensor), args, state)


def reduce_parameter(parameter_: Tensor) -> Reduced:
    """Return (function, args) that rebuild a parameter from its data; see `Parameter.__reduce_ex__`."""
    args: tuple[Any, ...] = (parameter_.data, parameter_.requires_grad, OrderedDict())
    state = parameter_.__getstate__()
    return (parameter_with_state, (*args, state)) if state else (parameter, args)


def reduce_storage(storage: TypedStorage | UntypedStorage) -> Reduced:
    """Return (function, args) that rebuild a storage from its bytes.

    `pickle` and `copy` use it; `torch.save` writes storages separately.
    """
    dtype = storage.dtype if isinstance(storage, TypedStorage) else None
    return storage_of_bytes, (dtype, str(storage.device), storage.untyped().tobytes())


def _reduce_plain(source: Tensor) -> Reduced:
    source = source._key.materialize(source)
    if source._key.wraps:
        rest = (source.storage_offset(), source.layout, source.device, source.requires_grad)
        return wrapper, (type(source), source.dtype, tuple(source.size()), source.stride(), *rest)
    if not source._key.backend.has_data:
        return tensor_without_data, (source.dtype, tuple(source.size()), source.stride(), source.requires_grad)
    source, offset, stride = storage_layout(source)
    storage = source.untyped_storage()
    place = (offset, tuple(source.size()), stride)
    if source.dtype in _UNTYPED:
        return tensor_of_dtype, (storage, *place, source.requires_grad, OrderedDict(), source.dtype)
    typed = TypedStorage(wrap_storage=storage, dtype=source.dtype)
    return tensor, (typed, *place, source.requires_grad, OrderedDict())


def get_attributes(source: Tensor) -> Any:
    """Return the attributes that a user has set on a tensor, or (attributes, slots) if its subclass has slots with values."""
    attributes = {name: value for name, value in vars(source).items() if name not in NOT_STATE}
    slots = {name: getattr(source, name) for name in _added_slots(type(source)) if hasattr(source, name)}
    return (attributes, slots) if slots else attributes


def _added_slots(cls: type) -> list[str]:
    """Return the names of the slots that a subclass of Tensor adds."""
    if cls is Tensor:
        return []
    return [name for name in copyreg._slotnames(cls) if name not in copyreg._slotnames(Tensor)]  # type: ignore[attr-defined]  # used by `pickle` itself


def copy_sharing_storage(source: Tensor, memo: dict[Any, Any]) -> Tensor:
    """Copy a tensor for `deepcopy`.  If two tensors share a storage, their copies share a copied storage."""
    source = source._key.materialize(source)
    source, offset, stride = storage_layout(source)
    return on_storage(deepcopy(source.untyped_storage(), memo), source.dtype, offset, source.size(), stride)


# --- rebuilding ---


def tensor(
    storage: TypedStorage,
    storage_offset: int,
    size: Sequence[int],
    stride: Sequence[int],
    requires_grad: bool,
    backward_hooks: Any,
    metadata: Mapping[str, bool] | None = None,
) -> Tensor:
    """Build a tensor on a typed storage, like PyTorch's function `torch._utils._rebuild_tensor_v2`."""
    result = plain_tensor(storage, storage_offset, size, stride)
    return _finish(result, requires_grad, metadata)


def tensor_of_dtype(
    storage: UntypedStorage | TypedStorage,
    storage_offset: int,
    size: Sequence[int],
    stride: Sequence[int],
    requires_grad: bool,
    backward_hooks: Any,
    dtype: dtypes.dtype,
    metadata: Mapping[str, bool] | None = None,
) -> Tensor:
    """Build a tensor of a dtype on an untyped storage, like PyTorch's function `torch._utils._rebuild_tensor_v3`."""
    untyped = storage.untyped()
    return _finish(on_storage(untyped, dtype, storage_offset, size, stride), requires_grad, metadata)


def tensor_without_data(dtype: dtypes.dtype, size: Sequence[int], stride: Sequence[int], requires_grad: bool) -> Tensor:
    """Build a tensor on the device `meta`, like PyTorch's function `torch._utils._rebuild_meta_tensor_no_storage`."""
    return empty_strided(size, stride, dtype=dtype, device="meta", requires_grad=requires_grad)


def wrapper(
    cls: type,
    dtype: dtypes.dtype,
    size: Sequence[int],
    stride: Sequence[int],
    offset: int,
    layout: Any,
    device: Any,
    requires_grad: bool,
) -> Any:
    """Build a tensor of a wrapper subclass.  Its inner tensors are attributes, which the unpickler sets later."""
    return Tensor._make_wrapper_subclass(cls, size, stride, offset, dtype=dtype, device=device, requires_grad=requires_grad)


def plain_tensor(storage: TypedStorage, storage_offset: int, size: Sequence[int], stride: Sequence[int]) -> Tensor:
    """Build a tensor on a typed storage, like `torch._utils._rebuild_tensor`, which files of PyTorch before 0.4 call."""
    return on_storage(storage.untyped(), storage.dtype, storage_offset, size, stride)


def parameter(data: Tensor, requires_grad: bool, backward_hooks: Any) -> Any:
    return Parameter(data, requires_grad)


def parameter_with_state(data: Tensor, requires_grad: bool, backward_hooks: Any, state: Any) -> Any:
    return _set_state(Parameter(data, requires_grad), state)


def sparse_tensor(layout: Any, data: Any) -> Tensor:
    """Build a sparse tensor from its layout and its components, such as indices, values and size."""
    result: Tensor = hooks.sparse("rebuild")(layout, data)
    return result


def nested_tensor(buffer: Tensor, sizes: Tensor, strides: Tensor, storage_offsets: Tensor) -> Tensor:
    """Build a nested tensor in the strided layout: row i of each of the other arguments describes item i in `buffer`."""
    result: Tensor = hooks.nested("_nested_view_from_buffer")(buffer, sizes, strides, storage_offsets)
    return result


def storage_of_bytes(dtype: dtypes.dtype | None, device: str, data: bytes) -> Any:
    """Return a storage on a device with a copy of `data`: a typed storage if `dtype` is given, else an untyped one."""
    untyped = storage_over(bytearray(data))
    if device != "cpu":
        untyped = untyped.to(device=devices.device(device))
    return untyped if dtype is None else TypedStorage(wrap_storage=untyped, dtype=dtype)


def from_type(function: Callable[..., Any], cls: type, args: tuple[Any, ...], state: Any) -> Any:
    """Build a tensor by `function(*args)`, convert it to the subclass `cls`, and set its attributes."""
    result = function(*args)
    if getattr(cls, "is_nested", False):  # `function` has already built a complete nested tensor
        return result
    if type(result) is not cls:
        result = result.as_subclass(cls)
    return _set_state(result, state)


def on_storage(storage: UntypedStorage, dtype: dtypes.dtype, offset: int, size: Sequence[int], stride: Sequence[int]) -> Tensor:
    """Return a tensor on a storage, with an offset in elements.  RuntimeError if an element is outside of the storage."""
    if storage.device.type == "meta" and not storage.nbytes():  # there is no memory, so bounds cannot be checked
        return empty_strided(size, stride, dtype=dtype, device=storage.device)
    _check_bounds(storage.nbytes(), dtype.itemsize, offset, size, stride)
    result = storage.as_tensor(dtype)
    backend = result._key.backend
    if not backend.mutable:
        return empty(0, dtype=dtype, device=storage.device).set_(storage, offset, size, stride)
    result._array = backend.as_strided(result._array, tuple(size), tuple(stride), offset)
    return result


def storage_over(buffer: Any) -> UntypedStorage:
    """Return a storage on the memory of `buffer`, shared if the backend can modify arrays in place."""
    if not len(buffer):
        return UntypedStorage(0)
    storage: UntypedStorage = frombuffer(buffer, dtype=dtypes.uint8).untyped_storage()
    return storage


def _check_bounds(nbytes: int, itemsize: int, offset: int, size: Sequence[int], stride: Sequence[int]) -> None:
    """Raise RuntimeError if a tensor extends beyond its storage, as in a damaged or malicious file."""
    if offset < 0 or len(size) != len(stride) or any(number < 0 for number in (*size, *stride)):
        raise RuntimeError("invalid tensor: expected as many sizes as strides, and no negative size, stride or storage offset")
    if 0 in size:
        return
    needed = (offset + 1 + sum((n - 1) * step for n, step in zip(size, stride, strict=True))) * itemsize
    if needed > nbytes:
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and itemsize "
            f"{itemsize} requiring a storage size of {needed} are out of bounds for storage of size {nbytes}"
        )


def _finish(result: Tensor, requires_grad: bool, metadata: Mapping[str, bool] | None) -> Tensor:
    """Set `requires_grad`, and return a lazy conjugate or negative view if `metadata` has PyTorch's `conj` or `neg` bit."""
    if metadata and metadata.get("conj"):
        result = result.conj()
    if metadata and metadata.get("neg"):
        result = show(result, "neg")
    return result.requires_grad_(requires_grad)


def _set_state(target: Any, state: Any) -> Any:
    if hasattr(type(target), "__setstate__") and type(target).__setstate__ is not Tensor.__setstate__:
        target.__setstate__(state)
        return target
    return set_attributes(target, state)


def set_attributes(target: Any, state: Any) -> Any:
    """Set the attributes that `get_attributes` returned for another tensor."""
    attributes, slots = state if isinstance(state, tuple) else (state, None)
    stored = {name: value for name, value in (attributes or {}).items() if name not in NOT_STATE}
    for name, value in {**stored, **(slots or {})}.items():
        setattr(target, name, value)  # a class may return properties such as `data` from `__getstate__`
    return target


# --- the protocols of `copy` and `pickle` ---


def deepcopy_tensor(self: Tensor, memo: dict[int, Any]) -> Any:
    if self._node is not None:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at "
            "the moment.  If you were attempting to deepcopy a module, this may be because of a "
            "torch.nn.utils.weight_norm usage, see "
            "https://github.com/pytorch/pytorch/pull/103001"
        )
    if id(self) in memo:
        return memo[id(self)]
    if self._key.wraps:
        return _copy_wrapper(self, memo)
    copied = copy_sharing_storage(self, memo)
    if type(copied) is not type(self):
        copied = copied.as_subclass(type(self))
    memo[id(self)] = copied
    copied._requires_grad = self._requires_grad
    if self._grad is not None:
        copied._grad = deepcopy(self._grad, memo)
    return set_attributes(copied, deepcopy(get_attributes(self), memo))


def _copy_wrapper(self: Tensor, memo: dict[int, Any]) -> Any:
    """Deep-copy a tensor of a wrapper subclass by calling the `clone` of the subclass."""
    with no_grad():
        copied = self.clone()
    if not isinstance(self, Parameter) and type(copied) is not type(self):
        raise RuntimeError(
            "The default implementation of __deepcopy__() for wrapper subclasses only works for subclass types that properly "
            f"implement clone() and for which cloning returns another instance of the same subclass, but {type(self).__name__} "
            f"returned {type(copied).__name__}."
        )
    if isinstance(self, Parameter):
        copied = Parameter(copied, self._requires_grad)
    memo[id(self)] = copied
    copied._requires_grad = self._requires_grad
    if self._grad is not None:
        copied._grad = deepcopy(self._grad, memo)
    return copied


def tensor_reduce_ex(self: Tensor, protocol: Any) -> Any:
    return reduce_tensor(self)


def parameter_reduce_ex(self: Tensor, protocol: Any) -> Any:
    return reduce_parameter(self)
