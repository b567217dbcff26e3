"""`python -m flambeau inspect` and `convert`: list the tensors in files, compare two files, and convert their format."""

from __future__ import annotations

import argparse
import os
import pickle
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import flambeau as torch

from ..engine.tensors.tensor import Tensor
from ..serialization.contents import Contents, flatten_names, read_contents
from ..serialization.loading import load
from ..serialization.npz import load_npz, save_npz
from ..serialization.safetensors import save_safetensors
from ..serialization.saving import save

__all__ = ["main"]

_FORMATS = {
    "zip": "zip archive of PyTorch 1.6 or later",
    "legacy": "pickles of PyTorch before 1.6",
    "tar": "tar archive of PyTorch 0.1",
    "safetensors": "safetensors",
    "npz": "arrays of NumPy",
}


def main(arguments: Sequence[str]) -> int:
    """Run `inspect` or `convert` with their arguments.  Return the exit status.

    The status is 1 if the files of `inspect --diff` differ, and 2 if a file cannot be read.
    """
    command, *rest = arguments
    try:
        status = _inspect(rest) if command == "inspect" else _convert(rest)
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # the program that reads the output, such as `head`, has ended
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (OSError, RuntimeError, TypeError, pickle.UnpicklingError) as error:
        print(f"{command}: {error}", file=sys.stderr)
        return 2


# --- inspect ---


def _inspect(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        "python -m flambeau inspect", description="List the tensors of files without running code in them."
    )
    parser.add_argument("files", nargs="*", metavar="FILE", help="a .pt file, a .safetensors file or an .npz file")
    parser.add_argument("--diff", nargs=2, metavar=("A", "B"), help="print which tensors of two files differ, and by how much")
    options = parser.parse_args(arguments)
    if bool(options.files) == bool(options.diff):
        parser.error("expected FILE ..., or --diff with two files")
    if options.diff:
        return _print_differences(*options.diff)
    for path in options.files:
        _print_contents(path, read_contents(path))
    return 0


def _print_contents(path: str, contents: Contents) -> None:
    print(f"{path}: {_FORMATS[contents.format]}, {os.path.getsize(path):,} bytes")
    tensors = contents.tensors
    _print_table(
        ("name", "dtype", "shape", "bytes"),
        [(_printable(name), _short(entry.dtype), _shape(entry.shape), f"{entry.nbytes:,}") for name, entry in tensors.items()],
    )
    elements = sum(entry.numel for entry in tensors.values())
    storages = len({entry.storage for entry in tensors.values()})
    print(f"{len(tensors)} tensors, {elements:,} elements, {contents.storage_nbytes:,} bytes in {storages} storages")
    for name, value in contents.values.items():
        text = repr(value)
        print(f"{_printable(name)} = {text if len(text) <= 100 else text[:97] + '...'}")
    if contents.refused:
        print(f"load() would refuse unless add_safe_globals allows them: {', '.join(map(_printable, contents.refused))}")


def _print_table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table: the last column, of numbers, is aligned to the right, others to the left."""
    if not rows:
        return
    widths = [max(map(len, column)) for column in zip(titles, *rows, strict=True)]
    for row in (titles, *rows):
        cells = [cell.ljust(width) for cell, width in zip(row[:-1], widths, strict=False)]
        print("  ".join([*cells, row[-1].rjust(widths[-1])]))


def _printable(name: str) -> str:
    """Return a name from a file; escape it if it has characters that could control the terminal."""
    return name if name.isprintable() else ascii(name)


def _short(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


def _shape(shape: Iterable[int]) -> str:
    return " x ".join(map(str, shape)) or "scalar"


# --- diff ---


def _print_differences(first: str, second: str) -> int:
    a, b = _tensors(first), _tensors(second)
    rows = []
    for name in _progress([*a, *(name for name in b if name not in a)]):
        difference = _difference(a.get(name), b.get(name), first, second)
        if difference:
            rows.append((name, difference))
    for name, difference in rows:
        print(f"{_printable(name)}: {difference}")
    common = sum(name in b for name in a)
    print(f"{len(rows)} tensors differ, {len(a) + len(b) - common - len(rows)} are equal")
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


# --- convert ---


def _convert(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser("python -m flambeau convert", description="Write the tensors of a file in another format.")
    parser.add_argument("input", metavar="IN", help="a .pt file, a .safetensors file or an .npz file")
    parser.add_argument("output", metavar="OUT", help=".safetensors, .npz, or any other suffix for the format of torch.save")
    parser.add_argument("--legacy", action="store_true", help="write the format of torch.save before PyTorch 1.6")
    options = parser.parse_args(arguments)
    suffix = os.path.splitext(options.output)[1]
    if suffix not in (".safetensors", ".npz"):
        content = load_npz(options.input) if _is_npz(options.input) else load(options.input, map_location="cpu")
        save(content, options.output, _use_new_zipfile_serialization=not options.legacy)
        return 0
    tensors = _tensors(options.input, report=True)
    (save_safetensors if suffix == ".safetensors" else save_npz)(
        {name: tensors[name] for name in _progress([*tensors])}, options.output
    )
    return 0


def _is_npz(path: str) -> bool:
    return os.path.splitext(path)[1] == ".npz"


def _tensors(path: str, report: bool = False) -> dict[str, Tensor]:
    """Return the tensors of a file by name; with `report`, print the names of other values to standard error."""
    leaves = dict(flatten_names(load_npz(path) if _is_npz(path) else load(path, map_location="cpu")))
    others = [name for name, value in leaves.items() if not isinstance(value, Tensor)]
    if report and others:
        print(f"omitted, as they are not tensors: {', '.join(others)}", file=sys.stderr)
    return {name: value for name, value in leaves.items() if isinstance(value, Tensor)}


def _progress(names: list[str]) -> Iterable[str]:
    """Return an iterable of the names, which shows a progress bar on a terminal if `tqdm` is installed."""
    if not sys.stderr.isatty():
        return names
    try:
        from tqdm import tqdm
    except ImportError:
        return names
    bar: Iterable[str] = tqdm(names, leave=False)
    return bar
