"""What holds for all tests: which backend they run on, and what `--quick` leaves out."""

from __future__ import annotations

import os
import signal

import pytest

import flambeau

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background of a shell, whose children tests could not interrupt
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_report_header() -> str:
    return f"flambeau backend: {os.environ.get('FLAMBEAU_BACKEND') or 'numpy'}"


def pytest_sessionstart(session: pytest.Session) -> None:
    """Without the device that the chosen backend needs there is nothing to run: say so."""
    if os.environ.get("FLAMBEAU_BACKEND", "").startswith("cupy"):
        try:
            flambeau.ones(1)
        except Exception as error:
            pytest.exit(f"no CUDA device, nothing was run: {error}", returncode=0)


# --- `--quick` ----------------------------------------------------------------------------------------------------

PER_TEST = 3  # of a test with many parameters, so many are run
LONG = {  # files and tests that train networks, start processes or build whole models
    "test_backends_train_alike.py", "test_checkpoint.py", "test_data.py", "test_distributed.py", "test_distributed_data_parallel.py",
    "test_distributed_engines.py", "test_distributed_launch.py", "test_doctests.py",
    "test_documents.py", "test_examples.py", "test_gradcheck.py", "test_house.py", "test_launcher.py", "test_multiprocessing.py",
    "test_parallel.py", "test_parallel_layers.py", "test_plugin_loading.py", "test_stubs.py", "test_vision_datasets.py",
    "test_vision_models.py",
}  # fmt: skip


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help=f"run at most {PER_TEST} parameters of each test, and no long files")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With `--quick`: the first, the middle and the last of each test's parameters, so that families are all touched."""
    if not config.getoption("--quick"):
        return
    by_test: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.path.name not in LONG:
            by_test.setdefault(item.nodeid.partition("[")[0], []).append(item)
    kept: set[pytest.Item] = set()
    for parameters in by_test.values():
        last = len(parameters) - 1
        kept.update(parameters[position * last // max(PER_TEST - 1, 1)] for position in range(PER_TEST))
    dropped = [item for item in items if item not in kept]
    items[:] = [item for item in items if item in kept]
    config.hook.pytest_deselected(items=dropped)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if config.getoption("--quick"):
        files = ", ".join(sorted(LONG))
        terminalreporter.write_line(f"--quick ran at most {PER_TEST} parameters of each test, and left out: {files}")
