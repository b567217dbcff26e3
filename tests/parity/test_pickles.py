"""Plain pickles of tensors and modules, written by one library and read by the other."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

import pytest

theirs = pytest.importorskip("torch")

WRITE = """
import pickle, sys, torch
torch.manual_seed(0)
x = torch.arange(6.0).reshape(2, 3)
noted = torch.nn.Parameter(x.clone())
noted.note = "seen"
layers = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2), torch.nn.ReLU())
optimizer = torch.optim.Adam(layers.parameters())
layers(torch.ones(1, 1, 4, 4)).sum().backward()
optimizer.step()
values = dict(
    tensor=x, view=x.T[1:], half=x.bfloat16(), complex=x + 2j, bools=x > 2, empty=x[:0], meta=x.to("meta"), sparse=x.to_sparse(),
    csr=x.to_sparse_csr(), parameter=torch.nn.Parameter(x.clone()), noted=noted, storage=x.storage(), shape=x.shape,
    device=x.device, dtype=x.dtype, layout=torch.strided, layers=layers, state=optimizer.state_dict(),
)
pickle.dump(values, open(sys.argv[1], "wb"), int(sys.argv[2]))
"""
READ = """
import pickle, sys, torch
print({name: str(value) for name, value in pickle.load(open(sys.argv[1], "rb")).items()})
"""


def run(command: list[str], program: str, *arguments: object) -> str:
    done = subprocess.run(
        [*command, "-c", program, *map(str, arguments)], capture_output=True, text=True, check=False, env={**os.environ}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("protocol", [2, pickle.HIGHEST_PROTOCOL])
@pytest.mark.parametrize("writer", ["PyTorch", "flambeau"])
def test_pickles(writer: str, protocol: int, tmp_path: object) -> None:
    commands = {"PyTorch": [sys.executable, "-W", "ignore"], "flambeau": [sys.executable, "-W", "ignore", "-m", "flambeau"]}
    path = f"{tmp_path}/values.pkl"
    run(commands[writer], WRITE, path, protocol)
    shown = {name: run(command, READ, path) for name, command in commands.items()}
    assert "noted" in shown["PyTorch"] and shown["flambeau"] == shown["PyTorch"]
