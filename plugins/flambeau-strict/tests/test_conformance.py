"""Conformance of flambeau on this backend."""

import subprocess
import sys

import array_api_strict
import pytest

from flambeau.conformance import FAMILIES, run


@pytest.mark.parametrize("family", FAMILIES)
def test_conformance(family):
    (report,) = run("strict", [family])
    assert not report.failures, "\n".join(report.failures)


def test_all_flags_are_strict():
    flags = array_api_strict.get_array_api_strict_flags()
    assert not flags["boolean_indexing"] and not flags["data_dependent_shapes"] and not flags["enabled_extensions"]


def test_selected_by_the_environment(monkeypatch):
    monkeypatch.setenv("FLAMBEAU_BACKEND", "strict")
    code = "import torch; x = torch.randn(2, requires_grad=True); (x * x).sum().backward(); print(x.device, x.grad.device)"
    done = subprocess.run([sys.executable, "-m", "flambeau", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["strict:0", "strict:0"]


def test_complex_numbers_become_real_ones_and_truth_values():
    """Cast complex numbers to real and bool; the standard's `astype` raises for both."""
    import flambeau

    x = flambeau.tensor([1 + 2j, 0, 3j], device="strict")
    assert x.to(flambeau.bool).tolist() == [True, False, True] and x.bool().device.type == "strict"
    with pytest.warns(UserWarning, match="discards the imaginary part"):
        assert x.to(flambeau.float64).tolist() == [1, 0, 0]
    assert x.to(flambeau.int64).tolist() == [1, 0, 0]
