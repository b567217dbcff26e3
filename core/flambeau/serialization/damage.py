"""Errors for damaged or malicious files, whose messages name the file, the record and the byte position."""

from __future__ import annotations

import errno
import os
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

__all__ = [
    "CallerError",
    "DamageError",
    "EmptyFileError",
    "RefusalError",
    "brief",
    "caller_code",
    "check_shape",
    "file_label",
    "is_failure_of_system",
    "reading",
]


class DamageError(pickle.UnpicklingError, RuntimeError):
    """The file is damaged or malicious."""


class EmptyFileError(DamageError, EOFError):
    """The file is empty.  Also an EOFError, which Python's `pickle` raises for an empty file."""


class RefusalError(pickle.UnpicklingError):
    """The file is not damaged, but refers to a class or function that `weights_only` does not allow."""


class CallerError(Exception):
    """Wrap an error of code that the caller provided, such as `map_location` or an allowed class.

    `reading` does not report it as damage of the file, and `load` raises the original error.
    """

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error

    def unwrap(self) -> NoReturn:
        raise self.error from self.error.__cause__


@contextmanager
def caller_code() -> Iterator[None]:
    """Wrap errors of a `with` block in CallerError, because the block runs code that the caller provided."""
    try:
        yield
    except Exception as error:
        raise CallerError(error) from error


def file_label(f: Any) -> str:
    """Return the name of a file for messages: its path, or else the type of the file object."""
    name = os.fspath(f) if isinstance(f, str | os.PathLike) else getattr(f, "name", None)
    return repr(name) if isinstance(name, str | bytes) and name else f"<{type(f).__name__}>"


def brief(value: Any, length: int = 200) -> str:
    """Return `repr(value)` for a message, shortened to `length` characters.

    Only the type of a container with more than 1000 values is shown: a small file can contain a container in itself 2**N times,
    whose `repr` would never finish.
    """
    pending, count = [value], 1
    while pending and count <= 1000:
        item = pending.pop()
        if isinstance(item, dict):
            item = (*item.keys(), *item.values())
        if isinstance(item, tuple | list | set | frozenset):
            count += len(item)
            if count <= 1000:
                pending += item
    if count > 1000:
        return f"<a large {type(value).__name__}>"
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # Python refuses to print integers of more than 4300 digits
        return f"<a large {type(value).__name__}>"
    return text if len(text) <= length else f"{text[: length - 3]}..."


def check_shape(shape: Any) -> None:
    """Raise RuntimeError unless `shape` has at most 64 dimensions, each an integer of at most 63 bits."""
    if (
        not isinstance(shape, list | tuple)
        or len(shape) > 64
        or not all(type(size) is int and 0 <= size < 1 << 63 for size in shape)
    ):
        raise RuntimeError(f"expected a shape of at most 64 non-negative integers, but got {brief(shape)}")


def is_failure_of_system(error: Exception) -> bool:
    """Whether an error comes from the operating system, rather than from damage of the file.

    A seek to an invalid position (EINVAL) counts as damage: the position comes from the file.
    """
    return isinstance(error, OSError) and error.errno != errno.EINVAL


@contextmanager
def reading(file: str, record: str, position: Callable[[], int]) -> Iterator[None]:
    """Turn any error from parsing a file into an UnpicklingError or RuntimeError that names the file and the position.

    Args:
        file: the name of the file, from `file_label`.
        record: the part of the file that is read.
        position: returns the current position in bytes.

    Raises:
        DamageError: for all errors except those of the operating system, of the caller's code, and refusals.
        RuntimeError: there is too little memory.
    """
    try:
        yield
    except (CallerError, DamageError, RefusalError):
        raise
    except Exception as error:
        if is_failure_of_system(error):
            raise
        place = f"({record} of {file}, near byte {position()})"
        if isinstance(error, MemoryError):  # sizes that the file cannot hold were refused before
            raise RuntimeError(f"DefaultCPUAllocator: can't allocate memory: {error} {place}") from error
        if type(error) in (pickle.UnpicklingError, RuntimeError):
            raise type(error)(f"{error} {place}") from error
        detail = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise DamageError(f"the file is damaged: {detail} {place}") from error
