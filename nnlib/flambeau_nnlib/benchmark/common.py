"""`Measurement`, the result of a `Timer`, and the formatting of its numbers."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any

import flambeau as torch

__all__ = ["Measurement", "TaskSpec", "ordered_unique", "select_unit", "set_torch_threads", "trim_sigfig", "unit_to_english"]

_MAX_FIGURES = 4
_MIN_INTERVAL = 25e-9  # seconds: timers are not precise enough for smaller confidence intervals
_WIDE, _VERY_WIDE = 0.1, 0.25  # warn if the interquartile range divided by the median exceeds these
_UNITS = {"ns": ("nanosecond", 1e-9), "us": ("microsecond", 1e-6), "ms": ("millisecond", 1e-3), "s": ("second", 1)}


@dataclass(frozen=True, repr=False)
class TaskSpec:
    """The statement measured by a `Timer`, and its labels in tables.

    Args:
        stmt: the statement.
        setup: code that runs once before the statement.
        global_setup: unused; for C++ only.
        label: the title of the table that shows the results.
        sub_label: the name of the row.
        description: the name of the column.
        env: the name of the environment, to compare several environments.
        num_threads: the number of threads.

    Example:
        >>> TaskSpec("x + y", "x, y = 1, 2", label="addition", sub_label="ints").title
        'addition: ints'
    """

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label (default: the statement), followed by the sub-label."""
        if self.label is None and "\n" in self.stmt:
            return f"stmt:{f' ({self.sub_label})' if self.sub_label else ''}\n{textwrap.indent(self.stmt, '  ')}"
        return (self.stmt if self.label is None else self.label) + (f": {self.sub_label}" if self.sub_label else "")

    def setup_str(self) -> str:
        """Return the setup code as shown in results, or an empty string."""
        if self.setup in ("", "pass"):
            return ""
        return f"setup:\n{textwrap.indent(self.setup, '  ')}" if "\n" in self.setup else f"setup: {self.setup}"

    def summarize(self) -> str:
        """Return the title, the description and the setup code as shown in results."""
        parts = filter(None, (self.title, self.description, self.setup_str()))
        return "\n".join(f"{part}\n" if "\n" in part else part for part in parts)


@dataclass(repr=False)
class Measurement:
    """The run times measured by a `Timer`.

    The fields of its `TaskSpec` are also attributes of the measurement. Times are in seconds per run of the statement.

    Args:
        number_per_run: the number of runs of the statement per measured time.
        raw_times: the measured times in seconds, each for `number_per_run` runs.
        task_spec: the statement and its labels.
        metadata: any user-defined data.

    Example:
        >>> result = Measurement(10, [0.2, 0.3, 0.1], TaskSpec("x + y", "pass"))
        >>> round(result.median, 6), result.num_threads
        (0.02, 1)
    """

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None

    def __getattr__(self, name: str) -> Any:
        if name in _TASK_FIELDS:
            return getattr(self.task_spec, name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    @property
    def times(self) -> list[float]:
        return [time / self.number_per_run for time in self.raw_times]

    def _quantile(self, q: float) -> float:
        if not self.raw_times:
            return -1.0
        return float(torch.tensor(sorted(self.times), dtype=torch.float64).quantile(q).item())

    @property
    def median(self) -> float:
        return self._quantile(0.5)

    @property
    def mean(self) -> float:
        if not self.raw_times:
            return -1.0
        return float(torch.tensor(sorted(self.times), dtype=torch.float64).mean().item())

    @property
    def iqr(self) -> float:
        """The interquartile range."""
        return self._quantile(0.75) - self._quantile(0.25)

    @property
    def significant_figures(self) -> int:
        """The number of significant digits of the median, 1 to 4. It depends on the spread of the times between the quartiles."""
        times = sorted(self.times)
        start, end = len(times) // 4, -(-3 * len(times) // 4)
        middle = torch.tensor(times[start:end])
        deviation = middle.std(unbiased=False).item()
        interval = max(1.645 * deviation / torch.tensor(middle.numel()).sqrt().item(), _MIN_INTERVAL)
        figures = math.floor(log10(self.median / interval))
        return min(max(figures, 1), _MAX_FIGURES)

    @property
    def _warnings(self) -> list[str]:
        if not self.raw_times or self.meets_confidence(_WIDE):
            return []
        if self.meets_confidence(_VERY_WIDE):
            advice = "This could indicate system fluctuation."
        else:
            advice = "This suggests significant environmental influence."
        spread = self.iqr / self.median * 100
        return [f"  WARNING: Interquartile range is {spread:.1f}% of the median measurement.\n           {advice}"]

    @property
    def has_warnings(self) -> bool:
        return bool(self._warnings)

    def meets_confidence(self, threshold: float = _WIDE) -> bool:
        """Whether the interquartile range, divided by the median, is below `threshold`."""
        return self.iqr / self.median < threshold

    @property
    def title(self) -> str:
        return self.task_spec.title

    @property
    def as_row_name(self) -> str:
        """The name of the row of this measurement in a table."""
        return self.sub_label or self.stmt or "[Unknown]"

    def __repr__(self) -> str:
        count = len(self.raw_times)
        unit, scale = select_unit(self.median)
        low, high = self._quantile(0.25), self._quantile(0.75)
        lines = [
            f"<torch.utils.benchmark.utils.common.Measurement object at {id(self):#x}>",
            self.task_spec.summarize(),
            f"  {'Median: ' if count > 1 else ''}{self.median / scale:.2f} {unit}",
        ]
        if count >= 4:
            lines.append(f"  IQR:    {self.iqr / scale:.2f} {unit} ({low / scale:.2f} to {high / scale:.2f})")
        measurements, per = ("measurements", "per measurement,") if count > 1 else ("measurement", ",")
        threads = f"{self.num_threads} thread{'s' if self.num_threads > 1 else ''}"
        lines.append(f"  {count} {measurements}, {self.number_per_run} runs {per} {threads}")
        return "\n".join([*lines, *self._warnings])

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """Merge the times of measurements with equal tasks. Metadata is dropped."""
        times: dict[TaskSpec, list[float]] = {}
        for measurement in measurements:
            times.setdefault(measurement.task_spec, []).extend(measurement.times)
        return [Measurement(1, task_times, task_spec) for task_spec, task_times in times.items()]


_TASK_FIELDS = frozenset(field.name for field in fields(TaskSpec))


def log10(x: float) -> float:
    """Compute log10 in float32, where it is exact for powers of ten."""
    return float(torch.tensor(math.log10(torch.tensor(x, dtype=torch.float32).item()), dtype=torch.float32).item())


def select_unit(t: float) -> tuple[str, float]:
    """Return the unit in which a time is between 1 and 1000, and the length of the unit in seconds.

    Args:
        t: the time in seconds.

    Example:
        >>> select_unit(3e-5)
        ('us', 1e-06)
    """
    unit = {-3: "ns", -2: "us", -1: "ms"}.get(int(log10(t) // 3), "s")
    return unit, _UNITS[unit][1]


def unit_to_english(u: str) -> str:
    """Return the English name of a unit of time.

    Args:
        u: its symbol: `"ns"`, `"us"`, `"ms"` or `"s"`.

    Example:
        >>> unit_to_english("us")
        'microsecond'
    """
    return _UNITS[u][0]


def trim_sigfig(x: float, n: int) -> float:
    """Round a number to `n` significant digits.

    Args:
        x: the number.
        n: the number of significant digits.

    Raises:
        AssertionError: `n` is not an integer.

    Example:
        >>> trim_sigfig(3141.59, 2)
        3100.0
    """
    if n != int(n):
        raise AssertionError("Number of significant figures must be an integer")
    magnitude = math.ceil(log10(abs(x)))
    scale = 10 ** (magnitude - n)
    return float((torch.tensor(x / scale).round() * scale).item())


def ordered_unique(elements: Iterable[Any]) -> list[Any]:
    """Return the distinct elements in the order of their first appearance.

    Args:
        elements: any hashable objects.

    Example:
        >>> ordered_unique("abca")
        ['a', 'b', 'c']
    """
    return list(dict.fromkeys(elements))


@contextmanager
def set_torch_threads(n: int) -> Iterator[None]:
    """Context manager that sets the number of threads of operations.

    Args:
        n: the number of threads.

    Example:
        >>> with set_torch_threads(1):
        ...     torch.get_num_threads()
        1
    """
    before = torch.get_num_threads()
    torch.set_num_threads(n)
    try:
        yield
    finally:
        torch.set_num_threads(before)
