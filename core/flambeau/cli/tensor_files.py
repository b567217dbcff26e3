"""The files of tensors that commands read, and errors for files that hold none."""

from __future__ import annotations

import importlib
import json
import math
import pickle
import sys
import zipfile
from collections.abc import Iterable

import flambeau as torch

from ..engine.tensors.tensor import Tensor
from ..engine.values import dtypes
from ..extension.files import open_archive
from ..serialization.contents import Contents, TensorEntry, flatten_names, read_contents, read_contents_of
from ..serialization.damage import reading
from ..serialization.loading import load
from ..serialization.npz import load_npz

__all__ = ["contents_of", "progress", "tensors_of"]

# Files that people take for checkpoints, by their first bytes.
_OTHERS = {
    b"version https://git-lfs": "a Git LFS pointer: run `git lfs pull` to download the file",
    b"<!DOCTYPE": "an HTML page: the download may have failed",
    b"<!doctype": "an HTML page: the download may have failed",
    b"<html": "an HTML page: the download may have failed",
    b"\x1f\x8b": "a gzip archive: decompress it first",
    b"7z\xbc\xaf": "a 7z archive: decompress it first",
    b"BZh": "a bzip2 archive: decompress it first",
    b"\xfd7zXZ": "an xz archive: decompress it first",
    b"\x89HDF\r\n": "an HDF5 file, as Keras writes them: read it with h5py",
    b"GGUF": "a GGUF file of llama.cpp: read it with gguf",
    b"\x93NUMPY": "one NumPy array: read it with numpy.load",
    b"\x7fELF": "a program or shared library",
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"%PDF": "a PDF document",
}
_READABLE = "expected a .pt, .safetensors, .npz, .onnx or .pt2 file"


def contents_of(path: str) -> Contents:
    """List the contents of a file of tensors or of an exported model, without running code from it.

    Raises:
        OSError: the file cannot be opened.
        pickle.UnpicklingError, RuntimeError: the file is damaged, or holds no tensors.
        ImportError: the file is in the ONNX format, and the package onnx is not installed.
    """
    _refuse_others(path)
    if path.endswith(".onnx"):
        return _read_onnx(path)
    if zipfile.is_zipfile(path):
        with reading(repr(path), "exported program", lambda: 0), open_archive(path) as archive:
            for name in archive.namelist():
                if name == "program.json":
                    return _read_program(archive)
                if name.endswith("/models/model.json"):
                    return _read_program_of_pytorch(archive)
    try:
        return read_contents(path)
    except pickle.UnpicklingError as error:
        if "magic number" not in str(error):
            raise
        kind = "a text file" if _is_text(path) else "in an unknown format"
        raise RuntimeError(f"{path} is {kind}; {_READABLE}") from error


def _is_text(path: str) -> bool:
    with open(path, "rb") as file:
        start = file.read(1000)
    return all(byte >= 32 or byte in b"\t\n\r\f" for byte in start)


def tensors_of(path: str, report: bool = False) -> dict[str, Tensor]:
    """Return the tensors of a file by name; with `report`, print the names of other values to standard error."""
    _refuse_others(path)
    leaves = dict(flatten_names(load_npz(path) if path.endswith(".npz") else load(path, map_location="cpu")))
    others = [name for name, value in leaves.items() if not isinstance(value, Tensor)]
    if report and others:
        print(f"omitted, as they are not tensors: {', '.join(others)}", file=sys.stderr)
    return {name: value for name, value in leaves.items() if isinstance(value, Tensor)}


def progress(names: list[str]) -> Iterable[str]:
    """Return an iterable of the names, which shows a progress bar on a terminal if `tqdm` is installed."""
    if not sys.stderr.isatty():
        return names
    try:
        from tqdm import tqdm
    except ImportError:
        return names
    bar: Iterable[str] = tqdm(names, leave=False)
    return bar


def _refuse_others(path: str) -> None:
    """Raise RuntimeError if the first bytes show that a file holds no tensors in a known format."""
    with open(path, "rb") as file:
        start = file.read(32)
    if not start:
        raise RuntimeError(f"{path} is empty; {_READABLE}")
    for magic, description in _OTHERS.items():
        if start.startswith(magic):
            raise RuntimeError(f"{path} is {description}; {_READABLE}")


# --- exported models ---

# PyTorch's numbers of dtypes in exported programs (`torch._export.serde.schema.ScalarType`).
_DTYPES_OF_PYTORCH = {
    1: "uint8", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 6: "float16", 7: "float32", 8: "float64", 9: "complex32",
    10: "complex64", 11: "complex128", 12: "bool", 13: "bfloat16", 28: "uint16", 29: "float8_e4m3fn", 30: "float8_e5m2",
    31: "float8_e4m3fnuz", 32: "float8_e5m2fnuz",
}  # fmt: skip


def _read_program(archive: zipfile.ZipFile) -> Contents:
    """List the tensors of an exported program of flambeau, and its operators."""
    contents = Contents("pt2")
    for record in ("weights.pt", "constants.pt"):
        with archive.open(record) as file:
            part = read_contents_of(file)
        contents.tensors |= part.tensors
    nodes = json.loads(archive.read("program.json"))["graph"]["nodes"]
    contents.values["operators"] = _counts(str(node["target"]) for node in nodes if node["op"] == "call_function")
    return contents


def _read_program_of_pytorch(archive: zipfile.ZipFile) -> Contents:
    """List the tensors of an exported program of PyTorch, and its operators."""
    contents = Contents("pt2")
    for path in archive.namelist():
        if path.endswith("_config.json"):
            for name, entry in json.loads(archive.read(path))["config"].items():
                meta = entry["tensor_meta"]
                if meta is not None:
                    _add(contents, name, _DTYPES_OF_PYTORCH.get(meta["dtype"], ""), [size["as_int"] for size in meta["sizes"]])
        elif path.endswith("/models/model.json"):
            nodes = json.loads(archive.read(path))["graph_module"]["graph"]["nodes"]
            contents.values["operators"] = _counts(node["target"] for node in nodes)
    return contents


def _read_onnx(path: str) -> Contents:
    listed = importlib.import_module("flambeau_nnlib.compile.onnx._listing").list_model(path)
    contents = Contents("onnx")
    for name, dtype_name, shape in listed.tensors:
        _add(contents, name, dtype_name, shape)
    contents.values |= {"opset": listed.opset, "inputs": ", ".join(listed.inputs), "outputs": ", ".join(listed.outputs)}
    contents.values["operators"] = _counts(listed.operators)
    return contents


def _add(contents: Contents, name: str, dtype_name: str, shape: list[int]) -> None:
    """Add a tensor, or its description if flambeau has no such dtype."""
    dtype = getattr(torch, dtype_name, None)
    if isinstance(dtype, dtypes.dtype):
        contents.tensors[name] = TensorEntry(dtype, tuple(shape), name, math.prod(shape) * dtype.itemsize)
    else:
        contents.values[name] = f"a tensor of shape {shape}, of a dtype that flambeau lacks"


def _counts(names: Iterable[str]) -> str:
    """Return names with the number of times that they occur, as in "Conv, 2 x Relu"."""
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    return ", ".join(name if count == 1 else f"{count} x {name}" for name, count in counts.items())
