"""How tensors and parameters are taken apart for a pickle, and put together again."""

from __future__ import annotations

import copyreg
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any

from ..operations.creation import empty, frombuffer
from ..runtime import devices
from ..storage import TypedStorage, UntypedStorage, placed
from ..subclasses.parameter import Parameter
from ..tensors.storage import StorageBase
from ..tensors.tensor import Tensor, attach
from ..transforms.conjugate_views import show
from ..values import dtypes

__all__ = [
    "copy_sharing_storage",
    "from_type",
    "give_state",
    "on_storage",
    "parameter",
    "parameter_with_state",
    "plain_tensor",
    "reduce_parameter",
    "reduce_storage",
    "reduce_tensor",
    "state_of",
    "storage_of_bytes",
    "storage_over",
    "tensor",
    "tensor_of_dtype",
]

Reduced = tuple[Callable[..., Any], tuple[Any, ...]]

# What autograd keeps on a tensor; hooks are not saved, as in PyTorch.
_NOT_STATE = frozenset({  # what concerns this tensor's history and memory, not its value
    "_accumulator", "_argument", "_became", "_depth", "_grad_dtype", "_has_hooks", "_hidden_at", "_hooks", "_inference",
    "_output_of", "_post_accumulate_hooks", "_retains_grad", "_running", "_shares", "_tangents",
})  # fmt: skip
# PyTorch has no typed storage of these: it saves bytes, and the dtype beside them.
_UNTYPED = frozenset({dtypes.uint16, dtypes.uint32, dtypes.uint64})


# --- taking apart ---


def reduce_tensor(tensor: Tensor) -> Reduced:
    """A tensor as its storage and its place in it, for `Tensor.__reduce_ex__`."""
    function, args = _reduce_plain(tensor)
    state = tensor.__getstate__()
    if type(tensor) is Tensor and not state:
        return function, args
    return from_type, (function, type(tensor), args, state)


def reduce_parameter(parameter_: Tensor) -> Reduced:
    """A parameter as its data, for `Parameter.__reduce_ex__`."""
    args: tuple[Any, ...] = (parameter_.data, parameter_.requires_grad, OrderedDict())
    state = parameter_.__getstate__()
    return (parameter_with_state, (*args, state)) if state else (parameter, args)


def reduce_storage(storage: TypedStorage | UntypedStorage) -> Reduced:
    """A storage as its bytes, for the `__reduce__` of storages: what `pickle` does where `save` does better."""
    dtype = storage.dtype if isinstance(storage, TypedStorage) else None
    return storage_of_bytes, (dtype, str(storage.device), storage.untyped().tobytes())


def _reduce_plain(source: Tensor) -> Reduced:
    source = source._key.materialize(source)
    source, offset, stride = placed(source)
    storage = source.untyped_storage()
    place = (offset, tuple(source.size()), stride)
    if source.dtype in _UNTYPED:
        return tensor_of_dtype, (storage, *place, source.requires_grad, OrderedDict(), source.dtype)
    typed = TypedStorage(wrap_storage=storage, dtype=source.dtype)
    return tensor, (typed, *place, source.requires_grad, OrderedDict())


def state_of(source: Tensor) -> Any:
    """The attributes that a user has given to a tensor; beside them, those in slots of a class of its own, if there are any."""
    attributes = {name: value for name, value in vars(source).items() if name not in _NOT_STATE}
    slots = {name: getattr(source, name) for name in _own_slots(type(source)) if hasattr(source, name)}
    return (attributes, slots) if slots else attributes


def _own_slots(cls: type) -> list[str]:
    """The slots, under the names that they have as attributes, that a class has and Tensor has not."""
    return [name for name in copyreg._slotnames(cls) if name not in copyreg._slotnames(Tensor)]  # type: ignore[attr-defined]  # what `pickle` itself asks


def copy_sharing_storage(source: Tensor, memo: dict[Any, Any]) -> Tensor:
    """A copy of a tensor for `deepcopy`; tensors that share a storage have copies that share one."""
    source = source._key.materialize(source)
    source, offset, stride = placed(source)
    return on_storage(deepcopy(source.untyped_storage(), memo), source.dtype, offset, source.size(), stride)


# --- putting together ---


def tensor(
    storage: TypedStorage,
    storage_offset: int,
    size: Sequence[int],
    stride: Sequence[int],
    requires_grad: bool,
    backward_hooks: Any,
    metadata: Mapping[str, bool] | None = None,
) -> Tensor:
    """A tensor on a typed storage."""
    made = plain_tensor(storage, storage_offset, size, stride)
    return _finish(made, requires_grad, metadata)


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
    """A tensor on a storage that does not know the dtype of its elements."""
    untyped = storage.untyped()
    return _finish(on_storage(untyped, dtype, storage_offset, size, stride), requires_grad, metadata)


def plain_tensor(storage: TypedStorage, storage_offset: int, size: Sequence[int], stride: Sequence[int]) -> Tensor:
    """A tensor as the oldest files have it."""
    return on_storage(storage.untyped(), storage.dtype, storage_offset, size, stride)


def parameter(data: Tensor, requires_grad: bool, backward_hooks: Any) -> Any:
    return Parameter(data, requires_grad)


def parameter_with_state(data: Tensor, requires_grad: bool, backward_hooks: Any, state: Any) -> Any:
    return _set_state(Parameter(data, requires_grad), state)


def storage_of_bytes(dtype: dtypes.dtype | None, device: str, data: bytes) -> Any:
    """A storage on a device, holding a copy of `data`."""
    untyped = storage_over(bytearray(data))
    if device != "cpu":
        untyped = untyped.to(device=devices.device(device))
    return untyped if dtype is None else TypedStorage(wrap_storage=untyped, dtype=dtype)


def from_type(function: Callable[..., Any], cls: type, args: tuple[Any, ...], state: Any) -> Any:
    """A tensor of a subclass, or with attributes of its own."""
    made = function(*args)
    if type(made) is not cls:
        made = made.as_subclass(cls)
    return _set_state(made, state)


def on_storage(storage: UntypedStorage, dtype: dtypes.dtype, offset: int, size: Sequence[int], stride: Sequence[int]) -> Tensor:
    """A tensor of elements in a storage.  RuntimeError if they would not all be inside of it."""
    _check_bounds(storage.nbytes(), dtype.itemsize, offset, size, stride)
    made = storage.as_tensor(dtype)
    backend = made._key.backend
    if not backend.mutable:
        return empty(0, dtype=dtype, device=storage.device).set_(storage, offset, size, stride)
    made._array = backend.as_strided(made._array, tuple(size), tuple(stride), offset)
    return made


def storage_over(buffer: Any) -> UntypedStorage:
    """A storage on the memory of `buffer`, shared where the device allows."""
    if not len(buffer):
        return UntypedStorage(0)
    storage: UntypedStorage = frombuffer(buffer, dtype=dtypes.uint8).untyped_storage()
    return storage


def _check_bounds(nbytes: int, itemsize: int, offset: int, size: Sequence[int], stride: Sequence[int]) -> None:
    """A file must not have us read, or write, outside of the storage."""
    if offset < 0 or len(size) != len(stride) or any(number < 0 for number in (*size, *stride)):
        raise RuntimeError(f"invalid tensor: sizes {list(size)}, strides {list(stride)}, storage offset {offset}")
    if 0 in size:
        return
    needed = (offset + 1 + sum((n - 1) * step for n, step in zip(size, stride, strict=True))) * itemsize
    if needed > nbytes:
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and itemsize "
            f"{itemsize} requiring a storage size of {needed} are out of bounds for storage of size {nbytes}"
        )


def _finish(made: Tensor, requires_grad: bool, metadata: Mapping[str, bool] | None) -> Tensor:
    """Show conjugated or negated what PyTorch left so in memory, which may be read later only, and ask for a gradient."""
    if metadata and metadata.get("conj"):
        made = made.conj()
    if metadata and metadata.get("neg"):
        made = show(made, "neg")
    return made.requires_grad_(requires_grad)


def _set_state(made: Any, state: Any) -> Any:
    if hasattr(type(made), "__setstate__") and type(made).__setstate__ is not Tensor.__setstate__:
        made.__setstate__(state)
        return made
    return give_state(made, state)


def give_state(made: Any, state: Any) -> Any:
    """Give a tensor the attributes that `state_of` found."""
    attributes, slots = state if isinstance(state, tuple) else (state, None)
    vars(made).update({name: value for name, value in (attributes or {}).items() if name not in _NOT_STATE})
    for name, value in (slots or {}).items():
        setattr(made, name, value)
    return made


# --- the protocols of `copy` and `pickle` ---


def _deepcopy(self: Tensor, memo: dict[int, Any]) -> Any:
    if self._node is not None:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at "
            "the moment.  If you were attempting to deepcopy a module, this may be because of a "
            "torch.nn.utils.weight_norm usage, see "
            "https://github.com/pytorch/pytorch/pull/103001"
        )
    if id(self) in memo:
        return memo[id(self)]
    made = copy_sharing_storage(self, memo)
    if type(made) is not type(self):
        made = made.as_subclass(type(self))
    memo[id(self)] = made
    made._requires_grad = self._requires_grad
    if self._grad is not None:
        made._grad = deepcopy(self._grad, memo)
    return give_state(made, deepcopy(state_of(self), memo))


def _reduce_ex(self: Tensor, protocol: Any) -> Any:
    return reduce_tensor(self)


def _reduce_ex_parameter(self: Tensor, protocol: Any) -> Any:
    return reduce_parameter(self)


attach(__deepcopy__=_deepcopy, __getstate__=state_of, __reduce_ex__=_reduce_ex)
Parameter.__reduce_ex__ = _reduce_ex_parameter  # type: ignore[assignment]  # a parameter is pickled as its data
StorageBase.__reduce__ = reduce_storage  # type: ignore[assignment,method-assign]
