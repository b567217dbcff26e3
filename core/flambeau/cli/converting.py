"""`python -m flambeau convert`: write the tensors of a file in another format."""

from __future__ import annotations

import argparse
import pickle
import sys
from collections.abc import Sequence
from pathlib import Path

from ..serialization.loading import load
from ..serialization.npz import load_npz, save_npz
from ..serialization.safetensors import save_safetensors
from ..serialization.saving import save
from .tensor_files import progress, tensors_of

__all__ = ["main"]

_SAVED_BY_TORCH = (".pt", ".pth", ".bin", ".ckpt", ".tar", ".t7", ".pkl")
_SAVERS = {".safetensors": save_safetensors, ".npz": save_npz}


def main(arguments: Sequence[str]) -> int:
    """Run `convert` with its arguments.  Return the exit status: 2 for an error, else 0."""
    parser = argparse.ArgumentParser("python -m flambeau convert", description="Write the tensors of a file in another format.")
    parser.add_argument("input", metavar="IN", help="a .pt file, a .safetensors file or an .npz file")
    parser.add_argument(
        "output", metavar="OUT", help=f".safetensors, .npz, or the format of torch.save: {', '.join(_SAVED_BY_TORCH)}"
    )
    parser.add_argument("--legacy", action="store_true", help="write the format of torch.save before PyTorch 1.6")
    options = parser.parse_args(arguments)
    suffix = Path(options.output).suffix.lower()
    if suffix not in (*_SAVED_BY_TORCH, *_SAVERS):
        hint = "; `python -m flambeau export` writes models in these formats" if suffix in (".onnx", ".pt2") else ""
        parser.error(f"cannot write {options.output}: expected {', '.join((*_SAVERS, *_SAVED_BY_TORCH))}{hint}")
    try:
        _convert(options.input, options.output, suffix, options.legacy)
    except (OSError, RuntimeError, TypeError, pickle.UnpicklingError) as error:
        print(f"convert: {error}", file=sys.stderr)
        return 2
    return 0


def _convert(source: str, target: str, suffix: str, legacy: bool) -> None:
    if suffix in _SAVERS:
        tensors = tensors_of(source, report=True)
        _SAVERS[suffix]({name: tensors[name] for name in progress([*tensors])}, target)
    else:
        content = load_npz(source) if source.endswith(".npz") else load(source, map_location="cpu")
        save(content, target, _use_new_zipfile_serialization=not legacy)
