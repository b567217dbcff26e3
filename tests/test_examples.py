"""The examples run as users run them, in a short form, and learn something."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
SHORT = {
    "digits": ["--epochs", "2"],
    "char_rnn": ["--epochs", "2", "--sample", "40"],
    "vae": ["--epochs", "4"],
    "transformer": ["--epochs", "3"],
    "dcgan": ["--epochs", "1"],
    "policy_gradient": ["--episodes", "60"],
}


def run(name: str, *arguments: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "flambeau", str(EXAMPLES / f"{name}.py"), *arguments],
        cwd=folder, capture_output=True, text=True, timeout=240, check=False, env={**os.environ, "MPLBACKEND": "Agg"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def numbers(pattern: str, text: str) -> list[float]:
    return [float(each) for each in re.findall(pattern, text)]


def test_every_example_is_run() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {*SHORT, "compare"}


@pytest.mark.parametrize("name", SHORT)
def test_runs(name: str, tmp_path: Path) -> None:
    printed = run(name, *SHORT[name], folder=tmp_path)
    assert "nan" not in printed
    losses = numbers(r"loss (-?[\d.]+)", printed)
    if len(losses) > 1:
        assert losses[-1] < losses[0]


def test_digits_reach_their_accuracy(tmp_path: Path) -> None:
    printed = run("digits", "--plot", "digits.png", folder=tmp_path)
    assert numbers(r"held-out accuracy ([\d.]+)", printed)[-1] >= 97
    assert (tmp_path / "digits.png").read_bytes().startswith(b"\x89PNG")


def test_images_are_written(tmp_path: Path) -> None:
    run("vae", "--epochs", "1", "--image", "new.png", folder=tmp_path)
    assert (tmp_path / "new.png").read_bytes().startswith(b"\x89PNG")
