"""What holds for all tests: which backend they run on."""

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
