"""Measuring and comparing the run times of statements: `flambeau.utils.benchmark`.

- `timer`: `Timer`, which runs a statement and measures its time;
- `common`: `Measurement`, the result of a `Timer`, and the formatting of numbers;
- `compare`: tables of measurements;
- `fuzzer`, `sparse_fuzzer`: random shapes and tensors as inputs of measurements;
- `callgrind`: instruction counts instead of times.
"""

from __future__ import annotations

from .callgrind import CallgrindStats, CopyIfCallgrind, FunctionCount, FunctionCounts
from .common import Measurement, TaskSpec, ordered_unique, select_unit, set_torch_threads, trim_sigfig, unit_to_english
from .compare import Colorize, Compare
from .fuzzer import FuzzedParameter, FuzzedTensor, Fuzzer, ParameterAlias
from .sparse_fuzzer import FuzzedSparseTensor
from .timer import Language, Timer, timer

__all__ = [
    "CallgrindStats",
    "Colorize",
    "Compare",
    "CopyIfCallgrind",
    "FunctionCount",
    "FunctionCounts",
    "FuzzedParameter",
    "FuzzedSparseTensor",
    "FuzzedTensor",
    "Fuzzer",
    "Language",
    "Measurement",
    "ParameterAlias",
    "TaskSpec",
    "Timer",
    "ordered_unique",
    "select_unit",
    "set_torch_threads",
    "timer",
    "trim_sigfig",
    "unit_to_english",
]
