"""Compile CUDA kernels with NVRTC, which needs no GPU: `pip install nvidia-cuda-nvrtc-cu12` (or -cu13)."""

from __future__ import annotations

import ctypes
import importlib.util
from collections.abc import Sequence
from functools import cache
from pathlib import Path

__all__ = ["available", "compile_kernels", "include_folders"]


@cache
def _library() -> ctypes.CDLL | None:
    spec = importlib.util.find_spec("nvidia")
    folders = [Path(each) for each in (spec.submodule_search_locations or ())] if spec else []
    found = [file for folder in folders for file in sorted(folder.glob("*/lib/libnvrtc.so.*")) if ".alt." not in file.name]
    for name in [*map(str, found), "libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"]:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def available() -> bool:
    return _library() is not None


def include_folders() -> list[Path]:
    """Return the folders of CUDA headers that are installed by `pip install nvidia-cuda-runtime-cu12`."""
    spec = importlib.util.find_spec("nvidia")
    folders = [Path(each) for each in (spec.submodule_search_locations or ())] if spec else []
    return [file.parent for folder in folders for file in sorted(folder.glob("*/include/cuda_fp16.h"))]


def compile_kernels(
    source: str, architecture: str, names: Sequence[str] = (), *, options: Sequence[str] = (), assembly: bool = False
) -> bytes:
    """Compile a program with the given template instances, and return its machine code or its PTX assembly.

    Raises AssertionError with the compiler log if the compilation fails.
    """
    library = _library()
    assert library is not None
    program = ctypes.c_void_p()
    assert not library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernels.cu", 0, None, None)
    try:
        for name in names:
            assert not library.nvrtcAddNameExpression(program, name.encode())
        given = [b"-std=c++17", f"-arch={architecture}".encode(), *(option.encode() for option in options)]
        failed = library.nvrtcCompileProgram(program, len(given), (ctypes.c_char_p * len(given))(*given))
        assert not failed, _log(library, program)
        for name in names:
            lowered = ctypes.c_char_p()
            assert not library.nvrtcGetLoweredName(program, name.encode(), ctypes.byref(lowered)), name
        size = ctypes.c_size_t()
        size_of, contents_of = (
            (library.nvrtcGetPTXSize, library.nvrtcGetPTX) if assembly else (library.nvrtcGetCUBINSize, library.nvrtcGetCUBIN)
        )
        assert not size_of(program, ctypes.byref(size))
        code = ctypes.create_string_buffer(size.value)
        assert not contents_of(program, code)
        return code.raw
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def _log(library: ctypes.CDLL, program: ctypes.c_void_p) -> str:
    size = ctypes.c_size_t()
    library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value)
    library.nvrtcGetProgramLog(program, text)
    return text.value.decode()
