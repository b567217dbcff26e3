"""The examples run from the command line with few steps, and reduce the loss."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from run_program import run_program

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "examples"
SHORT = {
    "digits": ["--epochs", "2"],
    "char_rnn": ["--epochs", "2", "--sample", "40"],
    "vae": ["--epochs", "4"],
    "transformer": ["--epochs", "3"],
    "dcgan": ["--epochs", "1"],
    "policy_gradient": ["--episodes", "60"],
    "hogwild": ["--epochs", "3"],
    "generate": ["--steps", "100", "--tokens", "20", "--save", "model"],
    "detector": ["--epochs", "2", "--scenes", "80", "--plot", "boxes.png"],
}
ELSEWHERE = {"compare", "ddp_on_dask"}  # not run here: they require PyTorch, and Dask, whose plugin tests the program


def run(name: str, *arguments: str, folder: Path) -> str:
    return run_program(EXAMPLES / f"{name}.py", *arguments, folder=folder)


def numbers(pattern: str, text: str) -> list[float]:
    return [float(each) for each in re.findall(pattern, text)]


def test_every_example_is_run() -> None:
    programs = {path.stem for path in EXAMPLES.glob("*.py") if '__name__ == "__main__"' in path.read_text(encoding="utf-8")}
    assert programs == {*SHORT, *ELSEWHERE}


@pytest.mark.parametrize("name", SHORT)
def test_runs(name: str, tmp_path: Path) -> None:
    printed = run(name, *SHORT[name], "--plot", "curves.png", folder=tmp_path)
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert "nan" not in printed
    losses = numbers(r"loss (-?[\d.]+)", printed)
    if len(losses) > 1:
        assert losses[-1] < losses[0]


def test_digits_reach_their_accuracy(tmp_path: Path) -> None:
    printed = run("digits", "--plot", "digits.png", folder=tmp_path)
    assert numbers(r"held-out accuracy ([\d.]+)", printed)[-1] >= 97
    assert (tmp_path / "digits.png").read_bytes().startswith(b"\x89PNG")


def test_hogwild_learns_in_several_processes(tmp_path: Path) -> None:
    printed = run("hogwild", "--processes", "2", "--epochs", "4", folder=tmp_path)
    steps = -(-1348 // 32)  # steps per epoch: 1,348 digits in batches of 32
    assert f"{2 * 4 * steps} steps by 2 processes" in printed
    assert numbers(r"held-out accuracy ([\d.]+)", printed)[0] >= 85


@pytest.mark.parametrize("has_tqdm", [True, False])
def test_progress_is_shown_on_terminals_alone(has_tqdm: bool, tmp_path: Path) -> None:
    import pty
    import termios

    if not has_tqdm:
        (tmp_path / "tqdm.py").write_text("raise ModuleNotFoundError('tqdm')", encoding="utf-8")
    command = [sys.executable, "-m", "flambeau", str(EXAMPLES / "digits.py"), "--epochs", "1"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    piped = subprocess.run(command, capture_output=True, timeout=550, check=True, env=environment)
    assert piped.stderr == b"" and b"\r" not in piped.stdout.replace(os.linesep.encode(), b"\n")
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 80))
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=theirs, timeout=550, check=True, env=environment)
    os.write(theirs, b"end")
    shown = b""
    while not shown.endswith(b"end"):
        shown += os.read(ours, 1 << 16)
    os.close(ours)
    os.close(theirs)
    assert (b"epoch  1/1" in shown) == has_tqdm and (has_tqdm or shown == b"end")


def test_images_are_written(tmp_path: Path) -> None:
    run("vae", "--epochs", "1", "--image", "new.png", folder=tmp_path)
    assert (tmp_path / "new.png").read_bytes().startswith(b"\x89PNG")
