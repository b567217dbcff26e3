"""`Timer`: how long a statement takes, by the standard library's `timeit`, with tensors in mind."""

from __future__ import annotations

import enum
import textwrap
import timeit
from collections.abc import Callable
from typing import Any, NoReturn

import flambeau as torch

from . import callgrind
from .common import Measurement, TaskSpec, set_torch_threads

__all__ = ["Language", "Timer", "timer"]

_LEAST = 1e-9  # seconds: no statement takes no time, or could be divided by


def timer() -> float:
    """The time in seconds since some moment, after an accelerator has done what was asked of it.

    Example:
        >>> start = timer()
        >>> timer() >= start
        True
    """
    if torch.accelerator.is_available():
        torch.accelerator.synchronize()
    return timeit.default_timer()


class Language(enum.Enum):
    """The language of a statement to measure.

    Example:
        >>> Timer("1 + 1", language=Language.PYTHON).timeit(2).number_per_run
        2
    """

    PYTHON = 0
    CPP = 1


class Timer:
    """Measures how long a statement takes.

    It differs from `timeit.Timer` in that it waits for accelerators, uses one thread unless told otherwise, warms up, and
    returns a `Measurement`, which knows what was measured.

    Args:
        stmt: the statement.
        setup: what is run once before it.
        global_setup: for C++ only.
        timer: returns the time.
        globals: the names that the statement knows; `torch` is among them.
        label: the name of the table that results belong to; the statement by default.
        sub_label: the name of the row, to tell tasks of one label apart.
        description: the name of the column.
        env: the name of the environment, to tell results of several versions apart.
        num_threads: the number of threads of operations.
        language: `"python"`; flambeau has no interface for C++.

    Raises:
        ValueError: `stmt` is not a string, or there is no such language, or a `global_setup` is given.
        RuntimeError: `language` is C++.

    Example:
        >>> result = Timer("x + y", "x, y = torch.ones(2), torch.ones(2)", label="addition").timeit(10)
        >>> result.number_per_run, result.title, result.median > 0
        (10, 'addition', True)
    """

    _timer_cls = timeit.Timer

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Language | str = Language.PYTHON,
    ) -> None:
        if not isinstance(stmt, str):
            raise ValueError("Currently only a `str` stmt is supported.")
        if language in (Language.CPP, "cpp", "c++"):
            raise RuntimeError(f"flambeau has no C++ interface that a statement in C++ could use, but got language={language!r}")
        if language not in (Language.PYTHON, "py", "python"):
            raise ValueError(f"Invalid language `{language}`.")
        if global_setup:
            raise ValueError(
                f"global_setup is C++ only, got `{global_setup}`. Most likely this code can simply be moved to `setup`."
            )
        self._globals = {"torch": torch, **(globals or {})}
        stmt, setup = _dedented(stmt), _dedented(setup)
        self._timer = self._timer_cls(stmt, setup, timer, globals=callgrind.CopyIfCallgrind.unwrap_all(self._globals))
        self._task_spec = TaskSpec(stmt, setup, global_setup, label, sub_label, description, env, num_threads)

    def _timeit(self, number: int) -> float:
        return max(self._timer.timeit(number), _LEAST)

    def _measurement(self, number: int, times: list[float]) -> Measurement:
        return Measurement(number, times, self._task_spec)

    def timeit(self, number: int = 1000000) -> Measurement:
        """One time, of a number of runs, after a hundredth of them to warm up."""
        with set_torch_threads(self._task_spec.num_threads):
            self._timeit(max(number // 100, 2))
            return self._measurement(number, [self._timeit(number)])

    def repeat(self, repeat: int = -1, number: int = -1) -> NoReturn:
        """Not there, as in PyTorch: `blocked_autorange` repeats."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def autorange(self, callback: Callable[[int, float], Any] | None = None) -> NoReturn:
        """Not there, as in PyTorch: `blocked_autorange` chooses the number of runs."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def blocked_autorange(self, callback: Callable[[int, float], Any] | None = None, min_run_time: float = 0.2) -> Measurement:
        """Times of blocks of runs, so large that calling the timer does not count, for at least `min_run_time` seconds.

        Args:
            callback: is called with the number of runs and the seconds of each block.
            min_run_time: the seconds to measure for.
        """
        number = self._block_size(min_run_time)
        return self._measure(number, lambda times: True, min_run_time, callback=callback)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable[[int, float], Any] | None = None,
    ) -> Measurement:
        """As `blocked_autorange`, until the times agree.

        Args:
            threshold: the interquartile range, relative to the median, below which they do.
            min_run_time: the seconds to measure for at least.
            max_run_time: the seconds after which to stop whether they agree or not.
            callback: is called with the number of runs and the seconds of each block.
        """
        number = self._block_size(0.05)

        def agree(times: list[float]) -> bool:
            return len(times) > 3 and self._measurement(number, times).meets_confidence(threshold)

        return self._measure(number, agree, min_run_time, max_run_time, callback)

    def _measure(
        self,
        number: int,
        is_enough: Callable[[list[float]], bool],
        min_run_time: float,
        max_run_time: float | None = None,
        callback: Callable[[int, float], Any] | None = None,
    ) -> Measurement:
        total, times, enough = 0.0, list[float](), False
        with set_torch_threads(self._task_spec.num_threads):
            while total < min_run_time or not enough:
                seconds = self._timeit(number)
                times.append(seconds)
                total += seconds
                if callback:
                    callback(number, seconds)
                enough = is_enough(times)
                if max_run_time and total > max_run_time:
                    break
        return self._measurement(number, times)

    def _block_size(self, min_run_time: float) -> int:
        """The number of runs, a power of ten, that takes so long that calling the timer does not count."""
        with set_torch_threads(self._task_spec.num_threads):
            overhead = sorted(self._timeit(0) for _ in range(5))[2]
            number = 1
            while True:
                seconds = self._timeit(number)
                if (overhead / seconds <= 1e-4 and seconds >= min_run_time / 1000) or seconds > min_run_time:
                    return number
                if number * 10 > 0x7FFFFFFF:
                    return number
                number *= 10

    def collect_callgrind(
        self, number: int = 100, *, repeats: int | None = None, collect_baseline: bool = True, retain_out_file: bool = False
    ) -> Any:
        """Count the instructions of the statement with Valgrind, in a process of its own.

        The counts vary far less than times do. What `globals` holds has to be wrapped in `CopyIfCallgrind`.

        Args:
            number: how often the statement runs.
            repeats: how often to count; None for once.
            collect_baseline: count the loop around the statement too.
            retain_out_file: keep what Callgrind wrote in the results.

        Returns:
            A `CallgrindStats`; with `repeats`, a tuple of them.

        Raises:
            OSError: Valgrind is not installed.
            ValueError: `repeats` is less than 1, or a global is not wrapped.
        """
        if repeats is not None and repeats < 1:
            raise ValueError("If specified, `repeats` must be >= 1")
        self._timeit(1)  # an error in the statement is raised here
        results = callgrind.collect(self._task_spec, self._globals, number, repeats or 1, collect_baseline, retain_out_file)
        return results[0] if repeats is None else results


def _dedented(code: str) -> str:
    return textwrap.dedent(code).removeprefix("\n").rstrip()
