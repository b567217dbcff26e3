"""Settings for all tests: the backend in the report header, and the option `--quick`."""

from __future__ import annotations

import gc
import os
import signal
from pathlib import Path

import pytest

import flambeau

# shells start background jobs with SIGINT ignored, and child processes inherit this; but tests interrupt child processes
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_report_header() -> str:
    return f"flambeau backend: {os.environ.get('FLAMBEAU_BACKEND') or 'numpy'}"


def pytest_sessionstart(session: pytest.Session) -> None:
    """Exit with a message if the selected backend needs a CUDA device and none is available."""
    if os.environ.get("FLAMBEAU_BACKEND", "").startswith("cupy"):
        try:
            flambeau.ones(1)
        except Exception as error:
            pytest.exit(f"no CUDA device, nothing was run: {error}", returncode=0)


# --- `--quick` ----------------------------------------------------------------------------------------------------

PER_TEST = 3  # maximum number of parameter sets for which `--quick` runs a test


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--quick", action="store_true", help=f"run at most {PER_TEST} parameters of each test, and none marked `slow`"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With `--quick`, keep only the first, the middle and the last parameter of each test."""
    if not config.getoption("--quick"):
        return
    by_test: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("slow") is None:
            by_test.setdefault(item.nodeid.partition("[")[0], []).append(item)
    kept: set[pytest.Item] = set()
    for parameters in by_test.values():
        last = len(parameters) - 1
        kept.update(parameters[position * last // max(PER_TEST - 1, 1)] for position in range(PER_TEST))
    dropped = [item for item in items if item not in kept]
    items[:] = [item for item in items if item in kept]
    config.hook.pytest_deselected(items=dropped)


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()  # collections in tests do not visit the thousands of tests


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if config.getoption("--quick"):
        slow = sorted(file.name for file in Path(__file__).parent.rglob("test_*.py") if "pytest.mark.slow" in file.read_text())
        left_out = f"and left out what is marked slow (`pytest -m slow`): in {', '.join(slow)}"
        terminalreporter.write_line(f"--quick ran at most {PER_TEST} parameters of each test, {left_out}")
