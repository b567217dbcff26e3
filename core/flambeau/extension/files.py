"""Reading of files that may be damaged or malicious, for layers that add formats; see `flambeau.serialization`.

- `SafeUnpickler`: a base class for unpicklers that call only allowed classes and functions;
- `reading`: turns the errors of a parser into `DamageError`, which names the file;
- `open_archive`: opens a zip file and checks the sizes of its records.
"""

from __future__ import annotations

import zipfile
from typing import Any

from ..serialization.archive import check_sizes
from ..serialization.damage import DamageError, RefusalError, brief, file_label, is_failure_of_system, reading
from ..serialization.pickles import SafeUnpickler

__all__ = [
    "DamageError",
    "RefusalError",
    "SafeUnpickler",
    "brief",
    "file_label",
    "open_archive",
    "reading",
]


def open_archive(file: Any) -> zipfile.ZipFile:
    """Open a zip file for reading.

    Args:
        file: a path, or an open binary file.

    Raises:
        zipfile.BadZipFile: the file is not a zip archive, or its directory is damaged.
        RuntimeError: the records have more bytes than the file can contain, or expand more than 100 times.
    """
    try:
        archive = zipfile.ZipFile(file)
    except Exception as error:  # `zipfile` raises many types of errors for a damaged directory
        if is_failure_of_system(error) or isinstance(error, zipfile.BadZipFile):
            raise
        raise zipfile.BadZipFile(str(error)) from error
    try:
        stream: Any = archive.fp
        check_sizes(archive, stream.seek(0, 2))
    except BaseException:
        archive.close()
        raise
    return archive
