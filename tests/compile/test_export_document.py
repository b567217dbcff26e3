"""The commands in docs/export.md run and write the files that it shows."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

DOCUMENT = (Path(__file__).parents[2] / "docs" / "export.md").read_text(encoding="utf-8")


def test_the_commands(tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", DOCUMENT, re.DOTALL)
    (program,) = (block for block in blocks if block.startswith("import torch"))
    (shown,) = (block for block in blocks if "# net.py" in block)
    (tmp_path / "net.py").write_text(program, encoding="utf-8")
    commands = re.findall(r"^\$ python (.*)$", DOCUMENT, re.MULTILINE)
    assert len(commands) == 3
    for command in commands:
        if ".onnx" in command and find_spec("onnx") is None:
            continue
        done = subprocess.run([sys.executable, *shlex.split(command)], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    written = (tmp_path / "net" / "model.py").read_text(encoding="utf-8")
    assert shown in written
    assert (tmp_path / "net.pt2").exists() and (tmp_path / "net" / "model.npz").exists()
