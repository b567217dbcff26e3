"""The memory that tensors lie in, as bytes or as elements of one dtype."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from typing import Any, ClassVar

from .operations.creation import arange, empty, tensor
from .operations.from_data import frombuffer
from .runtime.devices import dispatch_key
from .runtime.mapping import map_file
from .tensors.storage import StorageBase, how_viewed, memory_root, source_of
from .tensors.tensor import Tensor, wrap
from .values import dtypes

__all__ = ["STORAGE_CLASSES", "TypedStorage", "UntypedStorage", "is_storage", "placed", "storage_of"]


class _Memory(StorageBase):
    """All memory of a tensor, as one dimension of elements."""

    is_hpu = is_sparse = False

    def untyped(self) -> UntypedStorage:
        """The same memory as bytes."""
        raise NotImplementedError

    def _elements(self) -> Tensor:
        """The memory as a one-dimensional tensor."""
        raise NotImplementedError

    def _of(self, storage: UntypedStorage) -> Any:
        """Another memory, as elements of the same dtype."""
        raise NotImplementedError

    @property
    def device(self) -> Any:
        return self.untyped()._bytes.device

    @property
    def is_cuda(self) -> bool:
        return self.untyped()._bytes.is_cuda

    @property
    def filename(self) -> str | None:
        """The file that is mapped into the memory and that writes reach; None where there is none."""
        found = self.untyped()._bytes
        return getattr(found._key.backend.lender(found._array), "filename", None)

    @property
    def _cdata(self) -> int:
        """A number that no other memory has."""
        return id(self.untyped())

    def get_device(self) -> int | None:
        """The index of the device; None for the CPU."""
        return self.device.index  # type: ignore[no-any-return]  # `device` is Any

    def data_ptr(self) -> int:
        """The address of the memory."""
        return self.untyped()._bytes.data_ptr()

    def nbytes(self) -> int:
        """The number of bytes."""
        return self.untyped()._bytes.numel()

    def element_size(self) -> int:
        """Bytes per element."""
        return 1

    def size(self) -> int:
        """The number of elements."""
        return self.nbytes() // self.element_size()

    __len__ = size

    def __sizeof__(self) -> int:
        return super().__sizeof__() + self.nbytes()

    def tolist(self) -> list[Any]:
        """The elements as a list."""
        return self._elements().tolist()  # type: ignore[no-any-return]  # a list, as the storage is flat

    def __iter__(self) -> Any:
        return iter(self.tolist())

    def __copy__(self) -> Any:
        return self.clone()

    def clone(self) -> Any:
        """A copy."""
        return self._of(UntypedStorage._over(self.untyped()._bytes.clone()))

    def copy_(self, source: Any, non_blocking: bool | None = None) -> Any:
        """Overwrite the bytes with those of another storage of as many."""
        if not isinstance(source, _Memory):
            raise TypeError(f"copy_(): argument 'src' (position 1) must be torch.Storage, not {type(source).__name__}")
        if source.nbytes() != self.nbytes():
            raise RuntimeError(f"size does not match, self was {self.nbytes()} bytes but src was {source.nbytes()} bytes")
        self.untyped()._bytes.copy_(source.untyped()._bytes)
        return self

    def resizable(self) -> bool:
        """Whether the size can be changed: not that of memory lent by others, nor that of a slice."""
        found = self.untyped()._bytes
        return found._key.backend.lender(found._array) is None

    def resize_(self, size: int) -> Any:
        """Change the number of elements, keeping those that remain; tensors on the storage stay on it.

        A tensor that reaches beyond the end cannot be used until the storage is large enough again.
        """
        if not isinstance(size, int):
            raise RuntimeError(f"resize_ expects an int, but got {type(size).__name__}")
        if size < 0:
            raise RuntimeError(f"cannot resize a storage to {size} elements")
        self.untyped()._resize(size * self.element_size())
        return self

    def to(self, *, device: Any, non_blocking: bool = False) -> Any:
        """The elements in the memory of a device; the storage itself where they are there."""
        return self._moved(self.untyped()._bytes.to(device, non_blocking=non_blocking))

    def cpu(self) -> Any:
        """The elements in the CPU's memory."""
        return self._moved(self.untyped()._bytes.cpu())

    def cuda(self, device: Any = None, non_blocking: bool = False) -> Any:
        """The elements in the memory of a CUDA device, the current one by default."""
        return self._moved(self.untyped()._bytes.cuda(device, non_blocking))

    def _moved(self, found: Tensor) -> Any:
        return self if found is self.untyped()._bytes else self._of(UntypedStorage._over(found))

    def is_shared(self) -> bool:
        """Whether other processes can see the memory."""
        return self.untyped()._bytes.is_shared()

    def share_memory_(self) -> Any:
        """Move the memory to where other processes can see it, and all tensors in it."""
        self.untyped()._bytes.share_memory_()
        return self

    def is_pinned(self, device: Any = None) -> bool:
        """Whether the memory is page-locked."""
        return self.untyped()._bytes.is_pinned(device)

    def pin_memory(self, device: Any = None) -> Any:
        """A copy in page-locked memory, or the storage itself if it is there."""
        return self._moved(self.untyped()._bytes.pin_memory(device))

    def _to(self, dtype: Any) -> TypedStorage:
        """A copy of the elements as numbers of another dtype."""
        return TypedStorage(wrap_storage=self._elements().to(dtype, copy=True).untyped_storage(), dtype=dtype)

    def __repr__(self) -> str:
        return " " + "\n ".join(map(str, self.tolist())) + f"\n[{self._title()}]"

    def _title(self) -> str:
        raise NotImplementedError


def _conversions() -> None:
    """Give storages `half()`, `long()` and their like, of which each is a name for a dtype."""
    named = {
        "double": "float64",
        "float": "float32",
        "half": "float16",
        "long": "int64",
        "int": "int32",
        "short": "int16",
        "char": "int8",
        "byte": "uint8",
        "bool": "bool",
        "bfloat16": "bfloat16",
        "complex_double": "complex128",
        "complex_float": "complex64",
    }
    for name, wanted in named.items():
        dtype = next(each for each in dtypes.ALL if each.name == wanted)

        def convert(self: _Memory, dtype: Any = dtype) -> TypedStorage:
            return self._to(dtype)

        convert.__name__, convert.__qualname__ = name, f"_Memory.{name}"
        convert.__doc__ = f"A copy of the elements as `{dtype}`."
        setattr(_Memory, name, convert)


_conversions()


class TypedStorage(_Memory):
    """Memory as elements of one dtype: what `tensor.storage()` gives.

    Args:
        args: how many elements, uninitialised; or a sequence of them.
        dtype: of the elements.
        device: where.
        wrap_storage: the storage whose memory to take, instead of new memory.

    Raises:
        RuntimeError: beside `wrap_storage`, something else than `dtype` is given, or no dtype.
        TypeError: data that is no sequence, or a storage to wrap that is none of bytes.

    >>> import flambeau as torch
    >>> torch.zeros(2, 2)[1].storage().size()
    4
    """

    dtype: Any

    def __init__(self, *args: Any, dtype: Any = None, device: Any = None, wrap_storage: Any = None) -> None:
        if wrap_storage is not None and (args or device is not None or dtype is None):
            raise RuntimeError("TypedStorage: beside a storage to wrap, a dtype has to be given, and nothing else")
        self.dtype = dtype = dtype or dtypes.get_default_dtype()
        if wrap_storage is not None:
            if not isinstance(wrap_storage, UntypedStorage):
                raise TypeError(f"Argument 'wrap_storage' must be UntypedStorage, but got {type(wrap_storage).__name__}")
            self._untyped_storage = wrap_storage
            return
        if len(args) > 1:
            raise RuntimeError(f"TypedStorage takes a size or a sequence, but got {len(args)} arguments")
        given = args[0] if args else 0
        if hasattr(given, "_array"):
            raise TypeError(f"TypedStorage: argument type not recognized: {type(given).__name__}")
        made = empty(given, dtype=dtype, device=device) if isinstance(given, int) else tensor(given, dtype=dtype, device=device)
        self._untyped_storage = storage_of(made)

    def untyped(self) -> UntypedStorage:
        return self._untyped_storage

    def _elements(self) -> Tensor:
        return self._untyped_storage.as_tensor(self.dtype)

    def _of(self, storage: UntypedStorage) -> TypedStorage:
        return TypedStorage(wrap_storage=storage, dtype=self.dtype)

    def element_size(self) -> int:
        return self.dtype.itemsize  # type: ignore[no-any-return]  # `dtype` is Any

    def as_tensor(self, dtype: Any) -> Tensor:
        """The memory as a one-dimensional tensor of its own dtype; RuntimeError for another one."""
        if dtype is not self.dtype:
            raise RuntimeError(
                f"Expected a Storage of type {dtype.legacy_name} or an UntypedStorage, but got {self.dtype.legacy_name}"
            )
        return self._elements()

    def type(self, dtype: Any = None) -> Any:
        """The name of the storage's type, such as `torch.FloatStorage`; or, given a dtype, a copy of the elements in that."""
        return f"torch.{self.dtype.legacy_name}Storage" if dtype is None else self._to(getattr(dtype, "dtype", dtype))

    def pickle_storage_type(self) -> str:
        return f"{self.dtype.legacy_name}Storage"

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        if not isinstance(index, int):
            raise RuntimeError(f"can't index a {type(self)} with {type(index)}")
        return self._elements()[_position(index, self.size())].item()

    def __setitem__(self, index: Any, value: Any) -> None:
        if not isinstance(index, (int, slice)):
            raise RuntimeError(f"can't index a {type(self)} with {type(index)}")
        self._elements()[index if isinstance(index, slice) else _position(index, self.size())] = value

    def fill_(self, value: Any) -> TypedStorage:
        """Set every element."""
        self._elements().fill_(value)
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> TypedStorage:
        from copy import deepcopy

        return self._of(deepcopy(self._untyped_storage, memo))

    @classmethod
    def from_buffer(cls, *args: Any, **kwargs: Any) -> TypedStorage:
        """A storage holding a copy of an object with the buffer protocol, as `UntypedStorage.from_buffer` makes it.

        Raises:
            RuntimeError: called on `TypedStorage` itself, which has no dtype.
        """
        dtype = cls._dtype_of_class("from_buffer")
        return TypedStorage(wrap_storage=UntypedStorage.from_buffer(*args, dtype=dtype, **kwargs), dtype=dtype)

    @classmethod
    def from_file(cls, filename: str, shared: bool, size: int) -> TypedStorage:
        """`size` elements in a file that is mapped into memory, as `UntypedStorage.from_file` makes them.

        Args:
            filename: the path of the file.
            shared: whether writes reach the file, which is made, or grows, if need be.
            size: the number of elements.

        Raises:
            RuntimeError: the file cannot be opened, or is too small; or called on `TypedStorage` itself, which has no dtype.
        """
        dtype = cls._dtype_of_class("from_file")
        return TypedStorage(wrap_storage=UntypedStorage.from_file(filename, shared, size * dtype.itemsize), dtype=dtype)

    @classmethod
    def _new_shared(cls, size: int, *, device: Any = "cpu") -> TypedStorage:
        dtype = cls._dtype_of_class("_new_shared")
        return TypedStorage(wrap_storage=UntypedStorage._new_shared(size * dtype.itemsize, device=device), dtype=dtype)

    @classmethod
    def _dtype_of_class(cls, method: str) -> Any:
        if cls is TypedStorage:
            raise RuntimeError(f"{method} can only be called on derived classes")
        return cls.dtype

    def _title(self) -> str:
        return f"torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size {len(self)}"

    # What libraries call that shard parameters and free them meanwhile
    _size, _nbytes, _data_ptr, _resize_ = _Memory.size, _Memory.nbytes, _Memory.data_ptr, _Memory.resize_


class _LegacyStorage(type):
    """The class of `FloatStorage` and its like, which are names for `TypedStorage` of a dtype on a device type."""

    dtype: Any
    device_type: str

    def __call__(cls, *args: Any, **kwargs: Any) -> TypedStorage:
        refused = next((name for name in kwargs if name != "wrap_storage"), None)
        if refused is not None:
            raise RuntimeError(f"{cls.__name__}: keyword argument '{refused}' cannot be specified")
        if not kwargs:
            kwargs["device"] = cls.device_type
        return TypedStorage(*args, dtype=cls.dtype, **kwargs)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, TypedStorage) and instance.dtype is cls.dtype and instance.device.type == cls.device_type


class UntypedStorage(_Memory):
    """Memory as bytes: what `tensor.untyped_storage()` gives, the same object for all tensors in that memory.

    A slice is a storage in the same memory.

    Args:
        data: how many bytes, uninitialised; or a sequence of bytes.
        device: where.

    Raises:
        RuntimeError: `data` is neither, or the sequence holds something else.

    >>> import flambeau as torch
    >>> x = torch.zeros(2, dtype=torch.uint8)
    >>> x.untyped_storage()[1:].fill_(7) and x
    tensor([0, 7], dtype=torch.uint8)
    """

    is_sparse_csr = False
    _bytes: Tensor  # of one dimension: all of the memory

    def __new__(cls, data: Any = 0, *, device: Any = None) -> UntypedStorage:
        if isinstance(data, int):
            return cls._over(empty(data, dtype=dtypes.uint8, device=device))
        if hasattr(data, "_array") or not hasattr(data, "__len__"):
            raise RuntimeError(f"torch.UntypedStorage(): Expected a sequence type, but got {type(data).__name__}")
        wrong = next((each for each in data if not isinstance(each, int)), None)
        if wrong is not None:
            raise RuntimeError(
                "torch.UntypedStorage(): tried to construct a storage from a sequence "
                f"({type(data).__name__}), but one of the items was of type {type(wrong).__name__} instead of "
                "int"
            )
        return cls._over(tensor([each & 255 for each in data], dtype=dtypes.uint8, device=device))

    @classmethod
    def _over(cls, found: Tensor) -> UntypedStorage:
        """The storage of a memory, given as a one-dimensional tensor of bytes."""
        storage = object.__new__(cls)
        storage._bytes = found
        return remembered(storage)

    @classmethod
    def from_buffer(
        cls, buffer: Any, byte_order: str | None = None, count: int = -1, offset: int = 0, *, dtype: Any = None
    ) -> UntypedStorage:
        """A storage holding a copy of an object with the buffer protocol.

        Args:
            buffer: the object.
            byte_order: in which order the object has the bytes of an element: `"native"`, `"little"` or `"big"`.
            count: how many elements to take; all by default.
            offset: from which byte on.
            dtype: what the elements are.

        Raises:
            RuntimeError: there is no dtype, or no byte order although elements have several bytes.
            ValueError: another byte order; or the buffer does not hold as many elements, or part of one.
        """
        data = memoryview(buffer).cast("B")
        if dtype is None:
            raise RuntimeError("argument 'dtype' cannot be None")
        _check_extent(len(data), count, offset, dtype.itemsize)
        if byte_order is None and dtype.itemsize > 1:
            raise RuntimeError("function missing required argument 'byte_order' (pos 2)")
        if byte_order not in (None, "native", "little", "big"):
            raise ValueError(f"invalid byte_order '{byte_order}' (expected 'big', 'little', or 'native')")
        end = len(data) if count < 0 else offset + count * dtype.itemsize
        storage = cls._holding(data[offset:end])
        if byte_order not in (None, "native", sys.byteorder):
            storage.byteswap(dtype)
        return storage

    @classmethod
    def _holding(cls, buffer: Any) -> UntypedStorage:
        """A storage in a copy of a buffer."""
        return storage_of(frombuffer(bytearray(buffer), dtype=dtypes.uint8).clone()) if len(buffer) else cls(device="cpu")

    @classmethod
    def from_file(cls, filename: str, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """The first bytes of a file, mapped into memory: they are read when they are used.

        Args:
            filename: the path of the file.
            shared: whether writes reach the file, which is made, or grows, if need be.
            nbytes: how many bytes.

        Raises:
            RuntimeError: the file cannot be opened, or is too small.
        """
        mapped = map_file(filename, shared, nbytes)
        return storage_of(frombuffer(mapped, dtype=dtypes.uint8)) if mapped is not None else cls(device="cpu")

    @classmethod
    def _new_shared(cls, size: int, *, device: Any = "cpu") -> UntypedStorage:
        return cls(size, device=device).fill_(0).share_memory_()  # type: ignore[no-any-return]  # `fill_` gives any storage

    def untyped(self) -> UntypedStorage:
        return self

    def _elements(self) -> Tensor:
        return self._bytes

    def _of(self, storage: UntypedStorage) -> UntypedStorage:
        return storage

    def tobytes(self) -> bytes:
        """A copy of the bytes."""
        return self._bytes.cpu().numpy().tobytes()  # type: ignore[no-any-return]  # of the array library

    def as_tensor(self, dtype: Any) -> Tensor:
        """The memory as a one-dimensional tensor of a dtype: as many elements as there are whole ones."""
        whole = self._bytes.numel() // dtype.itemsize * dtype.itemsize
        part = self._bytes.detach() if whole == self._bytes.numel() else self._bytes[:whole]
        if not part._key.backend.mutable:
            return part if dtype is part.dtype else part.view(dtype)
        key = part._key.to(dtype)
        return wrap(key.backend.reinterpret(part._array, dtype), key)

    def type(self, dtype: Any = None) -> Any:
        """The name of the storage's type; or, given a dtype, a copy of the bytes as numbers of that."""
        return "torch.storage.UntypedStorage" if dtype is None else self._to(getattr(dtype, "dtype", dtype))

    def new(self) -> UntypedStorage:
        """An empty storage on the same device."""
        return UntypedStorage(device=self.device)

    def __getitem__(self, index: Any) -> Any:
        _check_index(index)
        if not isinstance(index, slice):
            return self._bytes[_position(index, self.size())].item()
        start, stop, _ = index.indices(self.size())
        part = self._bytes[start : max(start, stop)]
        if part._key.backend.mutable:
            part = wrap(part._key.backend.window(part._array), part._key)
        return UntypedStorage._over(part)

    def __setitem__(self, index: Any, value: Any) -> None:
        _check_index(index)
        if not isinstance(value, int):
            raise RuntimeError(f"can only set storage content with a int types, but got {_named(value)} instead")
        self._bytes[index if isinstance(index, slice) else _position(index, self.size())] = value & 255

    def fill_(self, value: int) -> UntypedStorage:
        """Set every byte."""
        if not isinstance(value, int):
            raise RuntimeError(f"fill_ expects int, but got {type(value).__name__}")
        self._bytes.fill_(value & 255)
        return self

    def byteswap(self, dtype: Any) -> None:
        """Turn the bytes of each element of a dtype around, in place; of a complex one, those of both of its parts."""
        size = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize
        whole = self.nbytes() // size
        elements = self._bytes[: whole * size].view(whole, size)
        elements.copy_(elements.flip(1))

    def __deepcopy__(self, memo: dict[int, Any]) -> UntypedStorage:
        return self.clone()  # type: ignore[no-any-return]  # of the same class

    _resize: ClassVar[Callable[[UntypedStorage, int], None]]  # set where memory is moved, which stands on storages

    def _title(self) -> str:
        return f"torch.storage.UntypedStorage(device={self.device}) of size {len(self)}"


def _named(value: Any) -> str:
    """The name of a type, as PyTorch has it in messages about storages."""
    cls = type(value)
    return cls.__name__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__name__}"


def _position(index: int, size: int) -> int:
    if not -size <= index < size:
        raise IndexError(f"index {index} out of range for storage of size {size}")
    return index


def _check_index(index: Any) -> None:
    if not isinstance(index, (int, slice)) or isinstance(index, bool):
        raise TypeError(f"can't index a torch.UntypedStorage with {type(index).__name__}")
    if isinstance(index, slice) and index.step not in (None, 1):
        raise RuntimeError(f"Trying to slice with a step of {index.step}, but only a step of 1 is supported")


def _check_extent(size: int, count: int, offset: int, itemsize: int) -> None:
    """Refuse to take more elements from a buffer than it has, or part of one."""
    if offset < 0 or (size and offset >= size):
        raise ValueError(f"offset must be non-negative and no greater than buffer length ({size}) , but got {offset}")
    if count < 0 and (size - offset) % itemsize:
        raise ValueError(f"buffer size ({size}) must be a multiple of element size ({itemsize})")
    if count >= 0 and offset + count * itemsize > size:
        raise ValueError(
            f"buffer has only {(size - offset) // itemsize} elements after offset {offset}, but specified a size of {count}"
        )


# --- which memory has which storage -------------------------------------------------------------------------------

_storages: weakref.WeakValueDictionary[tuple[Any, int, int], UntypedStorage] = weakref.WeakValueDictionary()


def _key(found: Tensor) -> tuple[Any, int, int]:
    """What no other memory has, of a memory given as a tensor of bytes; an address of 0 says nothing."""
    backend, array = found._key.backend, found._array
    size = array.shape[0]
    if backend.mutable:
        return found.device, backend.data_ptr(array), size
    root = memory_root(found)
    return found.device, id(root) if root.nbytes == size else 0, size


def remembered(storage: UntypedStorage) -> UntypedStorage:
    """The storage that there is of this memory already, or else this one."""
    key = _key(storage._bytes)
    return _storages.setdefault(key, storage) if key[1] else storage


def forget(storage: UntypedStorage) -> None:
    """Let a storage's memory be another one's: its own has moved."""
    key = _key(storage._bytes)
    if _storages.get(key) is storage:
        del _storages[key]


def storage_of(tensor: Tensor) -> UntypedStorage:
    """The storage of the memory that a tensor lies in."""
    backend = tensor._key.backend
    if backend.mutable:
        return UntypedStorage._over(wrap(backend.memory(tensor._array), tensor._key.materialized.to(dtypes.uint8)))
    flat = memory_root(tensor).detach().view(-1)
    return UntypedStorage._over(flat if flat.dtype is dtypes.uint8 else flat.view(dtypes.uint8))


def make_storage_classes(device_type: str = "cpu") -> dict[str, _LegacyStorage]:
    """`FloatStorage` and its like."""
    where = "flambeau" if device_type == "cpu" else f"flambeau.{device_type}"
    classes = {}
    for each in dtypes.ALL:
        name = f"{each.legacy_name}Storage"
        classes[name] = _LegacyStorage(name, (TypedStorage,), {"dtype": each, "device_type": device_type, "__module__": where})
    return classes


STORAGE_CLASSES = make_storage_classes()


def is_storage(obj: Any, /) -> bool:
    """Whether `obj` is a storage."""
    return isinstance(obj, (TypedStorage, UntypedStorage))


def placed(tensor: Tensor) -> tuple[Tensor, int, tuple[int, ...]]:
    """The tensor, and the offset and strides of its elements in `flat_memory`; a copy, where no strides lead to them."""
    if tensor._key.backend.mutable or source_of(tensor) is None:
        return tensor, tensor.storage_offset(), tensor.stride()
    root = memory_root(tensor)
    if tensor.numel() and tensor.dtype is root.dtype:
        found = _positions(tensor)
        offset = int(found.reshape(-1)[0])
        strides = tuple(
            [int(found.select(dim, 1).reshape(-1)[0]) - offset if length > 1 else 1 for dim, length in enumerate(tensor.shape)]
        )
        every = arange(root.numel(), device="cpu")
        if bool((every.as_strided(tensor.shape, strides, offset) == found).all()):
            return tensor, offset, strides
    tensor = tensor.detach().clone()
    return tensor, 0, tensor.stride()


def _positions(tensor: Tensor) -> Tensor:
    """For each element, its place in `flat_memory`, on the CPU."""
    key = dispatch_key(dtypes.int64, tensor.device)

    def look(each: Tensor) -> Any:
        shared = each.__dict__.get("_shares")
        if shared is not None:
            return look(shared)
        if each._view is None:
            return arange(each.numel(), device=each.device).view(each.shape)._array
        parent, name, params, number = how_viewed(each)
        made = key[name][0](look(parent), *params)
        return made if number is None else made[number]

    return wrap(look(tensor), key).cpu()
