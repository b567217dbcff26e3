"""``save``: an object as a pickle in which storages are left out, and the storages beside it."""

from __future__ import annotations

import os
import pickle
import stat
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import flambeau as torch

from .archive import ArchiveWriter
from .locations import location_tag
from .names import storage_type
from .options import is_skipping_data
from .pickles import pickler_class, standard_pickler

__all__ = ["MAGIC_NUMBER", "PROTOCOL_VERSION", "save"]

MAGIC_NUMBER = 0x1950A86A20F9469CFC6C  # what files begin with that are not archives
PROTOCOL_VERSION = 1001


def save(
    obj: object,
    f: Any,
    pickle_module: Any = pickle,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Write an object to a file that :func:`load`, and PyTorch's own, can read.

    Tensors that share memory share it again when loaded; all of a tensor's storage is saved even where the tensor
    is a view of a part.  A file on disk appears complete or not at all.

    Args:
        obj: tensors, containers of them, modules, or anything else that can be pickled.
        f: a path, or an object with a ``write`` method.
        pickle_module: where the ``Pickler`` comes from.
        pickle_protocol: 2 is what ``weights_only`` readers understand.
        _use_new_zipfile_serialization: pass False for the format of PyTorch before 1.6.

    Raises:
        AttributeError: ``f`` is neither a path nor can be written to.
        RuntimeError: the folder of ``f`` does not exist; or one storage is used with two dtypes.

    >>> import flambeau as torch, io
    >>> file = io.BytesIO()
    >>> torch.save({"weight": torch.ones(2), "epoch": 3}, file)
    >>> torch.load(io.BytesIO(file.getvalue()))
    {'weight': tensor([1., 1.]), 'epoch': 3}
    """
    if not isinstance(f, str | os.PathLike) and not hasattr(f, "write"):
        raise AttributeError(
            "expected 'f' to be string, path, or a file-like object with a 'write' attribute"
        )
    if is_skipping_data() and not _use_new_zipfile_serialization:
        raise RuntimeError("Cannot use skip_data=True with _use_new_zipfile_serialization=False")
    base = standard_pickler() if pickle_module is pickle else pickler_class(pickle_module.Pickler)
    with _opened(f) as file:
        if _use_new_zipfile_serialization:
            name = os.path.splitext(os.path.basename(f))[0] if isinstance(f, str | os.PathLike) else "archive"
            with ArchiveWriter(file, name or "archive") as archive:
                _save_archive(obj, archive, base, pickle_protocol, not _disable_byteorder_record)
        else:
            _save_legacy(obj, file, base, pickle_protocol)
