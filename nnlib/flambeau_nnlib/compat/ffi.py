"""C functions that take tensors, built with cffi: the extension mechanism of PyTorch 0.2 to 0.4.

Where a C function takes a pointer, its Python wrapper also takes a contiguous CPU tensor of the same element
type: `int scale(float *data, int count);` is called as `scale(tensor, tensor.numel())`.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import flambeau as torch

__all__ = ["create_extension", "wrap_functions"]

_WRAPPER = """\
from flambeau_nnlib.compat.ffi import wrap_functions

from . import {module}

globals().update(wrap_functions({module}))
"""

_POINTERS = {
    torch.float32: ("float *",),
    torch.float64: ("double *",),
    torch.int8: ("signed char *", "int8_t *", "char *"),
    torch.uint8: ("unsigned char *", "uint8_t *"),
    torch.int16: ("short *", "int16_t *"),
    torch.int32: ("int *", "int32_t *"),
    torch.int64: ("long *", "long long *", "int64_t *"),
    torch.bool: ("_Bool *",),
}


def create_extension(
    name: str,
    headers: str | list[str],
    sources: str | list[str],
    verbose: bool = True,
    with_cuda: bool = False,
    package: bool = False,
    relative_to: str = ".",
    **kwargs: Any,
) -> Any:
    """Return a `cffi.FFI` whose `build()` compiles the package `name`, which exports the C functions.

    Args:
        name: name of the package to build, such as `"_ext.my_lib"`.
        headers: files with only the declarations of the functions to export.
        sources: files to compile.
        verbose: show the output of the compiler.
        with_cuda: also search `$CUDA_HOME` for headers and libraries.
        package: name the compiled module by its full name, for use in a `setup.py`.
        relative_to: the build script, usually `__file__`; paths of headers and sources are relative to its folder.
        **kwargs: arguments of `FFI.set_source`, such as `include_dirs`, `libraries`, `extra_compile_args`.

    Raises:
        ImportError: cffi is not installed.
    """
    try:
        import cffi
    except ImportError as error:
        raise ImportError("torch.utils.ffi requires the cffi package: python -m pip install cffi") from error

    base = Path(relative_to).parent.resolve()
    target = base.joinpath(*name.split("."))
    module = f"_{target.name}"
    declarations = "\n".join((base / header).read_text() for header in _as_list(headers))
    if with_cuda:
        cuda = os.environ.get("CUDA_HOME", "/usr/local/cuda")
        kwargs["include_dirs"] = [*kwargs.get("include_dirs", []), f"{cuda}/include"]
        kwargs["library_dirs"] = [*kwargs.get("library_dirs", []), f"{cuda}/lib64"]
    kwargs["extra_compile_args"] = ["-std=c99", *kwargs.get("extra_compile_args", [])]

    ffi = cffi.FFI()
    ffi.cdef(declarations)
    ffi.set_source(
        f"{name}.{module}" if package else module,
        "#include <stdint.h>\n" + declarations,
        sources=[str(base / source) for source in _as_list(sources)],
        **kwargs,
    )
    _make_package(base, name.split("."), module)
    ffi.build = lambda: _build(ffi, target, module, verbose)
    return ffi


def _as_list(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def _make_package(base: Path, parts: list[str], module: str) -> None:
    for depth in range(1, len(parts)):
        directory = base.joinpath(*parts[:depth])
        directory.mkdir(exist_ok=True)
        (directory / "__init__.py").touch()
    target = base.joinpath(*parts)
    target.mkdir(exist_ok=True)
    (target / "__init__.py").write_text(_WRAPPER.format(module=module))


def _build(ffi: Any, target: Path, module: str, verbose: bool) -> None:
    with tempfile.TemporaryDirectory() as directory:
        library = Path(ffi.compile(tmpdir=directory, verbose=verbose))
        shutil.copy(library, target / f"{module}{''.join(library.suffixes)}")


def wrap_functions(module: ModuleType) -> dict[str, Callable[..., Any]]:
    """Wrap the functions of a module compiled by cffi, so that they accept tensors as pointers."""
    ffi, lib = module.ffi, module.lib
    return {name: _wrap(ffi, getattr(lib, name)) for name in dir(lib) if callable(getattr(lib, name))}


def _wrap(ffi: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    types = [parameter.cname for parameter in ffi.typeof(function).args]

    def wrapper(*args: Any) -> Any:
        # Pass extra arguments through: the C function itself raises an error with the expected number.
        padded = types + [""] * (len(args) - len(types))
        return function(*[_convert(ffi, arg, type) for arg, type in zip(args, padded, strict=False)])

    return wrapper


def _convert(ffi: Any, value: Any, type: str) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    if value.device.type != "cpu" or not value.is_contiguous():
        raise TypeError(f"expected a contiguous CPU tensor for '{type}'")
    if type != "void *" and type not in _POINTERS.get(value.dtype, ()):
        raise TypeError(f"expected a tensor that fits '{type}', but got one of {value.dtype}")
    return ffi.cast(type, value.data_ptr())
