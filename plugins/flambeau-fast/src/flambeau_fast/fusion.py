"""Fused loops for chains of elementwise operations in programs that `torch.compile` records.

A loop is a generated Python function, stored in the user's cache folder and compiled by numba at its first call.  It rounds after
each operation, as the separate kernels do, so that its results are bitwise equal to theirs.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from flambeau.backend import FusionChain, Operand

from .choice import LEAST, process

__all__ = ["Loops"]

# For each operation, its signature and its expression. Signatures are "inputs>result" with the types "f" (float32), "b" (bool)
# and "*" (an input that the expression does not use).
_OPERATIONS = {
    "add": ("ff>f", "{0} + {1}"),
    "sub": ("ff>f", "{0} - {1}"),
    "mul": ("ff>f", "{0} * {1}"),
    "div": ("ff>f", "{0} / {1}"),
    "truediv": ("ff>f", "{0} / {1}"),
    "neg": ("f>f", "-{0}"),
    "abs": ("f>f", "abs({0})"),
    "square": ("f>f", "{0} * {0}"),
    "sqrt": ("f>f", "np.sqrt({0})"),
    "exp": ("f>f", "exp({0})"),
    "tanh": ("f>f", "tanh({0})"),
    "sigmoid": ("f>f", "sigmoid({0})"),
    "relu": ("f>f", "f32(0) if {0} < f32(0) else {0}"),
    "relu_backward": ("ff>f", "f32(0) if {1} <= f32(0) else {0}"),
    "silu": ("f>f", "silu({0})"),
    "silu_backward": ("ff>f", "silu_backward({0}, {1})"),
    "gelu": ("f>f", "gelu({0})"),
    "gelu_backward": ("ff>f", "gelu_backward({0}, {1})"),
    "gelu_tanh": ("f>f", "gelu_tanh({0})"),
    "gelu_tanh_backward": ("ff>f", "gelu_tanh_backward({0}, {1})"),
    "masked": ("fb*>f", "{0} if {1} else f32(0)"),  # the third input, not used, is what the mask was computed from
    "where": ("bff>f", "{1} if {0} else {2}"),
    "lt": ("ff>b", "{0} < {1}"),
    "le": ("ff>b", "{0} <= {1}"),
    "gt": ("ff>b", "{0} > {1}"),
    "ge": ("ff>b", "{0} >= {1}"),
    "eq": ("ff>b", "{0} == {1}"),
    "ne": ("ff>b", "{0} != {1}"),
    "invert": ("b>b", "not {0}"),
    "logical_not": ("b>b", "not {0}"),
    "logical_and": ("bb>b", "{0} and {1}"),
    "logical_or": ("bb>b", "{0} or {1}"),
}
_IMPORTS = """\
import numpy as np
from numba import prange

from flambeau_fast.loops import exactly
from flambeau_fast.loops.scalar import (
    exp, f32, gelu, gelu_backward, gelu_tanh, gelu_tanh_backward, sigmoid, silu, silu_backward, tanh,
)


@exactly
"""
_READ = {"full": "[i]", "row": "[j]", "column": "[i]", "scalar": "[0]"}


class Loops:
    """The compiler of fused loops that `flambeau.backend.RecordableBackend.fusion` returns, based on numba."""

    least = (1 << 14) if LEAST is None else LEAST
    operations = {name: (signature, signature.replace("*", "")) for name, (signature, _) in _OPERATIONS.items()}
    floats = frozenset({"float32"})
    general = False

    def loop(self, chain: FusionChain, one_by_one: Callable[..., Any]) -> Callable[..., Any]:
        by_rows = any(input.layout in ("row", "column") for input in chain.inputs)
        dtypes = [np.dtype(input.dtype) for input in chain.inputs]
        made = [np.dtype(chain.steps[number - len(chain.inputs)].dtype) for number in chain.outputs]
        length = int(np.prod(chain.shape[len(chain.shape) - chain.split :])) if by_rows else -1
        ways = [(-1, length) if by_rows and input.layout == "full" else (-1,) for input in chain.inputs]
        return _Loop(_source(chain, by_rows), dtypes, ways, made, chain.shape, (-1, length) if by_rows else (-1,), one_by_one)


class _Loop:
    """A fused loop over arrays, compiled at its first call."""

    __slots__ = ("compiled", "dtypes", "made", "one_by_one", "shape", "source", "way", "ways")

    def __init__(
        self,
        source: str,
        dtypes: list[Any],
        ways: list[tuple[int, ...]],
        made: list[Any],
        shape: tuple[int, ...],
        way: tuple[int, ...],
        one_by_one: Callable[..., Any],
    ) -> None:
        self.source, self.dtypes, self.ways, self.made = source, dtypes, ways, made
        self.shape, self.way, self.one_by_one = shape, way, one_by_one
        self.compiled: Callable[..., None] | None = None

    def __call__(self, *arrays: Any) -> Any:
        flat = []
        for array, dtype, way in zip(arrays, self.dtypes, self.ways, strict=True):
            flags = array.flags
            if array.dtype is not dtype or not (flags.c_contiguous and flags.writeable):
                return self.one_by_one(*arrays)
            flat.append(array.reshape(way))
        if process.forked:
            return self.one_by_one(*arrays)
        compiled = self.compiled
        if compiled is None:
            compiled = self.compiled = _compiled(self.source)
        results = [np.empty(self.shape, dtype) for dtype in self.made]
        compiled(*[result.reshape(self.way) for result in results], *flat)
        return results[0] if len(results) == 1 else tuple(results)


def _source(chain: FusionChain, by_rows: bool) -> str:
    """Return the source of a module with one function, `loop`, which writes its results to its first arguments."""
    names = [f"{input.layout}{number}" for number, input in enumerate(chain.inputs)]
    results = [f"out{number}" for number in range(len(chain.outputs))]
    before, outer, inner = [], [], []
    for number, (name, input) in enumerate(zip(names, chain.inputs, strict=True)):
        place = "[i, j]" if by_rows and input.layout == "full" else _READ[input.layout]
        lines = {"scalar": before, "column": outer}.get(input.layout, inner)
        lines.append(f"x{number} = {name}{place}")
    for number, step in enumerate(chain.steps, len(chain.inputs)):
        operands = [f"x{item.number}" if type(item) is Operand else f"f32({float(item)!r})" for item in step.operands]
        inner.append(f"x{number} = {_OPERATIONS[step.name][1].format(*operands)}")
    for result, number in zip(results, chain.outputs, strict=True):
        inner.append(f"{result}[{'i, j' if by_rows else 'i'}] = x{number}")
    lines = [f"def loop({', '.join(results + names)}):", *_indented(before, 1)]
    if by_rows:
        lines += [f"    for i in prange({results[0]}.shape[0]):", *_indented(outer, 2)]
        lines += [f"        for j in range({results[0]}.shape[1]):", *_indented(inner, 3)]
    else:
        lines += [f"    for i in prange({results[0]}.size):", *_indented(inner, 2)]
    return _IMPORTS + "\n".join(lines) + "\n"


def _indented(lines: Sequence[str], depth: int) -> list[str]:
    return ["    " * depth + line for line in lines]


# --- compilation of the generated source --------------------------------------------------------------------------------------


@cache
def _compiled(source: str) -> Callable[..., None]:
    """Write the source to a file and import it; numba caches compiled code next to the file, for later processes."""
    path = _folder() / f"loop_{hashlib.sha256((_of_functions() + source).encode()).hexdigest()[:24]}.py"
    if not path.exists() or path.read_text(encoding="utf-8") != source:
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False) as file:
            file.write(source)
        os.replace(file.name, path)
    spec = importlib.util.spec_from_file_location(f"flambeau_fast.loops.{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)  # numba's cache looks up the module in `sys.modules`
    spec.loader.exec_module(module)
    loop: Callable[..., None] = module.loop
    return loop


@cache
def _folder() -> Path:
    """Return the folder for generated loops: in the user's cache, or a temporary folder if that is not writable."""
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = Path(caches) / "flambeau-fast" / "loops"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:
        temporary = tempfile.TemporaryDirectory(prefix="flambeau-fast-")
        _kept.append(temporary)
        return Path(temporary.name)


_kept: list[Any] = []


@cache
def _of_functions() -> str:
    """Return the source of the functions that loops call; part of the cache key, as numba does not detect changes in them."""
    return Path(__file__).with_name("loops").joinpath("scalar.py").read_text(encoding="utf-8")
