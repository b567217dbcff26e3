"""Parse models (`FILE.py:NAME`) and example inputs (`--input SIZES`) of commands."""

from __future__ import annotations

import importlib
import os
import re
import runpy
import sys
from pathlib import Path
from typing import Any

import flambeau as torch

__all__ = ["INPUTS", "example", "find_model"]

INPUTS = """\
SIZES are separated by commas; a size that may differ between calls has a name: batch=2,3,224,224.
A dtype follows a slash: 1,128/int64. The model runs on random inputs of these shapes: normally distributed numbers, or 0 and 1
for integer dtypes.
"""


def example(text: str) -> tuple[Any, dict[int, str]]:
    """Return (tensor, {dimension: name}) for a text such as "batch=2,3/int64".

    The named dimensions may have another size in later calls of the model.

    Raises:
        ValueError: a size or the dtype is invalid.
    """
    sizes, _, dtype_name = text.partition("/")
    dtype = getattr(torch, dtype_name or "float32", None)
    if not isinstance(dtype, torch.dtype):
        raise ValueError(f"--input {text}: {dtype_name!r} is not a dtype")
    shape: list[int] = []
    names: dict[int, str] = {}
    for part in filter(None, sizes.split(",")):
        matched = re.fullmatch(r"(?:([A-Za-z_]\w*)=)?(\d+)", part.strip())
        if matched is None:
            raise ValueError(f"--input {text}: expected sizes such as 224, or batch=2 for one that may differ, but got {part!r}")
        if matched[1]:
            names[len(shape)] = matched[1]
        shape.append(int(matched[2]))
    generator = torch.Generator().manual_seed(0)
    if dtype.is_floating_point:
        return torch.randn(shape, generator=generator, dtype=torch.float32).to(dtype), names
    return torch.randint(0, 2, shape, generator=generator).to(dtype), names


def find_model(path: str) -> Any:
    """Return the module that a path `FILE.py:NAME` or `MODULE:NAME` names; if it names a function or class, call it."""
    file, _, name = path.rpartition(":")
    if not file:
        raise ValueError(f"expected a model as FILE.py:NAME or MODULE:NAME, but got {path}")
    torch.install_as_torch()
    if file.endswith(".py"):
        sys.path.insert(0, os.path.dirname(os.path.abspath(file)))
        names = runpy.run_path(file, run_name=Path(file).stem)
    else:
        sys.path.insert(0, os.getcwd())
        names = vars(importlib.import_module(file))
    if name not in names:
        raise ValueError(f"{file} does not define {name}")
    found = names[name]
    model = found if isinstance(found, torch.nn.Module) else found()
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"expected a torch.nn.Module, or a function that returns one, but {path} gives {type(model).__name__}")
    return model
