"""`Timer`, which measures run times with the standard library's `timeit` and waits for accelerators."""

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

_MIN_TIME = 1e-9  # seconds; times of 0 would lead to divisions by zero


def timer() -> float:
    """Return the current time in seconds, after waiting for the accelerator to finish all queued work.

    Example:
        >>> start = timer()
        >>> timer() >= start
        True
    """
    if torch.accelerator.is_available():
        torch.accelerator.synchronize()
    return timeit.default_timer()


class Language(enum.Enum):
    """The language of the measured statement.

    Example:
        >>> Timer("1 + 1", language=Language.PYTHON).timeit(2).number_per_run
        2
    """

    PYTHON = 0
    CPP = 1


class Timer:
    """Measure the run time of a statement.

    Unlike `timeit.Timer`, it waits for accelerators, uses one thread by default, warms up, and returns a `Measurement` that
    includes the statement and its labels.

    Args:
        stmt: the statement.
        setup: code that runs once before the statement.
        global_setup: for C++ only.
        timer: a function that returns the current time in seconds.
        globals: the global variables of the statement, in addition to `torch`.
        label: the title of the table that shows the results. Default: the statement.
        sub_label: the name of the row, which distinguishes tasks with the same label.
        description: the name of the column.
        env: the name of the environment, which distinguishes results of several versions.
        num_threads: the number of threads of operations.
        language: `"python"`. flambeau has no C++ interface.

    Raises:
        ValueError: `stmt` is not a string, `language` is unknown, or `global_setup` is given.
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
            raise RuntimeError(f"flambeau has no C++ interface: expected language='python', got {language!r}")
        if language not in (Language.PYTHON, "py", "python"):
            raise ValueError(f"Invalid language `{language}`.")
        if global_setup:
            raise ValueError(
                f"global_setup is C++ only, got `{global_setup}`. Most likely this code can simply be moved to `setup`."
            )
        self._globals = {"torch": torch, **(globals or {})}
        stmt, setup = _dedent(stmt), _dedent(setup)
        self._timer = self._timer_cls(stmt, setup, timer, globals=callgrind.CopyIfCallgrind.unwrap_all(self._globals))
        self._task_spec = TaskSpec(stmt, setup, global_setup, label, sub_label, description, env, num_threads)

    def _timeit(self, number: int) -> float:
        return max(self._timer.timeit(number), _MIN_TIME)

    def _measurement(self, number: int, times: list[float]) -> Measurement:
        return Measurement(number, times, self._task_spec)

    def timeit(self, number: int = 1000000) -> Measurement:
        """Measure the time of `number` runs once, after `max(number // 100, 2)` runs to warm up."""
        with set_torch_threads(self._task_spec.num_threads):
            self._timeit(max(number // 100, 2))
            return self._measurement(number, [self._timeit(number)])

    def repeat(self, repeat: int = -1, number: int = -1) -> NoReturn:
        """Raise NotImplementedError, as in PyTorch. Use `blocked_autorange`."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def autorange(self, callback: Callable[[int, float], Any] | None = None) -> NoReturn:
        """Raise NotImplementedError, as in PyTorch. `blocked_autorange` chooses the number of runs."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def blocked_autorange(self, callback: Callable[[int, float], Any] | None = None, min_run_time: float = 0.2) -> Measurement:
        """Measure blocks of runs for at least `min_run_time` seconds.

        Blocks are so long that the timer's overhead is negligible.

        Args:
            callback: called with the number of runs and the time in seconds of each block.
            min_run_time: the minimum duration of the measurement in seconds.
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
        """Measure like `blocked_autorange`, until the spread of the times is small.

        Args:
            threshold: stop when the interquartile range, divided by the median, is below this value.
            min_run_time: the minimum duration of the measurement in seconds.
            max_run_time: the maximum duration of the measurement in seconds, whatever the spread.
            callback: called with the number of runs and the time in seconds of each block.
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
        """Return the number of runs per block: a power of ten. The overhead of the timer is then at most 1e-4 of the time."""
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
        """Count the instructions executed by the statement, with Valgrind in a subprocess.

        Instruction counts vary much less than times. The values in `globals` must be wrapped in `CopyIfCallgrind`.

        Args:
            number: the number of runs of the statement.
            repeats: the number of counts. None counts once.
            collect_baseline: whether to also count the instructions of the loop around the statement.
            retain_out_file: whether to keep Callgrind's output file in the results.

        Returns:
            a `CallgrindStats`, or a tuple of them if `repeats` is given.

        Raises:
            OSError: Valgrind is not installed.
            ValueError: `repeats` is less than 1, or a global is not wrapped.
        """
        if repeats is not None and repeats < 1:
            raise ValueError("If specified, `repeats` must be >= 1")
        self._timeit(1)  # raises the error of an invalid statement early
        results = callgrind.collect(self._task_spec, self._globals, number, repeats or 1, collect_baseline, retain_out_file)
        return results[0] if repeats is None else results


def _dedent(code: str) -> str:
    return textwrap.dedent(code).removeprefix("\n").rstrip()
