"""The steps of "Adding one" in docs/operations.md, taken in a copy of the project."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
STEPS = re.findall(r"^In `([^`]+)`:\n\n```python\n(.*?)```", GUIDE, re.DOTALL | re.MULTILINE)
FOLDERS = ["core", "backends", "nnlib"]

PROGRAM = """
import doctest
import flambeau as torch
from flambeau.conformance.checks import CHECKS, Checker
from flambeau.conformance.samples import families

layer = torch.nn.Squareplus(b=1.0)
x = torch.randn(5, requires_grad=True)
layer(x).sum().backward()
assert torch.allclose(x.grad, (x / (x * x + 1).sqrt() + 1).detach() / 2)
assert "b=1.0" in repr(layer)

(sample,) = [each for each in families()["activations"] if each.name == "nn.functional.squareplus"]
checker = Checker()
for check, suits in CHECKS.items():
    if suits(sample):
        getattr(checker, check)(sample)
assert torch.zeros(1)._key["squareplus"][0].__module__ == "flambeau_backends.numpy.kernels"
for shown in (torch.nn.functional.squareplus, torch.nn.Squareplus):
    doctest.run_docstring_examples(shown, {}, name=shown.__name__)
"""


@pytest.fixture
def copy_of_the_project(tmp_path: Path) -> Path:
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for path, block in STEPS:
        with open(tmp_path / path, "a", encoding="utf-8") as file:
            file.write(f"\n\n{block}")
    return tmp_path


def test_adding_one(copy_of_the_project: Path) -> None:
    assert len(STEPS) == 7
    path = os.pathsep.join(str(copy_of_the_project / folder) for folder in FOLDERS)
    environment = {**os.environ, "PYTHONPATH": path, "FLAMBEAU_BACKEND": "numpy"}
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=copy_of_the_project)
    assert done.returncode == 0, done.stderr
    assert not done.stdout, done.stdout  # examples that fail are printed
