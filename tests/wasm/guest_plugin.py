"""A pytest plugin for guests: tests in `expected.txt` must fail, with the reason given there; one that passes fails the run."""

from __future__ import annotations

import re
import sys
from fnmatch import fnmatch
from importlib.util import find_spec
from pathlib import Path

import pytest


def _entries() -> list[tuple[str, str]]:
    """Return the patterns of test names, and the reasons.

    "wasi: " and "emscripten: " before a pattern limit it to a system. "needs NAME" at the end of the reason limits it to guests
    without that package.
    """
    entries = []
    for line in (Path(__file__).parent / "expected.txt").read_text(encoding="utf-8").splitlines():
        pattern, mark, reason = line.partition("  # ")
        system, colon, rest = pattern.partition(": ")
        package = re.search(r"needs (\w+)$", reason)
        if mark and (not colon or system == sys.platform) and not (package and find_spec(package[1])):
            entries.append((rest if colon else pattern, reason))
    return entries


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    entries = _entries()
    for item in items:
        name = f"tests/{item.nodeid.partition('tests/')[2]}".replace("[", "(").replace("]", ")")
        for pattern, reason in entries:
            if fnmatch(name, pattern.replace("[", "(").replace("]", ")")):
                item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
                break
