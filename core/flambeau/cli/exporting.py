"""`python -m flambeau export`: write a model as ONNX, as an exported program, or as Python files that only need NumPy."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .models import INPUTS, example, find_model

__all__ = ["main"]


def main(arguments: Sequence[str]) -> int:
    """Run `export` with its arguments.  Return the exit status: 2 for an error, else 0."""
    parser = argparse.ArgumentParser(
        "python -m flambeau export", description="Write a model of a program in another format.", epilog=INPUTS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument(
        "model",
        metavar="FILE.py:NAME",
        help="a file or module, and the name in it of a torch.nn.Module or of a function that returns one",
    )
    parser.add_argument("output", metavar="OUT", help="NAME.onnx, NAME.pt2, or a folder with --numpy")
    parser.add_argument(
        "--input", action="append", default=[], metavar="SIZES", help="the shape of an input; repeat for each one"
    )
    parser.add_argument("--numpy", action="store_true", help="write a Python file and a file of weights, which only need NumPy")
    parser.add_argument("--opset", type=int, help="the opset version of ONNX, at least 18")
    parser.add_argument("--beside", action="store_true", help="write the weights of ONNX to a separate file OUT.data")
    parser.add_argument("--train", action="store_true", help="keep the model in training mode")
    options = parser.parse_args(arguments)
    if not options.numpy and Path(options.output).suffix not in (".onnx", ".pt2"):
        parser.error(f"{options.output} is neither NAME.onnx nor NAME.pt2; --numpy writes a folder")
    try:
        inputs = [example(text) for text in options.input]
        model = find_model(options.model)
        if not options.train:
            model.eval()
        _write(model, inputs, options)
    except (ImportError, OSError, RuntimeError, ValueError, AttributeError, TypeError) as error:
        print(f"export: {error}", file=sys.stderr)
        return 2
    return 0


def _write(model: Any, inputs: list[tuple[Any, dict[int, str]]], options: argparse.Namespace) -> None:
    export = importlib.import_module("flambeau_nnlib.compile.export")
    dims = {name: export.Dim(name) for _, names in inputs for name in names.values()}
    shapes = tuple({place: dims[name] for place, name in names.items()} or None for _, names in inputs)
    program = export.export(model, tuple(tensor for tensor, _ in inputs), dynamic_shapes=shapes if dims else None)
    if options.numpy:
        paths = importlib.import_module("flambeau_nnlib.compile.export.numpy_files").save_numpy(program, options.output)
    elif options.output.endswith(".pt2"):
        export.save(program, options.output)
        paths = [options.output]
    else:
        onnx = importlib.import_module("flambeau_nnlib.compile.onnx")
        onnx.export(program, f=options.output, opset_version=options.opset, external_data=options.beside)
        paths = [options.output, *([f"{options.output}.data"] if options.beside else [])]
    for path in paths:
        print(f"{path}: {os.path.getsize(path):,} bytes")
