"""Load the pickle files of published datasets without running code that they contain."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

__all__ = ["load_plain_pickle"]

# (module, name) of the globals in pickles of plain containers and NumPy arrays. NumPy 2 renamed `numpy.core`.
_ALLOWED = {
    ("numpy", "dtype"),
    ("numpy", "ndarray"),
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy.core.multiarray", "scalar"),
    ("numpy._core.multiarray", "scalar"),
    ("_codecs", "encode"),
}


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(
                f"{module}.{name} is not allowed: only plain containers and NumPy arrays are read from this file"
            )
        return super().find_class(module.replace("numpy.core", "numpy._core"), name)


def load_plain_pickle(path: str | Path, encoding: str = "latin1") -> Any:
    """Return the containers, strings, numbers and NumPy arrays stored in a pickle file.

    Raises:
        pickle.UnpicklingError: the file refers to any other global. The error is raised before code of the file runs.
    """
    with open(path, "rb") as file:
        return _PlainUnpickler(file, encoding=encoding).load()
