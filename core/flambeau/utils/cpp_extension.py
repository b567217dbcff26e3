"""`torch.utils.cpp_extension`: C++ and CUDA extensions, which flambeau does not support because it has no C++ API.

The module exists for libraries that import it to check for support; `load`, `CppExtension` and the others raise when called.
"""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = [
    "CUDA_HOME",
    "IS_HIP_EXTENSION",
    "ROCM_HOME",
    "BuildExtension",
    "CUDAExtension",
    "CppExtension",
    "include_paths",
    "is_ninja_available",
    "library_paths",
    "load",
    "load_inline",
    "verify_ninja_availability",
]  # fmt: skip

CUDA_HOME = ROCM_HOME = None
IS_HIP_EXTENSION = False


class MissingExtension(RuntimeError):
    """An extension was not loaded.  An operator then uses its implementation for all devices, if it has one."""


def _refuse(name: str) -> NoReturn:
    raise MissingExtension(f"{name}: extensions compiled for PyTorch need its C++ library, which flambeau does not have")


def load(name: str, *args: Any, **kwargs: Any) -> NoReturn:
    """Raise RuntimeError: flambeau does not compile extensions."""
    _refuse(name)


def load_inline(name: str, *args: Any, **kwargs: Any) -> NoReturn:
    """Raise RuntimeError: flambeau does not compile extensions."""
    _refuse(name)


def CppExtension(name: str, *args: Any, **kwargs: Any) -> NoReturn:
    """Raise RuntimeError: flambeau does not compile extensions."""
    _refuse(name)


def CUDAExtension(name: str, *args: Any, **kwargs: Any) -> NoReturn:
    """Raise RuntimeError: flambeau does not compile extensions."""
    _refuse(name)


def include_paths(*args: Any, **kwargs: Any) -> NoReturn:
    """Raise RuntimeError: flambeau has no C++ headers."""
    _refuse("include_paths")


def library_paths(*args: Any, **kwargs: Any) -> NoReturn:
    """Raise RuntimeError: flambeau has no C++ libraries."""
    _refuse("library_paths")


class BuildExtension:
    """The setuptools command `build_ext`.  Its constructor raises RuntimeError."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse("BuildExtension")

    @classmethod
    def with_options(cls, **options: Any) -> type[BuildExtension]:
        """Return the class; the options are ignored."""
        return cls


def is_ninja_available() -> bool:
    """Return False: flambeau does not compile extensions."""
    return False


def verify_ninja_availability() -> NoReturn:
    """Raise RuntimeError: flambeau does not compile extensions."""
    _refuse("verify_ninja_availability")


def _get_build_directory(name: str, verbose: bool) -> NoReturn:
    """Raise RuntimeError: flambeau does not compile extensions."""
    _refuse(name)
