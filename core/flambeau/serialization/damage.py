"""How a damaged or hostile file is reported: one kind of error, which names the file, the record and the place in it."""

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
    "called_back",
    "described",
    "is_failure_of_system",
    "reading",
]


class DamageError(pickle.UnpicklingError):
    """A file is damaged, or was made to mislead its reader."""


class EmptyFileError(DamageError, EOFError):
    """A file is empty: for Python's pickle an EOFError."""


class RefusalError(pickle.UnpicklingError):
    """A file is undamaged, but refers to a class or function that `weights_only` does not allow."""


class CallerError(Exception):
    """Carries an error out of the reader that is not about the file: of the caller's `map_location`, or of an allowed class."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error

    def unwrap(self) -> NoReturn:
        raise self.error from self.error.__cause__


@contextmanager
def called_back() -> Iterator[None]:
    """Around code of the caller: its errors reach the caller as they are."""
    try:
        yield
    except Exception as error:
        raise CallerError(error) from error


def described(f: Any) -> str:
    """How messages name a file: its path, or the type of the object."""
    name = os.fspath(f) if isinstance(f, str | os.PathLike) else getattr(f, "name", None)
    return repr(name) if isinstance(name, str | bytes) and name else f"<{type(f).__name__}>"


def is_failure_of_system(error: Exception) -> bool:
    """Whether the operating system failed, rather than the file being damaged; an impossible position counts as damage."""
    return isinstance(error, OSError) and error.errno != errno.EINVAL


@contextmanager
def reading(file: str, record: str, position: Callable[[], int]) -> Iterator[None]:
    """Context for code that parses a file: turns any error that the bytes cause into an `UnpicklingError` or RuntimeError.

    Args:
        file: the file, as `described`.
        record: the part of it that is read.
        position: how far that has been read, in bytes.

    Raises:
        DamageError: any error but those of `called_back` and of the operating system, with the file and the place.
    """
    try:
        yield
    except (CallerError, DamageError, RefusalError):
        raise
    except Exception as error:
        if is_failure_of_system(error):
            raise
        place = f"({record} of {file}, near byte {position()})"
        if type(error) in (pickle.UnpicklingError, RuntimeError):
            raise type(error)(f"{error} {place}") from error
        detail = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise DamageError(f"the file is damaged: {detail} {place}") from error
