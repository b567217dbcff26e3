"""`torch.load`: read the pickle in a file, and the storages that it refers to."""

from __future__ import annotations

import io
import mmap as mmaps
import os
import pickle
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import IO, Any

from ..protocols.pickling import storage_over
from ..storage import UntypedStorage
from .archive import ArchiveReader, is_archive, swap_bytes
from .damage import CallerError, DamageError, EmptyFileError, brief, caller_code, file_label, reading
from .legacy import LegacyLoader, SourceChangeWarning, Unpickling, is_tar
from .options import assumed_byteorder, garbage_collection_paused, get_default_mmap_options, is_skipping_data, load_settings
from .pickles import SafeUnpickler, unpickler_class, unsafe_globals
from .storages import SavedStorage, checked_restorer, filled_storage, parse_storage_id

__all__ = ["SourceChangeWarning", "get_unsafe_globals_in_checkpoint", "load"]

UNSAFE = (
    "In PyTorch 2.6, we changed the default value of the `weights_only` argument in `torch.load` from "
    "`False` to `True`. Re-running `torch.load` with `weights_only` set to `False` will likely succeed, but "
    "it can result in arbitrary code execution. Do it only if you got the file from a trusted source."
)
_TRUE_TEXTS = frozenset({"1", "y", "yes", "true"})


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
        map_location: the device for the loaded storages.  A device or its name; a dict {saved location: location}; or a
            function `f(storage, saved_location)` that receives a storage in host memory, and returns a storage, or None for
            the saved location.  By default each storage is loaded to its saved location, such as "cuda:0".
        pickle_module: the module with the `Unpickler` class.
        weights_only: only allow tensors, plain Python data and the classes given to `add_safe_globals`, so
            that loading runs no code from the file.  True by default, unless a `pickle_module` is given.
        mmap: map the file into memory, so that tensor data is only read on use.  Of a `.safetensors` file, large tensors are
            mapped one by one.  The default is `torch.utils.serialization.config.load.mmap`, initially False.
        pickle_load_args: options of the unpickler for `weights_only=False`, such as `encoding="latin1"`.

    Raises:
        pickle.UnpicklingError: the file refers to a global that is not allowed; the message says how to allow it.
        pickle.UnpicklingError, RuntimeError: the file is damaged; the message names the file, the record and the byte;
            for an empty file, the error is also an EOFError.
        RuntimeError: the file has storages on a device that is not available.

    >>> import io
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
    unpickle = _unpickling(weights_only, pickle_module or pickle, {"encoding": "utf-8", **pickle_load_args})
    mmap = bool(load_settings.mmap if mmap is None else mmap)
    is_path = isinstance(f, str | os.PathLike)
    if is_path and os.fspath(f).endswith(".safetensors"):
        from .safetensors import load_safetensors

        return load_safetensors(f, map_location, mmap)
    if mmap and not is_path:
        raise ValueError("f must be a file path in order to use the mmap argument")
    with _opened(f) as file, garbage_collection_paused():
        try:
            start = file.tell()
            loader = _loader(file, f, map_location, unpickle, not weights_only, mmap)
            if isinstance(loader, _ArchiveLoader) and loader.is_script:
                file.seek(start)
                return _load_script(file, map_location)
            return loader.load()
        except CallerError as error:
            error.unwrap()
        except pickle.UnpicklingError as error:
            if weights_only and not isinstance(error, DamageError):
                message = str(error) if file_label(f) in str(error) else f"{error} (in {file_label(f)})"
                raise pickle.UnpicklingError(_error_message(message)) from error
            raise


def _load_script(file: Any, map_location: Any) -> Any:
    import flambeau as torch

    warnings.warn(
        "'torch.load' received a zip file that looks like a TorchScript archive dispatching to 'torch.jit.load' "
        "(call 'torch.jit.load' directly to silence this warning)", UserWarning, stacklevel=3,
    )  # fmt: skip
    return torch.jit.load(file, map_location=map_location)


def _loader(file: IO[bytes], f: Any, map_location: Any, unpickle: Unpickling, allows_code: bool, mmap: bool) -> Any:
    """Return the loader for the format of a file."""
    if is_archive(file):
        return _ArchiveLoader(file, map_location, unpickle, allows_code, mmap)
    if mmap:
        raise RuntimeError(
            f"mmap can only be used with files saved with `torch.save({f}, "
            "_use_new_zipfile_serialization=True), "
            "please torch.save your checkpoint with this option in order to use mmap."
        )
    if not file.read(1):
        raise EmptyFileError(f"Ran out of input: {file_label(file)} is empty")
    file.seek(-1, 1)
    if is_tar(file):
        from ..compat.tar import TarLoader

        return TarLoader(file, map_location, unpickle, allows_code)
    return LegacyLoader(file, map_location, unpickle, allows_code)


def get_unsafe_globals_in_checkpoint(f: Any) -> list[str]:
    """Return the names of the globals in a file that `load(f, weights_only=True)` would refuse.

    Raises:
        ValueError: the file is not a zip archive: PyTorch before 1.6 saved another format.

    >>> import io, fractions
    >>> file = io.BytesIO()
    >>> torch.save(fractions.Fraction(1, 3), file)
    >>> torch.serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(file.getvalue()))
    ['fractions.Fraction']
    """
    with _opened(f) as file:
        if not is_archive(file):
            raise ValueError("Expected input to be a checkpoint returned by torch.save")
        return unsafe_globals(bytes(ArchiveReader(file).read("data.pkl")))


def _unpickling(weights_only: bool, pickle_module: Any, options: dict[str, Any]) -> Unpickling:
    """Return a function `unpickle(file, persistent_load)` that reads one pickle."""
    make: Any = SafeUnpickler if weights_only else unpickler_class(pickle_module.Unpickler)

    def unpickle(file: IO[bytes], persistent_load: Callable[[Any], Any] | None) -> Any:
        with caller_code():  # errors are due to the caller's safe globals or options, not to the file
            unpickler = make(file, **options)
        if persistent_load is not None:
            unpickler.persistent_load = persistent_load
        return unpickler.load()

    return unpickle


def _decide_weights_only(weights_only: bool | None, pickle_module: Any) -> bool:
    force = os.getenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "0").lower() in _TRUE_TEXTS
    forbid = os.getenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "0").lower() in _TRUE_TEXTS
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


def _error_message(message: str) -> str:
    """Return the error message for a failed load with `weights_only`, with PyTorch's advice."""
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
    """Load from a zip archive.  Storages are read when the pickle refers to them."""

    def __init__(self, file: IO[bytes], map_location: Any, unpickle: Unpickling, allows_code: bool, mmap: bool) -> None:
        self._archive = ArchiveReader(file)
        self._restore = checked_restorer(map_location)
        self._unpickle = unpickle
        self._allows_code = allows_code
        self._storages: dict[str, UntypedStorage] = {}
        self._skips_data = is_skipping_data()
        self._memory = _map(file, self._archive) if mmap else None
        if self.is_script and not allows_code:
            raise RuntimeError(f"Cannot use `weights_only=True` with TorchScript archives passed to `torch.load`. {UNSAFE}")
        self._is_swapped = self._byteorder() != sys.byteorder

    @property
    def is_script(self) -> bool:
        """Whether the archive contains TorchScript code."""
        return "constants.pkl" in self._archive

    def load(self) -> Any:
        pickled = io.BytesIO(self._archive.read("data.pkl"))
        if self._allows_code:
            return self._unpickle(pickled, self._persistent_load)
        with reading(self._archive.name, "record 'data.pkl'", pickled.tell):
            return self._unpickle(pickled, self._persistent_load)

    def _persistent_load(self, saved_id: Any) -> Any:
        saved, _ = parse_storage_id(saved_id, 5)
        storage = self._storages.get(saved.key)
        if storage is None:
            storage = self._storages[saved.key] = self._restore(self._read(saved), saved.location)
        return saved.as_typed(storage)

    def _read(self, saved: SavedStorage) -> UntypedStorage:
        record = self._archive.locate(f"data/{saved.key}")
        if record.size < saved.nbytes:
            raise RuntimeError(f"record {brief(record.name)} has {record.size} bytes, but the pickle requires {saved.nbytes}")
        if self._skips_data:
            return storage_over(bytearray(saved.nbytes))
        if self._memory is None and record.size == saved.nbytes and not self._is_swapped:
            return filled_storage(record.size, partial(self._archive.read_into, record))
        if self._memory is not None:
            data = memoryview(self._memory)[record.offset : record.offset + record.size]
        else:
            data = memoryview(bytearray(record.size))
            self._archive.read_into(record, data)
        return storage_over(swap_bytes(data, saved.dtype) if self._is_swapped else data[: saved.nbytes])

    def _byteorder(self) -> str:
        if "byteorder" not in self._archive:
            return assumed_byteorder()
        byteorder = self._archive.read("byteorder").decode("ascii", "replace")
        if byteorder not in ("little", "big"):
            raise RuntimeError(f"record 'byteorder' of {self._archive.name}: expected 'little' or 'big', but got {byteorder!r}")
        return byteorder


def _map(file: IO[bytes], archive: ArchiveReader) -> mmaps.mmap:
    if get_default_mmap_options() == getattr(mmaps, "MAP_SHARED", None) is not None:
        with open(file.name, "r+b") as writable:
            archive.forget_checksums(writable)
            writable.flush()
            return mmaps.mmap(writable.fileno(), 0)
    return mmaps.mmap(file.fileno(), 0, access=mmaps.ACCESS_COPY)
