"""examples/compare: with the same seed, both libraries have the same loss in every step."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

COMPARE = Path(__file__).parents[2] / "examples" / "compare.py"


@pytest.mark.parametrize("seed", [0, 7])
def test_curves_agree(seed):
    done = subprocess.run(
        [sys.executable, str(COMPARE), "--seed", str(seed)], capture_output=True, text=True, timeout=240, check=True
    )
    rows = [line.split() for line in done.stdout.splitlines() if re.match(r" +\d+ ", line)]
    assert len(rows) == 100 and len({row[1] for row in rows}) > 90
    assert all(abs(float(row[1]) - float(row[2])) < 1e-4 for row in rows)
    assert float(done.stdout.split()[-1]) < 1e-4
