"""Save and load objects in PyTorch's file formats.

Must stay true: PyTorch reads the files that `save` writes, and `load` reads the files that PyTorch writes.  By default `load`
runs no code from a file: it only calls the classes and functions that `pickles` allows.  Files contain PyTorch's class names
(`names`), so that a module of flambeau may be renamed without breaking files.

- `saving`, `loading`: the functions `save` and `load`;
- `archive`: the zip format, PyTorch's default since 1.6;
- `legacy`: the format of PyTorch 0.2 to 1.5; `compat/tar.py` reads that of PyTorch 0.1;
- `storages`: the storages that a pickle refers to;
- `damage`: errors for damaged files;
- `replacing`: atomic replacement of a file;
- `pickles`: picklers, and unpicklers such as `SafeUnpickler` for `weights_only=True`;
- `names`: PyTorch's names of classes and functions in pickles;
- `contents`: a listing of the tensors in a file;
- `records`: `torch.PyTorchFileReader` and `torch.PyTorchFileWriter`;
- `npz`: NumPy's `.npz` format;
- `locations`: the devices of storages;
- `options`: global settings;
- `safetensors`: the `.safetensors` format;
- `filecheck`: `torch.testing.FileCheck`.
"""

from __future__ import annotations

import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import flambeau as torch

from ..engine.devices.aliases import private_names
from ..protocols.pickling import copy_sharing_storage, reduce_parameter, reduce_storage, reduce_tensor
from .loading import SourceChangeWarning, get_unsafe_globals_in_checkpoint, load
from .locations import default_restore_location, location_tag, register_package, validate_cuda_device
from .names import StorageType, storage_type
from .options import (
    LoadEndianness,
    add_safe_globals,
    clear_safe_globals,
    get_crc32_options,
    get_default_load_endianness,
    get_default_mmap_options,
    get_safe_globals,
    safe_globals,
    set_crc32_options,
    set_default_load_endianness,
    set_default_mmap_options,
    skip_data,
)
from .saving import DEFAULT_PROTOCOL as DEFAULT_PROTOCOL
from .saving import save

__all__ = [
    "LoadEndianness",
    "SourceChangeWarning",
    "StorageType",
    "add_safe_globals",
    "check_module_version_greater_or_equal",
    "clear_safe_globals",
    "copy_sharing_storage",
    "default_restore_location",
    "get_crc32_options",
    "get_default_load_endianness",
    "get_default_mmap_options",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "location_tag",
    "mkdtemp",
    "normalize_storage_type",
    "reduce_parameter",
    "reduce_storage",
    "reduce_tensor",
    "register_package",
    "safe_globals",
    "save",
    "set_crc32_options",
    "set_default_load_endianness",
    "set_default_mmap_options",
    "skip_data",
    "storage_to_tensor_type",
    "validate_cuda_device",
]

__getattr__: Callable[[str], Any] = private_names(__name__)


@contextmanager
def mkdtemp() -> Iterator[str]:
    """Create a temporary folder that is deleted at the end of the `with` block.

    >>> import os
    >>> with mkdtemp() as folder:
    ...     os.listdir(folder)
    []
    """
    path = tempfile.mkdtemp()
    try:
        yield path
    finally:
        shutil.rmtree(path)


def check_module_version_greater_or_equal(
    module: Any, req_version_tuple: tuple[Any, ...], error_if_malformed: bool = True
) -> bool:
    """Return whether `module.__version__` is at least `req_version_tuple`.

    A version that cannot be parsed raises RuntimeError or, without `error_if_malformed`, warns and counts as new enough.

    >>> import types
    >>> check_module_version_greater_or_equal(types.SimpleNamespace(__version__="1.10.2"), (1, 9))
    True
    """
    try:
        parts = module.__version__.split(".")
        version = tuple(type(field)(parts[i]) for i, field in enumerate(req_version_tuple))
        return bool(version >= req_version_tuple)
    except Exception as error:
        message = (
            f"'{module.__name__}' module version string is malformed '{module.__version__}' "
            f"and cannot be compared with tuple {req_version_tuple}"
        )
        if error_if_malformed:
            raise RuntimeError(message) from error
        warnings.warn(f"{message}, but continuing assuming that requirement is met", stacklevel=2)
        return True


MAP_LOCATION = Any  # the type of `map_location`


def normalize_storage_type(storage_type: type) -> Any:
    """Return the storage class of the same name for the CPU."""
    return getattr(torch, storage_type.__name__)


def storage_to_tensor_type(storage: Any) -> Any:
    """Return the tensor type that corresponds to a storage: `FloatTensor` for a `FloatStorage`."""
    return getattr(torch, storage_type(storage.dtype).name.replace("Storage", "Tensor"))
