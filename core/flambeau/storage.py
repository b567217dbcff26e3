"""`torch.UntypedStorage` and `torch.TypedStorage`: the memory of tensors as bytes, or as elements of one dtype."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from typing import Any, ClassVar

from .backend import is_mutable
from .engine.devices.aliases import private_names
from .engine.devices.devices import dispatch_key
from .engine.devices.mapping import map_file
from .engine.tensors.storage import StorageBase, how_viewed, memory_root, source_of
from .engine.tensors.tensor import Tensor, wrap
from .engine.values import dtypes
from .operations.creation.from_data import frombuffer, tensor
from .operations.creation.from_shape import empty
from .operations.creation.ranges import arange

__all__ = ["STORAGE_CLASSES", "TypedStorage", "UntypedStorage", "is_storage", "storage_layout", "storage_of"]

__getattr__: Callable[[str], Any] = private_names(__name__)


def _memory_owner(data: Tensor) -> Any:
    """Return the object that owns a tensor's memory, such as a mapped file; None if the array library allocated it."""
    backend = data._key.backend
    return backend.memory_owner(data._array) if is_mutable(backend) else None


class _Memory(StorageBase):
    """Base class of storages: the whole memory of a tensor as a 1-D sequence of elements."""

    is_hpu = is_sparse = False

    def untyped(self) -> UntypedStorage:
        """Return the storage of bytes on the same memory."""
        raise NotImplementedError

    def _elements(self) -> Tensor:
        """Return the memory as a 1-D tensor."""
        raise NotImplementedError

    def _with_memory(self, storage: UntypedStorage) -> Any:
        """Return a storage of the same class and dtype on the memory of another storage."""
        raise NotImplementedError

    @property
    def device(self) -> Any:
        return self.untyped()._bytes.device

    @property
    def is_cuda(self) -> bool:
        return self.untyped()._bytes.is_cuda

    @property
    def filename(self) -> str | None:
        """The path of the file that the memory maps if writes change the file, else None."""
        data = self.untyped()._bytes
        return getattr(_memory_owner(data), "filename", None)

    @property
    def _cdata(self) -> int:
        """A number that is unique to this storage."""
        return id(self.untyped())

    def get_device(self) -> int | None:
        """Return the index of the device; None for the CPU."""
        return self.device.index  # type: ignore[no-any-return]  # `device` is Any

    def data_ptr(self) -> int:
        """Return the address of the memory."""
        return self.untyped()._bytes.data_ptr()

    def nbytes(self) -> int:
        """Return the number of bytes."""
        return self.untyped()._bytes.numel()

    def element_size(self) -> int:
        """Return the number of bytes per element."""
        return 1

    def size(self) -> int:
        """Return the number of elements."""
        return self.nbytes() // self.element_size()

    __len__ = size

    def __sizeof__(self) -> int:
        return super().__sizeof__() + self.nbytes()

    def tolist(self) -> list[Any]:
        """Return the elements as a list."""
        return self._elements().tolist()

    def __iter__(self) -> Any:
        return iter(self.tolist())

    def __copy__(self) -> Any:
        return self.clone()

    def clone(self) -> Any:
        """Return a copy."""
        return self._with_memory(UntypedStorage._on_memory(self.untyped()._bytes.clone()))

    def copy_(self, source: Any, non_blocking: bool | None = None) -> Any:
        """Overwrite the bytes with those of another storage of the same size."""
        if not isinstance(source, _Memory):
            raise TypeError(f"copy_(): argument 'src' (position 1) must be torch.Storage, not {type(source).__name__}")
        if source.nbytes() != self.nbytes():
            raise RuntimeError(f"size does not match, self was {self.nbytes()} bytes but src was {source.nbytes()} bytes")
        self.untyped()._bytes.copy_(source.untyped()._bytes)
        return self

    def resizable(self) -> bool:
        """Whether the size can be changed: False for memory of a NumPy array, a file, or a slice of a storage."""
        data = self.untyped()._bytes
        return _memory_owner(data) is None

    def resize_(self, size: int) -> Any:
        """Change the number of elements in place, also for the tensors on this storage.  Remaining elements keep their values.

        A tensor that extends beyond the new end cannot be used until the storage is large enough again.
        """
        if not isinstance(size, int):
            raise RuntimeError(f"resize_ expects an int, but got {type(size).__name__}")
        if size < 0:
            raise RuntimeError(f"resize_ expects a non-negative number of elements, but got {size}")
        self.untyped()._resize(size * self.element_size())
        return self

    def to(self, *, device: Any, non_blocking: bool = False) -> Any:
        """Return a copy of the storage on `device`, or the storage itself if it already is on that device."""
        return self._if_moved(self.untyped()._bytes.to(device, non_blocking=non_blocking))

    def cpu(self) -> Any:
        """Return a copy of the storage on the CPU, or the storage itself if it already is on the CPU."""
        return self._if_moved(self.untyped()._bytes.cpu())

    def cuda(self, device: Any = None, non_blocking: bool = False) -> Any:
        """Return a copy on a CUDA device (by default the current one), or the storage itself if it already is on that device."""
        return self._if_moved(self.untyped()._bytes.cuda(device, non_blocking))

    def _if_moved(self, data: Tensor) -> Any:
        """Return a storage on `data`, or this storage if `data` is its own memory."""
        return self if data is self.untyped()._bytes else self._with_memory(UntypedStorage._on_memory(data))

    def is_shared(self) -> bool:
        """Whether the memory is shared with other processes."""
        return self.untyped()._bytes.is_shared()

    def share_memory_(self) -> Any:
        """Move the storage, and all tensors on it, to memory that is shared with other processes.  Return the storage."""
        self.untyped()._bytes.share_memory_()
        return self

    def is_pinned(self, device: Any = None) -> bool:
        """Whether the memory is page-locked."""
        return self.untyped()._bytes.is_pinned(device)

    def pin_memory(self, device: Any = None) -> Any:
        """Return a copy in page-locked memory, or the storage itself if it already is page-locked."""
        return self._if_moved(self.untyped()._bytes.pin_memory(device))

    def _to(self, dtype: Any) -> TypedStorage:
        """Return a copy of the elements, converted to another dtype."""
        return TypedStorage(wrap_storage=self._elements().to(dtype, copy=True).untyped_storage(), dtype=dtype)

    def __repr__(self) -> str:
        elements = "..." if self.device.type == "meta" else " " + "\n ".join(map(str, self.tolist()))
        return f"{elements}\n[{self._title()}]"

    def _title(self) -> str:
        raise NotImplementedError


def _define_conversions() -> None:
    """Define `half()`, `long()` and the other methods that convert a storage to the dtype of their name."""
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
    for name, dtype_name in named.items():
        dtype = next(d for d in dtypes.ALL if d.name == dtype_name)

        def convert(self: _Memory, dtype: Any = dtype) -> TypedStorage:
            return self._to(dtype)

        convert.__name__, convert.__qualname__ = name, f"_Memory.{name}"
        convert.__doc__ = f"Return a copy of the elements, converted to `{dtype}`."
        setattr(_Memory, name, convert)


_define_conversions()


class TypedStorage(_Memory):
    """A storage with elements of one dtype, as returned by `tensor.storage()`.

    Args:
        args: the number of (uninitialized) elements, or a sequence of elements.
        dtype: the dtype of the elements.
        device: the device of the memory.
        wrap_storage: an UntypedStorage whose memory is used in place of new memory.

    Raises:
        RuntimeError: with `wrap_storage`, `dtype` is missing or another argument is given.
        TypeError: the data is not a sequence, or `wrap_storage` is not an UntypedStorage.

    >>> torch.zeros(2, 2)[1].storage().size()
    4
    """

    dtype: Any

    def __init__(
        self, *args: Any, dtype: Any = None, device: Any = None, wrap_storage: Any = None, _internal: bool = False
    ) -> None:
        if wrap_storage is not None and (args or device is not None or dtype is None):
            raise RuntimeError("TypedStorage: wrap_storage requires dtype and no other arguments")
        self.dtype = dtype = dtype or dtypes.get_default_dtype()
        if wrap_storage is not None:
            if not isinstance(wrap_storage, UntypedStorage):
                raise TypeError(f"Argument 'wrap_storage' must be UntypedStorage, but got {type(wrap_storage).__name__}")
            self._untyped_storage = wrap_storage
            return
        if len(args) > 1:
            raise RuntimeError(f"TypedStorage takes a size or a sequence, but got {len(args)} arguments")
        data = args[0] if args else 0
        if hasattr(data, "_array"):
            raise TypeError(f"TypedStorage: argument type not recognized: {type(data).__name__}")
        elements = empty(data, dtype=dtype, device=device) if isinstance(data, int) else tensor(data, dtype=dtype, device=device)
        self._untyped_storage = storage_of(elements)

    def untyped(self) -> UntypedStorage:
        return self._untyped_storage

    def _elements(self) -> Tensor:
        return self._untyped_storage.as_tensor(self.dtype)

    def _with_memory(self, storage: UntypedStorage) -> TypedStorage:
        return TypedStorage(wrap_storage=storage, dtype=self.dtype)

    def element_size(self) -> int:
        return self.dtype.itemsize  # type: ignore[no-any-return]  # `dtype` is Any

    def as_tensor(self, dtype: Any) -> Tensor:
        """Return the memory as a 1-D tensor.  RuntimeError if `dtype` is not the dtype of the storage."""
        if dtype is not self.dtype:
            raise RuntimeError(
                f"Expected a Storage of type {dtype.legacy_name} or an UntypedStorage, but got {self.dtype.legacy_name}"
            )
        return self._elements()

    def type(self, dtype: Any = None) -> Any:
        """Return the name of the storage's type, such as `torch.FloatStorage`; given a dtype, return a converted copy."""
        return f"torch.{self.dtype.legacy_name}Storage" if dtype is None else self._to(getattr(dtype, "dtype", dtype))

    def pickle_storage_type(self) -> str:
        return f"{self.dtype.legacy_name}Storage"

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        if not isinstance(index, int):
            raise RuntimeError(f"can't index a {type(self)} with {type(index)}")
        _require_data(self)
        return self._elements()[_checked_position(index, self.size())].item()

    def __setitem__(self, index: Any, value: Any) -> None:
        if not isinstance(index, (int, slice)):
            raise RuntimeError(f"can't index a {type(self)} with {type(index)}")
        _require_data(self)
        self._elements()[index if isinstance(index, slice) else _checked_position(index, self.size())] = value

    def fill_(self, value: Any) -> TypedStorage:
        """Set all elements to `value`.  Return the storage."""
        self._elements().fill_(value)
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> TypedStorage:
        from copy import deepcopy

        return self._with_memory(deepcopy(self._untyped_storage, memo))

    @classmethod
    def from_buffer(cls, *args: Any, **kwargs: Any) -> TypedStorage:
        """Return a storage with a copy of an object that has the buffer protocol; see `UntypedStorage.from_buffer`.

        Raises:
            RuntimeError: called on `TypedStorage` itself, which has no dtype.
        """
        dtype = cls._dtype_of_class("from_buffer")
        return TypedStorage(wrap_storage=UntypedStorage.from_buffer(*args, dtype=dtype, **kwargs), dtype=dtype)

    _from_buffer = from_buffer  # accelerate uses PyTorch's private name

    @classmethod
    def from_file(cls, filename: str, shared: bool, size: int) -> TypedStorage:
        """Return a storage of `size` elements that maps a file into memory; see `UntypedStorage.from_file`.

        Args:
            filename: the path of the file.
            shared: whether writes change the file, which is created or extended if necessary.
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

    # Libraries that shard parameters call these private methods to free and restore the memory of shards.
    _size, _nbytes, _data_ptr, _resize_ = _Memory.size, _Memory.nbytes, _Memory.data_ptr, _Memory.resize_


class _LegacyStorage(type):
    """Metaclass of legacy classes such as `FloatStorage`: a call returns a TypedStorage of the class's dtype and device type."""

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
    """A storage of bytes, as returned by `tensor.untyped_storage()`: the same object for all tensors that share memory.

    A slice of a storage is a storage on a part of the same memory.

    Args:
        data: the number of (uninitialized) bytes, or a sequence of bytes.
        device: the device of the memory.

    Raises:
        RuntimeError: `data` is neither, or an item of the sequence is not an int.

    >>> x = torch.zeros(2, dtype=torch.uint8)
    >>> x.untyped_storage()[1:].fill_(7) and x
    tensor([0, 7], dtype=torch.uint8)
    """

    is_sparse_csr = False
    _bytes: Tensor  # the whole memory as a 1-D uint8 tensor

    def __new__(cls, data: Any = 0, *, device: Any = None) -> UntypedStorage:
        if isinstance(data, int):
            return cls._on_memory(empty(data, dtype=dtypes.uint8, device=device))
        if hasattr(data, "_array") or not hasattr(data, "__len__"):
            raise RuntimeError(f"torch.UntypedStorage(): Expected a sequence type, but got {type(data).__name__}")
        wrong = next((item for item in data if not isinstance(item, int)), None)
        if wrong is not None:
            raise RuntimeError(
                "torch.UntypedStorage(): tried to construct a storage from a sequence "
                f"({type(data).__name__}), but one of the items was of type {type(wrong).__name__} instead of "
                "int"
            )
        return cls._on_memory(tensor([item & 255 for item in data], dtype=dtypes.uint8, device=device))

    @classmethod
    def _on_memory(cls, data: Tensor) -> UntypedStorage:
        """Return the storage on the memory of a 1-D uint8 tensor."""
        storage = object.__new__(cls)
        storage._bytes = data
        return register_storage(storage)

    @classmethod
    def from_buffer(
        cls, buffer: Any, byte_order: str | None = None, count: int = -1, offset: int = 0, *, dtype: Any = None
    ) -> UntypedStorage:
        """Return a storage with a copy of an object that has the buffer protocol.

        Args:
            buffer: the object.
            byte_order: the byte order of the elements: `"native"`, `"little"` or `"big"`.
            count: the number of elements to copy; all by default.
            offset: the byte to start from.
            dtype: the dtype of the elements.

        Raises:
            RuntimeError: `dtype` is missing, or `byte_order` is missing and an element has several bytes.
            ValueError: `byte_order` is unknown, or the buffer has fewer than `count` elements or ends within an element.
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
        storage = cls._copy_buffer(data[offset:end])
        if byte_order not in (None, "native", sys.byteorder):
            storage.byteswap(dtype)
        return storage

    @classmethod
    def _copy_buffer(cls, buffer: Any) -> UntypedStorage:
        """Return a storage on the CPU with a copy of a buffer."""
        return storage_of(frombuffer(bytearray(buffer), dtype=dtypes.uint8).clone()) if len(buffer) else cls(device="cpu")

    @classmethod
    def from_file(cls, filename: str, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """Return a storage that maps the first `nbytes` bytes of a file into memory.  They are read on use.

        Args:
            filename: the path of the file.
            shared: whether writes change the file, which is created or extended if necessary.
            nbytes: the number of bytes.

        Raises:
            RuntimeError: the file cannot be opened, or is too small.
        """
        mapped = map_file(filename, shared, nbytes)
        return storage_of(frombuffer(mapped, dtype=dtypes.uint8)) if mapped is not None else cls(device="cpu")

    @classmethod
    def _new_shared(cls, size: int, *, device: Any = "cpu") -> UntypedStorage:
        return cls(size, device=device).fill_(0).share_memory_()  # type: ignore[no-any-return]  # `fill_` gives any storage

    @classmethod
    def _new_shared_filename_cpu(cls, *names_and_size: Any) -> UntypedStorage:
        """Return a storage in shared memory, given its size last; the names of PyTorch's manager and file are ignored."""
        return cls._new_shared(names_and_size[-1])

    def untyped(self) -> UntypedStorage:
        return self

    def _elements(self) -> Tensor:
        return self._bytes

    def _with_memory(self, storage: UntypedStorage) -> UntypedStorage:
        return storage

    def tobytes(self) -> bytes:
        """Return a copy of the bytes."""
        return self._bytes.cpu().numpy().tobytes()

    def as_tensor(self, dtype: Any) -> Tensor:
        """Return the memory as a 1-D tensor of a dtype, without trailing bytes that do not fill an element."""
        whole = self._bytes.numel() // dtype.itemsize * dtype.itemsize
        part = self._bytes.detach() if whole == self._bytes.numel() else self._bytes[:whole]
        if not part._key.backend.mutable:
            return part if dtype is part.dtype else part.view(dtype)
        key = part._key.to(dtype)
        return wrap(key.backend.reinterpret(part._array, dtype), key)

    def type(self, dtype: Any = None) -> Any:
        """Return the name of the storage's type; given a dtype, return a copy in which each byte is converted to the dtype."""
        return "torch.storage.UntypedStorage" if dtype is None else self._to(getattr(dtype, "dtype", dtype))

    def new(self) -> UntypedStorage:
        """Return an empty storage on the same device."""
        return UntypedStorage(device=self.device)

    def __getitem__(self, index: Any) -> Any:
        _check_index(index)
        _require_data(self)
        if not isinstance(index, slice):
            return self._bytes[_checked_position(index, self.size())].item()
        start, stop, _ = index.indices(self.size())
        part = self._bytes[start : max(start, stop)]
        if is_mutable(part._key.backend):
            part = wrap(part._key.backend.window(part._array), part._key)
        return UntypedStorage._on_memory(part)

    def __setitem__(self, index: Any, value: Any) -> None:
        _check_index(index)
        if not isinstance(value, int):
            raise RuntimeError(f"can only set storage content with a int types, but got {_type_name(value)} instead")
        self._bytes[index if isinstance(index, slice) else _checked_position(index, self.size())] = value & 255

    def fill_(self, value: int) -> UntypedStorage:
        """Set all bytes to `value & 255`.  Return the storage."""
        if not isinstance(value, int):
            raise RuntimeError(f"fill_ expects int, but got {type(value).__name__}")
        self._bytes.fill_(value & 255)
        return self

    def byteswap(self, dtype: Any) -> None:
        """Reverse the byte order of elements of a dtype in place; for a complex dtype, of real and imaginary parts."""
        size = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize
        whole = self.nbytes() // size
        elements = self._bytes[: whole * size].view(whole, size)
        elements.copy_(elements.flip(1))

    def __deepcopy__(self, memo: dict[int, Any]) -> UntypedStorage:
        return self.clone()  # type: ignore[no-any-return]  # of the same class

    _resize: ClassVar[Callable[[UntypedStorage, int], None]]  # the function that changes the size; set in `registrations.py`

    def _title(self) -> str:
        return f"torch.storage.UntypedStorage(device={self.device}) of size {len(self)}"


def _type_name(value: Any) -> str:
    """Return the name of a value's type in the format of PyTorch's messages about storages."""
    cls = type(value)
    return cls.__name__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__name__}"


def _require_data(storage: Any) -> None:
    """Raise NotImplementedError if the storage is on the meta device, and so has no elements."""
    if storage.device.type == "meta":
        raise NotImplementedError("Not available for 'meta' device type")


def _checked_position(index: int, size: int) -> int:
    if not -size <= index < size:
        raise IndexError(f"index {index} out of range for storage of size {size}")
    return index


def _check_index(index: Any) -> None:
    if not isinstance(index, (int, slice)) or isinstance(index, bool):
        raise TypeError(f"can't index a torch.UntypedStorage with {type(index).__name__}")
    if isinstance(index, slice) and index.step not in (None, 1):
        raise RuntimeError(f"Trying to slice with a step of {index.step}, but only a step of 1 is supported")


def _check_extent(size: int, count: int, offset: int, itemsize: int) -> None:
    """Raise ValueError if a buffer has fewer than `count` elements, or ends within an element."""
    if offset < 0 or (size and offset >= size):
        raise ValueError(f"offset must be non-negative and no greater than buffer length ({size}) , but got {offset}")
    if count < 0 and (size - offset) % itemsize:
        raise ValueError(f"buffer size ({size}) must be a multiple of element size ({itemsize})")
    if count >= 0 and offset + count * itemsize > size:
        raise ValueError(
            f"buffer has only {(size - offset) // itemsize} elements after offset {offset}, but specified a size of {count}"
        )


# --- one storage object per memory --------------------------------------------------------------------------------

_storages: weakref.WeakValueDictionary[tuple[Any, int, int], UntypedStorage] = weakref.WeakValueDictionary()


def _key(data: Tensor) -> tuple[Any, int, int]:
    """Return (device, address, size), which identifies the memory of a uint8 tensor; address 0 means unknown."""
    backend, array = data._key.backend, data._array
    size = array.shape[0]
    if backend.mutable:
        return data.device, backend.data_ptr(array), size
    root = memory_root(data)
    return data.device, id(root) if root.nbytes == size else 0, size


def register_storage(storage: UntypedStorage) -> UntypedStorage:
    """Return the registered storage on the same memory; if it is missing, register and return `storage`."""
    key = _key(storage._bytes)
    return _storages.setdefault(key, storage) if key[1] else storage


def unregister_storage(storage: UntypedStorage) -> None:
    """Remove a storage from the registry, because it is about to be moved to other memory."""
    key = _key(storage._bytes)
    if _storages.get(key) is storage:
        del _storages[key]


def storage_of(tensor: Tensor) -> UntypedStorage:
    """Return the storage that contains a tensor's elements."""
    backend = tensor._key.backend
    if backend.mutable:
        return UntypedStorage._on_memory(wrap(backend.memory(tensor._array), tensor._key.materialized.to(dtypes.uint8)))
    flat = memory_root(tensor).detach().view(-1)
    return UntypedStorage._on_memory(flat if flat.dtype is dtypes.uint8 else flat.view(dtypes.uint8))


def make_storage_classes(device_type: str = "cpu") -> dict[str, _LegacyStorage]:
    """Create the legacy storage classes of a device type, such as `FloatStorage`."""
    where = "flambeau" if device_type == "cpu" else f"flambeau.{device_type}"
    classes = {}
    for dtype in dtypes.ALL:
        name = f"{dtype.legacy_name}Storage"
        about = f"A storage with elements of {dtype} on a device of type {device_type}."
        attributes = {"dtype": dtype, "device_type": device_type, "__module__": where, "__doc__": about}
        classes[name] = _LegacyStorage(name, (TypedStorage,), attributes)
    return classes


STORAGE_CLASSES = make_storage_classes()


def is_storage(obj: Any, /) -> bool:
    """Whether `obj` is a storage.

    Args:
        obj: any object.

    >>> torch.is_storage(torch.ones(1).untyped_storage()), torch.is_storage([1.0])
    (True, False)
    """
    return isinstance(obj, (TypedStorage, UntypedStorage))


def storage_layout(tensor: Tensor) -> tuple[Tensor, int, tuple[int, ...]]:
    """Return the tensor, and the offset and strides of its elements in its storage.

    With immutable arrays, a view may have elements that no strides describe.  The returned tensor is then a contiguous copy.
    """
    if tensor._key.backend.mutable or source_of(tensor) is None:
        return tensor, tensor.storage_offset(), tensor.stride()
    root = memory_root(tensor)
    if tensor.numel() and tensor.dtype is root.dtype:
        positions = _positions(tensor)
        offset = int(positions.reshape(-1)[0])
        strides = tuple(
            [
                int(positions.select(dim, 1).reshape(-1)[0]) - offset if length > 1 else 1
                for dim, length in enumerate(tensor.shape)
            ]
        )
        every = arange(root.numel(), device="cpu")
        if bool((every.as_strided(tensor.shape, strides, offset) == positions).all()):
            return tensor, offset, strides
    tensor = tensor.detach().clone()
    return tensor, 0, tensor.stride()


def _positions(tensor: Tensor) -> Tensor:
    """Return the index of each element of a view within its root tensor, as an int64 tensor on the CPU."""
    key = dispatch_key(dtypes.int64, tensor.device)

    def look(view: Tensor) -> Any:
        source = view.__dict__.get("_shares")
        if source is not None:
            return look(source)
        if view._view is None:
            return arange(view.numel(), device=view.device).view(view.shape)._array
        parent, name, params, number = how_viewed(view)
        positions = key[name][0](look(parent), *params)
        return positions if number is None else positions[number]

    return wrap(look(tensor), key).cpu()
