"""Run code in a process with a stand-in for CuPy, to test the CuPy backend without a GPU.

The stand-in (`standins/cupy`) has several devices, rejects arrays on other devices than the current one, and runs
`kernels.cu` compiled for the host.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

__all__ = ["run"]

STANDINS = Path(__file__).with_name("standins")
PRELUDE = """
import flambeau as torch
import numpy as np
import cupy
from cupy._runtime import recorded
from flambeau import nn, randn
F = nn.functional

def raises(kind, text, call):
    try:
        call()
    except kind as error:
        assert text in str(error), str(error)
    else:
        raise AssertionError("nothing was raised")
"""


def run(code: str, *, cudnn: bool = False, **environment: str) -> str:
    """Run code in a process with stand-ins for CuPy and optionally cuDNN; return its output."""
    path = os.pathsep.join(
        [str(STANDINS), *([str(STANDINS / "with_cudnn")] if cudnn else []), os.environ.get("PYTHONPATH", ""), *sys.path]
    )
    everything = {**os.environ, "OMP_NUM_THREADS": "1", **environment, "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        check=False,
        env=everything,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
