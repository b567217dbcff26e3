"""`torch.jit.load`: load modules from archives."""

from __future__ import annotations

import io
import os
import zipfile
from typing import Any, BinaryIO

import flambeau as torch
from flambeau.extension.files import DamageError, file_label, open_archive, reading

from ._archive import Archive

__all__ = ["load"]


def load(
    f: str | os.PathLike[str] | BinaryIO,
    map_location: Any = None,
    _extra_files: dict[str, Any] | None = None,
    _restore_shapes: bool = False,
) -> Any:
    """Load a module from an archive that was written by `torch.jit.save`.

    The code in the archive is a typed subset of Python and is checked before it runs. It can only use operators from a list
    of allowed ones, and functions and classes of the archive. Any other code raises an error.

    Args:
        f: a path, or a binary file open for reading.
        map_location: the device of its tensors, or a dictionary that maps saved devices to devices.
        _extra_files: a dictionary whose keys name additional files in the archive; their contents are stored as its values.
        _restore_shapes: ignored.

    Returns:
        A `ScriptModule`.

    Raises:
        ValueError: the file does not exist.
        RuntimeError: the file is not a TorchScript archive, or contains unsupported or disallowed code.
        pickle.UnpicklingError: the file is damaged, or refers to a class that is not allowed; the message names the file.
    """
    if isinstance(f, (str, os.PathLike)):
        if not os.path.exists(f):
            raise ValueError(f"The provided filename {f} does not exist")
        if os.path.isdir(f):
            raise ValueError(f"The provided filename {f} is a directory")
        with open(f, "rb") as file:
            return _load(file, map_location, _extra_files)
    return _load(io.BytesIO(f.read()), map_location, _extra_files)  # from the current position, as in PyTorch


def _load(file: Any, map_location: Any, extra_files: dict[str, Any] | None) -> Any:
    try:
        zipped = open_archive(file)
    except zipfile.BadZipFile as error:
        raise RuntimeError(f"not a TorchScript archive: {error}") from error
    with zipped, reading(file_label(file), "TorchScript archive", file.tell):
        archive = Archive(zipped, map_location)
        module = archive.root()
        if not isinstance(module, torch.nn.Module):
            raise DamageError(f"the archive in {file_label(file)} contains an object of {type(module)}, not a module")
        for name in extra_files or {}:
            content = archive.extra_file(name)
            assert extra_files is not None
            extra_files[name] = b"" if content is None else content
        return module
