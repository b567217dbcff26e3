"""Conformance of flambeau on this backend, except the failures declared in `exceptions.txt`."""

import subprocess
import sys
from pathlib import Path

import pytest

from flambeau.conformance import FAMILIES, run

EXCEPTIONS = Path(__file__).with_name("exceptions.txt")


@pytest.mark.parametrize("family", FAMILIES)
def test_conformance(family):
    (found,) = run("mlx", [family], quick=True, exceptions=EXCEPTIONS)
    assert not found.failures, "\n".join(found.failures)


def test_selected_by_the_environment(monkeypatch):
    monkeypatch.setenv("FLAMBEAU_BACKEND", "mlx")
    code = "import torch; x = torch.randn(2, requires_grad=True); (x * x).sum().backward(); print(x.device, x.grad.device)"
    done = subprocess.run([sys.executable, "-m", "flambeau", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["mlx:0", "mlx:0"]


def test_convolution_and_indices_are_those_of_the_cpu():
    import flambeau
    from flambeau.nn.functional import conv2d

    flambeau.manual_seed(0)
    x, w, rows = flambeau.randn(2, 4, 9, 9), flambeau.randn(6, 2, 3, 3), flambeau.tensor([0, -1, 0])
    results = []
    for place in ("cpu", "mlx"):
        a, b = x.to(place).detach().requires_grad_(), w.to(place).detach().requires_grad_()
        out = conv2d(a, b, stride=2, padding=1, groups=2)[:, rows.to(place)]
        (out * out).sum().backward()
        results.append([out, a.grad, b.grad])
    for expected, found in zip(*results, strict=True):
        flambeau.testing.assert_close(found.cpu(), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("index", [5, (0, -4), (slice(None), 7)])
def test_indices_out_of_bounds_are_refused(index):
    import flambeau

    with pytest.raises(IndexError):
        flambeau.zeros(3, 3, device="mlx")[index]
    with pytest.raises(IndexError):
        flambeau.zeros(3, 3, device="mlx")[flambeau.tensor([3], device="mlx")]


@pytest.mark.parametrize("looks", [0, 1, 3])
def test_the_network_is_evaluated_once_a_step_however_often_results_are_looked_at(monkeypatch, looks):
    import mlx.core as mx

    import flambeau

    begun, evaluate = [], mx.async_eval
    monkeypatch.setattr(mx, "async_eval", lambda *arrays: (begun.append(len(arrays)), evaluate(*arrays)))
    with flambeau.device("mlx"):
        model = flambeau.nn.Sequential(flambeau.nn.Linear(4, 3), flambeau.nn.ReLU(), flambeau.nn.Linear(3, 1))
        optimizer, x = flambeau.optim.Adam(model.parameters()), flambeau.ones(2, 4)
    for _ in range(3):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        for _ in range(looks):
            assert loss.item() >= 0
    assert begun == [4, 4, 4]
