"""What holds for all tests: which backend they run on."""

from __future__ import annotations

import os

import pytest

import flambeau


def pytest_report_header() -> str:
    return f"flambeau backend: {os.environ.get('FLAMBEAU_BACKEND') or 'numpy'}"


def pytest_sessionstart(session: pytest.Session) -> None:
    """Without the device that the chosen backend needs there is nothing to run: say so."""
    if os.environ.get("FLAMBEAU_BACKEND", "").startswith("cupy"):
        try:
            flambeau.ones(1)
        except Exception as error:
            pytest.exit(f"no CUDA device, nothing was run: {error}", returncode=0)
