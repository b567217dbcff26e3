"""Run the tests of one file of the suite in this process, and write a line of JSON for each; `run.py` starts this."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import sys
import traceback
import unittest
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
# Processes that a test spawns import this file again, so that they can import the suite.
FILE, RESULTS, LIMIT = (
    Path(os.environ["SUITE_FILE"]),
    Path(os.environ["SUITE_RESULTS"]),
    float(os.environ.get("SUITE_LIMIT", "60")),
)
sys.argv[:] = [str(FILE)]

import loader  # noqa: E402  (reads the environment)

loader.install()


class Timeout(BaseException):
    """A test took longer than the limit."""


def main() -> None:
    done = {record["test"] for record in map(json.loads, RESULTS.open(encoding="utf-8"))} if RESULTS.exists() else set()
    only = os.environ.get("SUITE_ONLY", "")
    import torch

    if ("flambeau" in sys.modules) != (os.environ["SUITE_SIDE"] == "flambeau"):
        sys.exit(f"`import torch` imported {torch.__file__} instead of {os.environ['SUITE_SIDE']}")
    tests = list(_tests(importlib.import_module(FILE.stem)))
    with RESULTS.open("a", encoding="utf-8") as sink:
        hooks, dtype = _recorded_hooks(torch), torch.get_default_dtype()
        for kind, members in _by_class(tests):
            problem = _set_up(kind)
            for test in members:
                name = test.id()
                if name in done or only not in name:
                    continue
                _write(sink, test=name, outcome="start")
                _write(sink, test=name, **(problem or _run(test)))
                while hooks:  # tests leave hooks on all modules
                    hooks.pop().remove()
                torch.set_default_dtype(dtype)  # a failed test leaves its settings
                torch.use_deterministic_algorithms(False)
            if problem is None:
                with contextlib.suppress(Exception):
                    kind.tearDownClass()
        _write(sink, test="", outcome="end")
    os._exit(0)  # threads of tests may still run


def _write(sink: Any, **record: Any) -> None:
    sink.write(json.dumps(record) + "\n")
    sink.flush()


def _tests(module: Any) -> Iterator[unittest.TestCase]:
    """Yield the tests of the classes that a module defines."""
    for value in list(vars(module).values()):
        is_case = isinstance(value, type) and not isinstance(value, loader.Missing) and issubclass(value, unittest.TestCase)
        if is_case and value.__module__ == module.__name__:
            yield from unittest.defaultTestLoader.loadTestsFromTestCase(value)  # type: ignore[misc]  # tests, not suites


def _by_class(tests: list[unittest.TestCase]) -> Iterator[tuple[Any, list[unittest.TestCase]]]:
    groups: dict[type, list[unittest.TestCase]] = {}
    for test in tests:
        groups.setdefault(type(test), []).append(test)
    yield from groups.items()


def _set_up(kind: Any) -> dict[str, Any] | None:
    """Call `setUpClass`; return the outcome of all tests of the class if it fails, else None."""
    try:
        kind.setUpClass()
    except unittest.SkipTest as error:
        return {"outcome": "skip", "message": str(error)}
    except Exception as error:
        return {"outcome": "error", "type": type(error).__name__, "message": str(error)[:400]}
    return None


def _recorded_hooks(torch: Any) -> list[Any]:
    """Return a list to which the handles of all hooks on all modules are added when they are registered."""
    handles: list[Any] = []
    namespace = torch.nn.modules.module

    def recorded(function: Any) -> Any:
        def register(*args: Any, **kwargs: Any) -> Any:
            handles.append(function(*args, **kwargs))
            return handles[-1]

        return register

    for name in [name for name in dir(namespace) if name.startswith("register_module_")]:
        setattr(namespace, name, recorded(getattr(namespace, name)))
    return handles


class _Result(unittest.TestResult):
    """Keeps the first exception of a test or of one of its subtests."""

    first: Any = None

    def addError(self, test: Any, err: Any) -> None:
        self.first = self.first or err[1]

    addFailure = addError

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
        if err is not None:
            self.addError(test, err)


def _run(test: unittest.TestCase) -> dict[str, Any]:
    """Run a test; return its outcome, and the exception if it failed."""

    def stop(*_: Any) -> None:
        raise Timeout(f"longer than {LIMIT} s")

    result = _Result()
    signal.signal(signal.SIGALRM, stop)
    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_REAL, 6 * LIMIT)  # for tests that wait
    signal.setitimer(signal.ITIMER_PROF, LIMIT)  # processor time
    try:
        warnings.simplefilter("default")
        test(result)
    except BaseException as error:  # also SystemExit: the other tests still run
        result.first = error
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.setitimer(signal.ITIMER_PROF, 0)
    if result.first is not None:
        return _described(result.first)
    if result.skipped:
        return {"outcome": "skip", "message": str(result.skipped[0][1])[:200]}
    return {"outcome": "other" if result.expectedFailures or result.unexpectedSuccesses else "pass"}


def _described(error: BaseException) -> dict[str, Any]:
    kind = "timeout" if isinstance(error, Timeout) else "fail" if isinstance(error, AssertionError) else "error"
    try:
        message = str(error)
    except Exception:  # the message contains a tensor subclass that cannot be printed
        message = ""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [f"{frame.lineno}: {frame.line}" for frame in frames if frame.filename == str(FILE)]
    return {
        "outcome": kind,
        "type": type(error).__name__,
        "message": message[:600],
        "line": lines[-1] if lines else "",
        "frames": [f"{frame.filename}:{frame.lineno}" for frame in frames[-8:]],
    }


if __name__ == "__main__":
    main()
