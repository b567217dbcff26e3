"""Runs code in a process where a stand-in takes CuPy's place, so that the CuPy backend can be tested without a GPU.

The stand-in (`standins/cupy`) has several devices, refuses arrays of a device that is not current, and runs `kernels.cu`,
compiled for the host.
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
    """What code prints in a process whose CuPy, and if wanted cuDNN, are stand-ins."""
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
