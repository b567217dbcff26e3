"""All of flambeau on this backend, but for what `exceptions.txt` declares."""

import subprocess
import sys
from pathlib import Path

import pytest

from flambeau.conformance import FAMILIES, run

EXCEPTIONS = Path(__file__).with_name("exceptions.txt")


@pytest.mark.parametrize("family", FAMILIES)
def test_conformance(family):
    (found,) = run("dpnp", [family], quick=True, exceptions=EXCEPTIONS)
    assert not found.failures, "\n".join(found.failures)


def test_selected_by_the_environment(monkeypatch):
    monkeypatch.setenv("FLAMBEAU_BACKEND", "dpnp")
    code = "import torch; x = torch.randn(2, requires_grad=True); (x * x).sum().backward(); print(x.device, x.grad.device)"
    done = subprocess.run([sys.executable, "-m", "flambeau", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["dpnp:0", "dpnp:0"]


def test_writes_to_views_are_seen():
    import flambeau

    base = flambeau.zeros(3, 4, device="dpnp")
    base.t()[1].add_(2)
    base.as_strided((2, 2), (1, 4), 4).fill_(7)
    assert base.tolist() == [[0, 2, 0, 0], [7, 7, 0, 0], [7, 7, 0, 0]]
