"""The command `python -m flambeau summary` and the tables that it prints."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

import flambeau as torch
from flambeau import nn
from flambeau.cli.summary import main, summary

NET = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.norm = nn.BatchNorm2d(4)
        self.rest = nn.Sequential(nn.ReLU(inplace=True), nn.Flatten(), nn.Linear(144, 2))
        self.spare = nn.Linear(1, 1)

    def forward(self, x):
        return self.rest(self.norm(self.conv(self.conv(x)[:, :3])))
"""


@pytest.mark.slow
def test_the_command(tmp_path):
    (tmp_path / "net.py").write_text(NET, encoding="utf-8")
    command = [sys.executable, "-m", "flambeau", "summary", "net.py:Net", "--input", "1,3,10,10"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=500, check=True)
    rows = {row.split()[0]: row for row in done.stdout.splitlines() if row}
    assert re.search(r"Net +\[1, 2\] +412$", rows["Net"])  # parameters of the layers: 112 + 8 + 290 + 2
    # the two outputs have 4 * 8 * 8 and 4 * 6 * 6 float32 elements
    assert re.search(r"conv +Conv2d +\[1, 4, 6, 6\], 2 calls +112 +1\.6 KB$", rows["conv"])
    assert re.search(r"0 +ReLU +\[1, 4, 6, 6\] +0$", rows["0"])  # an in-place ReLU adds no memory
    assert "not called" in rows["spare"]
    assert rows["parameters"].endswith("412, all of them trained: 1.6 KB") and "inputs         1.2 KB" in rows["inputs"]
    assert done.stderr == ""


def test_frozen_parameters_depth_and_results_in_containers():
    net = nn.Sequential(nn.LSTM(2, 3, batch_first=True))
    net[0].weight_hh_l0.requires_grad_(False)
    text = summary(net, torch.ones(1, 5, 2))
    assert "[1, 5, 3], [1, 1, 3], [1, 1, 3]" in text and "84, 48 of them trained" in text
    assert "LSTM" not in summary(net, torch.ones(1, 5, 2), depth=0)
    assert "returns" in summary(net) and "inputs" not in summary(net)
    assert not net._forward_hooks and not net[0]._forward_hooks


def test_mistakes_are_reported(capsys, tmp_path):
    (tmp_path / "net.py").write_text(
        NET.replace("import torch", "import flambeau as torch").replace("from torch", "from flambeau")
    )
    for arguments, said in [
        ((f"{tmp_path}/net.py:Other",), "does not define Other"),
        ((f"{tmp_path}/net.py",), "expected a model as FILE.py:NAME"),
        ((f"{tmp_path}/none.py:Net",), "none.py"),
    ]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(torch, "install_as_torch", lambda: None)
            assert main(arguments) == 2
        assert said in capsys.readouterr().err
