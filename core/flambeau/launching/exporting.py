"""`python -m flambeau export`: models of programs as ONNX, as files that need NumPy alone, or as exported programs."""

from __future__ import annotations

import argparse
import importlib
import os
import re
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import flambeau as torch

__all__ = ["main"]

_EPILOG = """\
Sizes are separated by commas; a size that may differ from call to call has a name: batch=2,3,224,224.
A dtype follows a slash: 1,128/int64. Random numbers of these shapes are the example that the model runs on; whole numbers are 0
and 1.
"""


def main(arguments: Sequence[str]) -> int:
    """Execute `export` with its arguments; returns the exit status."""
    parser = argparse.ArgumentParser(
        "python -m flambeau export", description="Write a model of a program in another format.", epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument(
        "model", metavar="FILE.py:NAME", help="a file, or a module, and a module or a function that makes one in it"
    )
    parser.add_argument("output", metavar="OUT", help="NAME.onnx, NAME.pt2, or a folder with --numpy")
    parser.add_argument("--input", action="append", default=[], metavar="SIZES", help="the shape of an input; once for each")
    parser.add_argument("--numpy", action="store_true", help="write a file of Python and one of weights, which need NumPy alone")
    parser.add_argument("--opset", type=int, help="the version of ONNX's operators, from 18 on")
    parser.add_argument("--beside", action="store_true", help="write the weights of ONNX to a file beside it")
    parser.add_argument("--train", action="store_true", help="leave the model in training mode")
    options = parser.parse_args(arguments)
    if not options.numpy and Path(options.output).suffix not in (".onnx", ".pt2"):
        parser.error(f"{options.output} is neither NAME.onnx nor NAME.pt2; --numpy writes a folder")
    try:
        inputs = [_example(text) for text in options.input]
        model = _model(options.model)
        if not options.train:
            model.eval()
        _write(model, inputs, options)
    except (ImportError, OSError, RuntimeError, ValueError, AttributeError, TypeError) as error:
        print(f"export: {error}", file=sys.stderr)
        return 2
    return 0


def _example(text: str) -> tuple[Any, dict[int, str]]:
    """An input of a shape, and the names of those of its sizes that may differ."""
    sizes, _, dtype_name = text.partition("/")
    dtype = getattr(torch, dtype_name or "float32", None)
    if not isinstance(dtype, torch.dtype):
        raise ValueError(f"{dtype_name} is no dtype")
    shape: list[int] = []
    names: dict[int, str] = {}
    for part in filter(None, sizes.split(",")):
        matched = re.fullmatch(r"(?:([A-Za-z_]\w*)=)?(\d+)", part.strip())
        if matched is None:
            raise ValueError(f"{part!r} in --input {text} is no size: 224, or batch=2 for one that may differ")
        if matched[1]:
            names[len(shape)] = matched[1]
        shape.append(int(matched[2]))
    generator = torch.Generator().manual_seed(0)
    if dtype.is_floating_point:
        return torch.randn(shape, generator=generator, dtype=torch.float32).to(dtype), names
    return torch.randint(0, 2, shape, generator=generator).to(dtype), names


def _model(path: str) -> Any:
    """What a program has under a name; a function or class is called."""
    file, _, name = path.rpartition(":")
    if not file:
        raise ValueError(f"{path} names no model: FILE.py:NAME is expected")
    torch.install_as_torch()
    if file.endswith(".py"):
        sys.path.insert(0, os.path.dirname(os.path.abspath(file)))
        names = runpy.run_path(file, run_name=Path(file).stem)
    else:
        sys.path.insert(0, os.getcwd())
        names = vars(importlib.import_module(file))
    if name not in names:
        raise ValueError(f"{file} has no {name}")
    found = names[name]
    model = found if isinstance(found, torch.nn.Module) else found()
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"{path} is {type(model).__name__}, where a module, or what makes one, is expected")
    return model


def _write(model: Any, inputs: list[tuple[Any, dict[int, str]]], options: argparse.Namespace) -> None:
    export = importlib.import_module("flambeau_nnlib.export")
    dims = {name: export.Dim(name) for _, names in inputs for name in names.values()}
    shapes = tuple({place: dims[name] for place, name in names.items()} or None for _, names in inputs)
    program = export.export(model, tuple(example for example, _ in inputs), dynamic_shapes=shapes if dims else None)
    if options.numpy:
        paths = importlib.import_module("flambeau_nnlib.export.numpy_files").save_numpy(program, options.output)
    elif options.output.endswith(".pt2"):
        export.save(program, options.output)
        paths = [options.output]
    else:
        onnx = importlib.import_module("flambeau_nnlib.onnx")
        onnx.export(program, f=options.output, opset_version=options.opset, external_data=options.beside)
        paths = [options.output, *([f"{options.output}.data"] if options.beside else [])]
    for path in paths:
        print(f"{path}: {os.path.getsize(path):,} bytes")
