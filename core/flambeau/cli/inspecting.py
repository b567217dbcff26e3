"""`python -m flambeau inspect`: list the tensors in files, or compare two files."""

from __future__ import annotations

import argparse
import os
import pickle
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import flambeau as torch

from ..engine.tensors.tensor import Tensor
from ..serialization.contents import Contents
from ..serialization.damage import brief
from .tensor_files import contents_of, progress, tensors_of
from .text import counted, printable, table

__all__ = ["main"]

_FORMATS = {
    "zip": "zip archive of PyTorch 1.6 or later",
    "legacy": "pickles of PyTorch before 1.6",
    "tar": "tar archive of PyTorch 0.1",
    "safetensors": "safetensors",
    "npz": "arrays of NumPy",
    "pt2": "exported program",
    "onnx": "ONNX model",
}


def main(arguments: Sequence[str]) -> int:
    """Run `inspect` with its arguments.  Return the exit status: 1 if the files of `--diff` differ, 2 for an error, else 0."""
    parser = argparse.ArgumentParser(
        "python -m flambeau inspect", description="List the tensors of files without running code in them."
    )
    parser.add_argument("files", nargs="*", metavar="FILE", help="a .pt, .safetensors, .npz, .onnx or .pt2 file")
    parser.add_argument("--diff", nargs=2, metavar=("A", "B"), help="print which tensors of two files differ, and by how much")
    options = parser.parse_args(arguments)
    if bool(options.files) == bool(options.diff):
        parser.error("expected FILE ..., or --diff with two files")
    try:
        if options.diff:
            return _print_differences(*options.diff)
        for path in options.files:
            _print_contents(path, contents_of(path))
    except BrokenPipeError:
        raise
    except (ImportError, OSError, RuntimeError, TypeError, pickle.UnpicklingError) as error:
        print(f"inspect: {error}", file=sys.stderr)
        return 2
    return 0


def _print_contents(path: str, contents: Contents) -> None:
    print(f"{path}: {_FORMATS[contents.format]}, {os.path.getsize(path):,} bytes")
    tensors = contents.tensors
    if tensors:
        rows = [(printable(name), _short(each.dtype), _shape(each.shape), f"{each.nbytes:,}") for name, each in tensors.items()]
        print(table(("name", "dtype", "shape", "bytes"), rows))
    elements = sum(entry.numel for entry in tensors.values())
    storages = len({entry.storage for entry in tensors.values()})
    size = f"{counted(contents.storage_nbytes, 'byte')} in {counted(storages, 'storage')}"
    print(f"{counted(len(tensors), 'tensor')}, {counted(elements, 'element')}, {size}")
    width = max(40, shutil.get_terminal_size((100, 24)).columns)
    for name, value in contents.values.items():
        text = f"{printable(name)} = {brief(value, width)}"
        print(text if len(text) <= width else f"{text[: width - 3]}...")
    if contents.refused:
        print(f"load() would refuse unless add_safe_globals allows them: {', '.join(map(printable, contents.refused))}")


def _short(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


def _shape(shape: Iterable[int]) -> str:
    return " x ".join(map(str, shape)) or "scalar"


# --- diff ---


def _print_differences(first: str, second: str) -> int:
    a, b = tensors_of(first), tensors_of(second)
    rows = []
    for name in progress([*a, *(name for name in b if name not in a)]):
        difference = _difference(a.get(name), b.get(name), first, second)
        if difference:
            rows.append((name, difference))
    for name, difference in rows:
        print(f"{printable(name)}: {difference}")
    common = sum(name in b for name in a)
    equal = len(a) + len(b) - common - len(rows)
    verbs = "differs" if len(rows) == 1 else "differ", "is" if equal == 1 else "are"
    print(f"{counted(len(rows), 'tensor')} {verbs[0]}, {equal} {verbs[1]} equal")
    return int(bool(rows))


def _difference(a: Tensor | None, b: Tensor | None, first: str, second: str) -> str:
    """Describe how two tensors of the same name differ; return "" if they are equal."""
    if a is None or b is None:
        return f"only in {second if a is None else first}"
    if a.shape != b.shape:
        return f"shape {_shape(a.shape)} and {_shape(b.shape)}"
    dtypes = f"dtype {_short(a.dtype)} and {_short(b.dtype)}" if a.dtype is not b.dtype else ""
    wide = torch.complex128 if a.dtype.is_complex or b.dtype.is_complex else torch.float64
    x, y = a.detach().to(wide), b.detach().to(wide)
    unequal = ~((x == y) | ((x != x) & (y != y)))  # NaN is equal to NaN here
    count = int(unequal.sum())
    if not count:
        return dtypes
    distance = (x - y)[unequal].abs()
    text = f"{count:,} of {a.numel():,} elements, by at most {distance.max().item():.6g}, {distance.mean().item():.6g} on average"
    return f"{dtypes}, {text}" if dtypes else text
