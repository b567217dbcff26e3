"""Conformance of flambeau on this backend, except the failures declared in `exceptions.txt`."""

import subprocess
import sys
from pathlib import Path

import pytest

from flambeau.conformance import FAMILIES, run

EXCEPTIONS = Path(__file__).with_name("exceptions.txt")


@pytest.mark.parametrize("family", FAMILIES)
def test_conformance(family):
    (found,) = run("torch", [family], quick=True, exceptions=EXCEPTIONS)
    assert not found.failures, "\n".join(found.failures)


def test_selected_by_the_environment(monkeypatch):
    monkeypatch.setenv("FLAMBEAU_BACKEND", "torch")
    code = "import torch; x = torch.randn(2, requires_grad=True); (x * x).sum().backward(); print(x.device, x.grad.device)"
    done = subprocess.run([sys.executable, "-m", "flambeau", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["torch:0", "torch:0"]


def test_a_program_whose_torch_is_flambeau_computes_with_pytorch(monkeypatch):
    """In a program run by flambeau, `torch` is flambeau, and its arrays are PyTorch tensors."""
    monkeypatch.setenv("FLAMBEAU_BACKEND", "torch")
    code = (
        "import torch; x = torch.ones(2, 3).t(); print(torch.__file__, type(x._array).__module__, type(x._array) is torch.Tensor)"
    )
    done = subprocess.run([sys.executable, "-m", "flambeau", "-c", code], capture_output=True, text=True, check=True)
    path, module, same = done.stdout.split()
    assert "flambeau" in path and module == "torch" and same == "False"


def test_writes_to_views_are_seen():
    import flambeau

    base = flambeau.zeros(3, 4, device="torch")
    base.t()[1].add_(2)
    base.as_strided((2, 2), (1, 4), 4).fill_(7)
    assert base.tolist() == [[0, 2, 0, 0], [7, 7, 0, 0], [7, 7, 0, 0]]
