"""`load`: reads the pickle of a file together with its storages."""

from __future__ import annotations

import inspect
import io
import mmap as mmaps
import os
import pickle
import re
import struct
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from ..protocols.pickling import storage_over
from ..storage import TypedStorage, UntypedStorage
from ..values import dtypes
from .archive import ArchiveReader, is_archive, swap_bytes
from .locations import restorer
from .options import assumed_byteorder, get_default_mmap_options, is_skipping_data
from .pickles import SafeUnpickler, unpickler_class, unsafe_globals
from .saving import MAGIC_NUMBER, PROTOCOL_VERSION

__all__ = ["SourceChangeWarning", "get_unsafe_globals_in_checkpoint", "load"]

UNSAFE = (
    "In PyTorch 2.6, we changed the default value of the `weights_only` argument in `torch.load` from "
    "`False` to `True`. Re-running `torch.load` with `weights_only` set to `False` will likely succeed, but "
    "it can result in arbitrary code execution. Do it only if you got the file from a trusted source."
)
_YES = frozenset({"1", "y", "yes", "true"})


class SourceChangeWarning(Warning):
    """The source of a class differs from what it was when an instance was saved."""


def load(
    f: Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Read an object from a file written by `save` or PyTorch, or tensors from a `.safetensors` file.

    Args:
        f: a path, or an object with `read`, `seek` and `tell`.
        map_location: the location of the loaded storages: a device or its name; a dict from saved location to
            location; or a function from a storage in host memory and its saved location to a storage, or to None for
            the saved location.  By default every storage is loaded to the location from which it was saved.
        pickle_module: the module with the `Unpickler` class.
        weights_only: only read tensors, plain Python data and what `add_safe_globals` allows, so
            that loading runs no code from the file.  True by default, unless a `pickle_module` is given.
        mmap: map the file into memory, so that tensors are only read when they are used.
        pickle_load_args: options of the unpickler for `weights_only=False`, such as `encoding="latin1"`.

    Raises:
        pickle.UnpicklingError: the file refers to a global that is not allowed; the message says how to allow it.
        RuntimeError: the file is damaged, or has storages on a device that is not available.

    >>> import flambeau as torch, io
    >>> file = io.BytesIO()
    >>> torch.save(torch.arange(3), file)
    >>> torch.load(io.BytesIO(file.getvalue()), map_location="cpu")
    tensor([0, 1, 2])
    """
    weights_only = _decide_weights_only(weights_only, pickle_module)
    if weights_only:
        if pickle_module is not None:
            raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
        if pickle_load_args:
            warnings.warn("pickle_load_args only works if `weights_only=False`.", stacklevel=2)
    options = {"encoding": "utf-8", **pickle_load_args}
    base = SafeUnpickler if weights_only else unpickler_class((pickle_module or pickle).Unpickler)
    is_path = isinstance(f, str | os.PathLike)
    if is_path and os.fspath(f).endswith(".safetensors"):
        from .safetensors import load_safetensors

        return load_safetensors(f, map_location)
    if mmap and not is_path:
        raise ValueError("f must be a file path in order to use the mmap argument")
    with _opened(f) as file:
        try:
            if is_archive(file):
                return _ArchiveLoader(file, map_location, weights_only, bool(mmap)).load(base, options)
            if mmap:
                raise RuntimeError(
                    f"mmap can only be used with files saved with `torch.save({f}, "
                    "_use_new_zipfile_serialization=True), "
                    "please torch.save your checkpoint with this option in order to use mmap."
                )
            return _LegacyLoader(file, map_location, weights_only).load(base, options)
        except pickle.UnpicklingError as error:
            if weights_only:
                raise pickle.UnpicklingError(_explain(str(error))) from error
            raise


def get_unsafe_globals_in_checkpoint(f: Any) -> list[str]:
    """Return the names of the globals in a file that `load(f, weights_only=True)` would refuse.

    Raises:
        ValueError: the file has the format of PyTorch before 1.6.

    >>> import flambeau as torch, io, fractions
    >>> file = io.BytesIO()
    >>> torch.save(fractions.Fraction(1, 3), file)
    >>> torch.serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(file.getvalue()))
    ['fractions.Fraction']
    """
    with _opened(f) as file:
        if not is_archive(file):
            raise ValueError("Expected input to be a checkpoint returned by torch.save")
        return unsafe_globals(bytes(ArchiveReader(file).read("data.pkl")))


def _decide_weights_only(weights_only: bool | None, pickle_module: Any) -> bool:
    force = os.getenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "0").lower() in _YES
    forbid = os.getenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "0").lower() in _YES
    if force and forbid:
        raise RuntimeError(
            "Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD` should be set, but both were set."
        )
    if force:
        return True
    if weights_only is not None:
        return weights_only
    if forbid:
        warnings.warn(
            "Environment variable TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD detected, since the `weights_only` "
            "argument was not explicitly passed to `torch.load`, forcing weights_only=False.",
            stacklevel=3,
        )
        return False
    return pickle_module is None


def _explain(message: str) -> str:
    """The error message for a failed load with `weights_only`, with advice what to do."""
    if re.search(r"GLOBAL (\S+) was not an allowed global by default.", message):
        text = (
            "Weights only load failed. This file can still be loaded, to do so you have two options, "
            "\033[1mdo those steps only if you trust the source of the checkpoint\033[0m. "
            f"\n\t(1) {UNSAFE}\n\t(2) Alternatively, to load with `weights_only=True` please check "
            f"the recommended steps in the following error message.\n\tWeightsUnpickler error: {message}"
        )
    else:
        text = f"Weights only load failed. {UNSAFE}\n"
        if not re.search(r"whose module (\S+) is blocked", message):
            text += (
                "Please file an issue with the following so that we can make `weights_only=True` compatible "
                "with your use case: WeightsUnpickler error: "
            )
        text += f"\n\n{message}"
    return (
        f"{text}\n\nCheck the documentation of torch.load to learn more about types accepted by default with "
        "weights_only https://pytorch.org/docs/stable/generated/torch.load.html."
    )


@contextmanager
def _opened(f: Any) -> Iterator[IO[bytes]]:
    if isinstance(f, str | os.PathLike):
        with open(f, "rb") as file:
            yield file
        return
    try:
        f.seek(f.tell())
    except (io.UnsupportedOperation, AttributeError) as error:
        if "seek" in str(error) or "tell" in str(error):
            raise type(error)(
                f"{error}. You can only torch.load from a file that is seekable. Please pre-load the data "
                "into a buffer like io.BytesIO and try to load from it instead."
            ) from error
        raise
    yield f


class _ArchiveLoader:
    """Loads from a zip archive: storages are read when the pickle refers to them."""

    def __init__(self, file: IO[bytes], map_location: Any, weights_only: bool, mmap: bool) -> None:
        self._archive = ArchiveReader(file)
        self._restore = restorer(map_location)
        self._storages: dict[str, UntypedStorage] = {}
        self._memory = _map(file) if mmap else None
        if "constants.pkl" in self._archive:
            only = "Cannot use `weights_only=True` with TorchScript archives passed to `torch.load`. "
            raise RuntimeError(only + UNSAFE if weights_only else "TorchScript archives are not supported")

    def load(self, base: type, options: dict[str, Any]) -> Any:
        unpickler = base(io.BytesIO(self._archive.read("data.pkl")), **options)
        unpickler.persistent_load = self._persistent_load
        return unpickler.load()

    def _persistent_load(self, saved_id: Any) -> Any:
        kind, key, location, numel = _storage_id(saved_id, 5)
        dtype = dtypes.uint8 if kind is UntypedStorage else kind.dtype
        if key not in self._storages:
            data = self._data(f"data/{key}", numel * dtype.itemsize, dtype)
            self._storages[key] = self._restore(storage_over(data), location)
        return TypedStorage(wrap_storage=self._storages[key], dtype=dtype)

    def _data(self, record: str, nbytes: int, dtype: dtypes.dtype) -> Any:
        if is_skipping_data():
            return bytearray(nbytes)
        swapped = self._byteorder() != sys.byteorder
        data = self._archive.map(record, self._memory) if self._memory else self._archive.read(record)
        if len(data) < nbytes:
            raise RuntimeError(f"record {record!r} has {len(data)} bytes where the pickle says {nbytes}")
        return swap_bytes(data, dtype) if swapped else data[:nbytes]

    def _byteorder(self) -> str:
        if "byteorder" not in self._archive:
            return assumed_byteorder()
        byteorder = self._archive.read("byteorder").decode()
        if byteorder not in ("little", "big"):
            raise ValueError(f"Unknown endianness type: {byteorder}")
        return byteorder


def _map(file: IO[bytes]) -> mmaps.mmap:
    if get_default_mmap_options() == getattr(mmaps, "MAP_SHARED", None) is not None:
        with open(file.name, "r+b") as writable:
            return mmaps.mmap(writable.fileno(), 0)
    return mmaps.mmap(file.fileno(), 0, access=mmaps.ACCESS_COPY)


def _storage_id(saved_id: Any, length: int) -> tuple[Any, ...]:
    """The parts of the persistent id of a storage in a pickle; strings are bytes in files from Python 2."""
    if not isinstance(saved_id, tuple) or len(saved_id) != length:
        raise pickle.UnpicklingError(f"Unknown saved id: {saved_id!r}")
    parts = [part.decode("ascii") if isinstance(part, bytes) else part for part in saved_id]
    if parts[0] != "storage":
        raise pickle.UnpicklingError(f"Unknown saved id type: {parts[0]!r}, expected 'storage'")
    return tuple(parts[1:])


class _LegacyLoader:
    """Loads a file in the legacy format of PyTorch before 1.6: several pickles, followed by the data of their storages."""

    def __init__(self, file: IO[bytes], map_location: Any, weights_only: bool) -> None:
        self._file = file
        self._restore = restorer(map_location)
        self._storages: dict[str, TypedStorage] = {}
        self._views: dict[str, TypedStorage] = {}
        self._weights_only = weights_only

    def load(self, base: type, options: dict[str, Any]) -> Any:
        self._refuse_tar()
        if base(self._file, **options).load() != MAGIC_NUMBER:
            raise RuntimeError("Invalid magic number; corrupt file?")
        version = base(self._file, **options).load()
        if version != PROTOCOL_VERSION:
            raise RuntimeError(f"Invalid protocol version: {version}")
        base(self._file, **options).load()  # facts about the machine that wrote it
        unpickler = base(self._file, **options)
        unpickler.persistent_load = self._persistent_load
        result = unpickler.load()
        keys = base(self._file, **options).load()
        if not is_skipping_data():
            for key in keys:
                self._fill(self._storages[key])
        return result

    def _refuse_tar(self) -> None:
        start = self._file.tell()
        header = self._file.read(512)
        self._file.seek(start)
        if header[257:262] == b"ustar":
            refusal = "Cannot use `weights_only=True` with files saved in the legacy .tar format. " + UNSAFE
            raise RuntimeError(refusal if self._weights_only else "legacy .tar files cannot be loaded")

    def _persistent_load(self, saved_id: Any) -> Any:
        if not self._weights_only and saved_id[0] in ("module", b"module"):
            _check_source(*saved_id[1:])
            return saved_id[1]
        kind, key, location, numel, view = _storage_id(saved_id, 6)
        dtype = dtypes.uint8 if kind is UntypedStorage else kind.dtype
        if key not in self._storages:
            storage = self._restore(UntypedStorage(numel * dtype.itemsize), location)
            self._storages[key] = TypedStorage(wrap_storage=storage, dtype=dtype)
        if view is None:
            return self._storages[key]
        view_key, offset, length = view
        if view_key not in self._views:
            part = slice(offset * dtype.itemsize, (offset + length) * dtype.itemsize)
            untyped = self._storages[key].untyped()[part]
            self._views[view_key] = TypedStorage(wrap_storage=untyped, dtype=dtype)
        return self._views[view_key]

    def _fill(self, storage: TypedStorage) -> None:
        (numel,) = struct.unpack("<q", self._file.read(8))
        data: Any = self._file.read(numel * storage.dtype.itemsize)
        if len(data) != storage.nbytes():
            raise RuntimeError(f"storage has wrong byte size: expected {storage.nbytes()} got {len(data)}")
        if sys.byteorder == "big":
            data = swap_bytes(data, storage.dtype)
        storage.untyped().copy_(storage_over(bytearray(data)))


def _check_source(container: type, file_name: str | None, source: str | None) -> None:
    """Warn if the source of a class has changed since an instance was saved."""
    if not file_name or not source:
        return
    try:
        current = inspect.getsource(container)
    except (OSError, TypeError):
        warnings.warn(
            f"Couldn't retrieve source code for container of type {container.__name__}. "
            "It won't be checked for correctness upon loading.",
            stacklevel=2,
        )
        return
    if current != source:
        message = f"source code of class '{container.__qualname__}' has changed."
        warnings.warn(message, SourceChangeWarning, stacklevel=2)
