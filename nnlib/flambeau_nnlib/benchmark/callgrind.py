"""Instruction counts measured by Callgrind, a tool of Valgrind, and their comparison."""

from __future__ import annotations

import os
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import flambeau as torch

from .common import TaskSpec

__all__ = ["CallgrindStats", "CopyIfCallgrind", "FunctionCount", "FunctionCounts", "collect"]

_MAX_ROWS = 18  # maximum number of printed rows; the middle of longer lists is omitted


class FunctionCount(NamedTuple):
    """The number of instructions executed by a function.

    Args:
        count: the number of instructions.
        function: the file and name of the function.

    Example:
        >>> FunctionCount(30, "ceval.c:eval").function
        'ceval.c:eval'
    """

    count: int  # type: ignore[assignment]  # overrides the tuple method of the same name
    function: str


@dataclass(frozen=True, repr=False, eq=False)
class FunctionCounts:
    """The instruction counts of several functions. They can be added, subtracted, filtered, and indexed like a tuple.

    Args:
        _data: the counts.
        inclusive: whether the counts include the instructions of called functions.
        truncate_rows: whether to print only the first and last rows of a long list.
        _linewidth: the width of printed lines. None uses the line width of printed tensors.

    Example:
        >>> counts = FunctionCounts((FunctionCount(30, "f"), FunctionCount(10, "g")), inclusive=False)
        >>> (counts - counts * 0.5).sum(), counts.filter(lambda name: name == "g")[0]
        (20, FunctionCount(count=10, function='g'))
    """

    _data: tuple[FunctionCount, ...]
    inclusive: bool
    truncate_rows: bool = True
    _linewidth: int | None = None

    def __iter__(self) -> Iterator[FunctionCount]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, item: Any) -> Any:
        data = self._data[item]
        return FunctionCounts(data, self.inclusive, truncate_rows=False) if isinstance(item, slice) else data

    def __repr__(self) -> str:
        width = max((len(str(count)) + (count < 0) for count, _ in self), default=0)
        linewidth = self._linewidth or torch._tensor_str.get_printoptions()["linewidth"]
        lines = [f"  {count:>{width}}  {_shorten(name, max(linewidth - width - 4, 40))}" for count, name in self]
        if self.truncate_rows and len(lines) > _MAX_ROWS:
            lines[_MAX_ROWS // 2 : -_MAX_ROWS // 2] = ["...".rjust(width + 2)]
        if not self.inclusive:
            lines += ["", f"Total: {self.sum()}"]
        name = "torch.utils.benchmark.utils.valgrind_wrapper.timer_interface.FunctionCounts"
        return "\n".join([f"<{name} object at {id(self):#x}>", *lines])

    def __add__(self, other: FunctionCounts) -> FunctionCounts:
        return self._merge(other, 1)

    def __sub__(self, other: FunctionCounts) -> FunctionCounts:
        return self._merge(other, -1)

    def __mul__(self, other: float) -> FunctionCounts:
        return _sort_counts({name: int(count * other) for count, name in self}, self.inclusive)

    def _merge(self, other: FunctionCounts, sign: int) -> FunctionCounts:
        if self.inclusive != other.inclusive:
            raise AssertionError("Cannot merge inclusive and exclusive counts.")
        counts: dict[str, int] = {}
        for count, name in [*self, *((sign * count, name) for count, name in other)]:
            counts[name] = counts.get(name, 0) + count
        return _sort_counts(counts, self.inclusive)

    def transform(self, map_fn: Callable[[str], str]) -> FunctionCounts:
        """Rename functions by `map_fn`. Counts that get the same name are added."""
        counts: dict[str, int] = {}
        for count, name in self:
            counts[map_fn(name)] = counts.get(map_fn(name), 0) + count
        return _sort_counts(counts, self.inclusive)

    def filter(self, filter_fn: Callable[[str], bool]) -> FunctionCounts:
        """Return the counts of functions for whose name `filter_fn` returns True."""
        return FunctionCounts(tuple(item for item in self if filter_fn(item.function)), self.inclusive)

    def sum(self) -> int:
        return sum(count for count, _ in self)

    def denoise(self) -> FunctionCounts:
        """Return the counts without CPython's dictionary look-ups, whose number varies between processes."""
        return self.filter(lambda name: "dictobject.c:lookdict_unicode" not in name)


def _sort_counts(counts: dict[str, int], inclusive: bool) -> FunctionCounts:
    rows = sorted((FunctionCount(count, name) for name, count in counts.items() if count), reverse=True)
    return FunctionCounts(tuple(rows), inclusive)


def _shorten(name: str, width: int) -> str:
    if len(name) <= width:
        return name
    left = (width - 5) // 2
    return f"{name[:left]} ... {name[-(width - left - 5) :]}"


@dataclass(frozen=True, repr=False, eq=False)
class CallgrindStats:
    """The instruction counts of a statement.

    Args:
        task_spec: the statement and its labels.
        number_per_run: the number of runs of the statement.
        built_with_debug_symbols: whether the names of C functions are available.
        baseline_inclusive_stats: the counts of an empty statement, including called functions.
        baseline_exclusive_stats: the counts of an empty statement, excluding called functions.
        stmt_inclusive_stats: the counts of the statement, including called functions.
        stmt_exclusive_stats: the counts of the statement, excluding called functions.
        stmt_callgrind_out: the content of Callgrind's output file, if it was kept.

    Example:
        >>> empty = FunctionCounts((), inclusive=False)
        >>> counts = FunctionCounts((FunctionCount(30, "/home/build/Python/ceval.c:eval [python]"),), inclusive=False)
        >>> stats = CallgrindStats(TaskSpec("x", "pass"), 1, True, empty, empty, counts, counts, None)
        >>> stats.counts(), stats.as_standardized().stats()[0].function
        (30, 'Python/ceval.c:eval')
    """

    task_spec: TaskSpec
    number_per_run: int
    built_with_debug_symbols: bool
    baseline_inclusive_stats: FunctionCounts
    baseline_exclusive_stats: FunctionCounts
    stmt_inclusive_stats: FunctionCounts
    stmt_exclusive_stats: FunctionCounts
    stmt_callgrind_out: str | None

    def __repr__(self) -> str:
        base, name = self.baseline_exclusive_stats, "torch.utils.benchmark.utils.valgrind_wrapper.timer_interface.CallgrindStats"
        threads = self.task_spec.num_threads
        return "\n".join(
            [
                f"<{name} object at {id(self):#x}>",
                self.task_spec.summarize(),
                f"  {'':>25}All{'':>10}Noisy symbols removed",
                f"    Instructions: {self.counts(denoise=False):>12}{'':>15}{self.counts(denoise=True):>12}",
                f"    Baseline:     {base.sum():>12}{'':>15}{base.denoise().sum():>12}",
                f"{self.number_per_run} runs per measurement, {threads} thread{'s' if threads > 1 else ''}",
            ]
        )

    def stats(self, inclusive: bool = False) -> FunctionCounts:
        """Return the counts per function, including or excluding called functions."""
        return self.stmt_inclusive_stats if inclusive else self.stmt_exclusive_stats

    def counts(self, *, denoise: bool = False) -> int:
        """Return the total number of instructions. See `FunctionCounts.denoise` for `denoise`."""
        return (self.stmt_exclusive_stats.denoise() if denoise else self.stmt_exclusive_stats).sum()

    def delta(self, other: CallgrindStats, inclusive: bool = False) -> FunctionCounts:
        """Return the counts minus those of another statement."""
        return self.stats(inclusive) - other.stats(inclusive)

    def as_standardized(self) -> CallgrindStats:
        """Strip build directories from the names of functions, so that the counts of two builds can be compared."""
        return replace(
            self,
            baseline_inclusive_stats=self.baseline_inclusive_stats.transform(_standard_name),
            baseline_exclusive_stats=self.baseline_exclusive_stats.transform(_standard_name),
            stmt_inclusive_stats=self.stmt_inclusive_stats.transform(_standard_name),
            stmt_exclusive_stats=self.stmt_exclusive_stats.transform(_standard_name),
            stmt_callgrind_out=None,
        )


def _standard_name(name: str) -> str:
    for pattern, replacement in (
        (r"^.+build/\.\./", "build/../"),
        (r"^.+/build/aten/", "build/aten/"),
        (r"^.+/Python/", "Python/"),
        (r"^.+/Objects/", "Objects/"),
        (r"\s\[.+\]$", ""),  # the name of the library
    ):
        name = re.sub(pattern, replacement, name)
    return name


class CopyIfCallgrind:
    """A global variable of a statement that `Timer.collect_callgrind` may copy to a subprocess.

    Args:
        value: a number, string, bytes or module.
        setup: code that must run before the value can be loaded, for example the import of its class.

    Raises:
        ValueError: the value has another type.

    Example:
        >>> CopyIfCallgrind(3).value
        3
    """

    def __init__(self, value: Any, *, setup: str | None = None) -> None:
        types = (str, bytes, bool, int, float, complex, torch.nn.Module)
        if not isinstance(value, types):
            names = "\n".join(f"  {cls.__name__}" for cls in types)
            raise ValueError(
                f"Unsupported type: {type(value)}\n`collect_callgrind` restricts globals to the following types:\n{names}"
            )
        self._value, self._setup = value, setup

    @property
    def value(self) -> Any:
        return self._value

    @property
    def setup(self) -> str | None:
        return self._setup

    @staticmethod
    def unwrap_all(globals: dict[str, Any]) -> dict[str, Any]:
        """Replace wrapped values by the values themselves."""
        return {name: value.value if isinstance(value, CopyIfCallgrind) else value for name, value in globals.items()}


# --- running Callgrind ---

_PROGRAM = """
import os, pickle, subprocess, timeit
import flambeau as torch
torch.set_num_threads({threads})

def instrument(state):
    subprocess.run(["callgrind_control", "--instr=" + state, str(os.getpid())], check=True, stdout=subprocess.DEVNULL)

{loading}
timer = timeit.Timer({stmt!r}, {setup!r}, globals=globals())

class Clock:
    # `timeit` reads the clock right before and right after the loop.
    reads = 0
    def __call__(self):
        self.reads += 1
        instrument("on" if self.reads % 2 else "off")
        return 0.0

timer.timeit({warmup})
timer.timer = Clock()
timer.timeit({number})
"""


def collect(
    task: TaskSpec, globals: dict[str, Any], number: int, repeats: int, collect_baseline: bool, retain_out_file: bool
) -> tuple[CallgrindStats, ...]:
    """Count the instructions of a task; see `Timer.collect_callgrind`."""
    missing = [tool for tool in ("valgrind", "callgrind_control", "callgrind_annotate") if shutil.which(tool) is None]
    if missing:
        raise OSError(f"collect_callgrind requires Valgrind, but these programs were not found: {', '.join(missing)}")
    for name, value in globals.items():
        if name not in ("torch", "__builtins__") and not isinstance(value, CopyIfCallgrind):
            raise ValueError(
                f"`collect_callgrind` requires that globals be wrapped in `CopyIfCallgrind` so that serialization is explicit; "
                f"{name!r} is not."
            )
    empty = FunctionCounts((), True), FunctionCounts((), False)
    baseline = _count_baseline(number, task.num_threads) if collect_baseline else empty
    results = []
    for _ in range(repeats):
        inclusive, exclusive, written = _run(task, globals, number)
        results.append(CallgrindStats(task, number, True, *baseline, inclusive, exclusive, written if retain_out_file else None))
    return tuple(results)


@cache
def _count_baseline(number: int, threads: int) -> tuple[FunctionCounts, FunctionCounts]:
    inclusive, exclusive, _ = _run(TaskSpec("pass", "pass", num_threads=threads), {}, number)
    return inclusive, exclusive


def _run(task: TaskSpec, globals: dict[str, Any], number: int) -> tuple[FunctionCounts, FunctionCounts, str]:
    with tempfile.TemporaryDirectory() as directory:
        loading = _loading_code(globals, Path(directory))
        values = {"stmt": task.stmt, "setup": task.setup, "number": number, "warmup": min(number, 5)}
        program, written = Path(directory, "program.py"), Path(directory, "callgrind.out")
        program.write_text(_PROGRAM.format(threads=task.num_threads, loading=loading, **values), encoding="utf-8")
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={written}", "--instr-atstart=no", sys.executable]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "PYTHONHASHSEED": "0"}
        done = subprocess.run([*command, str(program)], capture_output=True, text=True, env=environment, check=False)
        if done.returncode:
            raise OSError(f"Failed to collect callgrind profile:\n{done.stdout}\n{done.stderr}")
        return _parse_counts(written, True), _parse_counts(written, False), written.read_text(encoding="utf-8", errors="replace")


def _loading_code(globals: dict[str, Any], directory: Path) -> str:
    """Return code that loads copies of the globals."""
    lines = []
    for name, wrapped in globals.items():
        if not isinstance(wrapped, CopyIfCallgrind):
            continue
        if wrapped.setup is not None:
            lines.append(textwrap.dedent(wrapped.setup))
        path = str(directory / f"{name}.pkl")
        if isinstance(wrapped.value, torch.nn.Module):
            torch.save(wrapped.value, path)
            lines.append(f"{name} = torch.load({path!r}, weights_only=False)")
        else:
            Path(path).write_bytes(pickle.dumps(wrapped.value))
            lines.append(f"with open({path!r}, 'rb') as file:\n    {name} = pickle.load(file)")
    return "\n".join(lines)


def _parse_counts(written: Path, inclusive: bool) -> FunctionCounts:
    """Parse the counts of all functions from Callgrind's output file, with `callgrind_annotate`."""
    command = ["callgrind_annotate", f"--inclusive={'yes' if inclusive else 'no'}", "--threshold=100", "--show-percs=no"]
    done = subprocess.run([*command, "--auto=no", str(written)], capture_output=True, text=True, check=True)
    counts: dict[str, int] = {}
    for line in done.stdout.splitlines():
        match = re.match(r"\s*([\d,]+)(?: \([\d. ]+%\))?\s+(\S.*)$", line)
        if match and match[2] not in ("PROGRAM TOTALS", "events annotated"):
            counts[match[2]] = counts.get(match[2], 0) + int(match[1].replace(",", ""))
    return _sort_counts(counts, inclusive)
