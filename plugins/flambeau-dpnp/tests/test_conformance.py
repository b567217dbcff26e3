"""Conformance of flambeau on this backend, except the failures declared in `exceptions.txt`."""

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


@pytest.mark.parametrize("shape", [(3, 3), (2, 3, 3)])
def test_products_of_expanded_matrices(shape):
    """dpnp's own product raises for some matrices with strides of 0, and returns wrong results for others."""
    import flambeau

    matrix, row = flambeau.randn(*shape), flambeau.randn(3)
    expanded = row.expand(*shape)
    matrix_there, expanded_there = matrix.to("dpnp"), row.to("dpnp").expand(*shape)
    pairs = [
        ((matrix, expanded), (matrix_there, expanded_there)),
        ((expanded, matrix), (expanded_there, matrix_there)),
        ((expanded, expanded), (expanded_there, expanded_there)),
        ((expanded.mT, matrix), (expanded_there.mT, matrix_there)),
    ]
    for here, there in pairs:
        flambeau.testing.assert_close(flambeau.matmul(*there).cpu(), flambeau.matmul(*here), rtol=1e-5, atol=1e-5)
