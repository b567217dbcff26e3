"""flambeau on JAX: values, in-place writes seen through views, training."""

import os
import subprocess
import sys

import pytest

import flambeau as torch
from flambeau.conformance import networks
from flambeau.conformance.checks import Checker
from flambeau.conformance.samples import bad_calls, families

checker = Checker("jax")


@pytest.fixture(autouse=True)
def on_jax():
    with torch.device("jax"):
        yield


@pytest.mark.parametrize("check", ["values", "gradients"])
@pytest.mark.parametrize("family", ["arithmetic", "indexing", "joining", "matrix", "reductions", "scatter", "views"])
def test_samples(family, check):
    """XLA compiles for every shape: this takes a while.  ``python -m flambeau conformance jax`` checks everything."""
    failures = []
    for number, sample in enumerate(families()[family]):
        if check == "gradients" and not (sample.grad and "float64" in sample.dtypes):
            continue
        try:
            getattr(checker, check)(sample)
        except Exception as error:
            failures.append(f"{family}-{number}-{sample.name}: {error}")
    assert not failures, "\n".join(failures)


@pytest.mark.parametrize("family", bad_calls())
def test_errors(family):
    for bad in bad_calls()[family]:
        checker.raises(bad)


def test_writes_are_seen_by_everything_that_shares_memory():
    base = torch.zeros(3, 4)
    row, column, transposed, same = base[1], base[:, 2], base.t(), base.detach()
    row.add_(1)
    column[0] = 5
    transposed[3, 2] = 7
    same.mul_(2)
    expected = torch.tensor([[0.0, 0, 10, 0], [2, 2, 2, 2], [0, 0, 0, 14]])
    assert torch.equal(base, expected)
    assert torch.equal(row, expected[1]) and torch.equal(column, expected[:, 2]) and torch.equal(transposed, expected.t())


def test_writes_to_split_and_unbound_views():
    base = torch.arange(6.0)
    first, second = base.split(3)
    second.fill_(9)
    assert base.tolist() == [0, 1, 2, 9, 9, 9] and first.tolist() == [0, 1, 2]


def test_gradients_through_writes():
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    y[1:].mul_(3)
    y.sum().backward()
    assert x.grad.tolist() == [2, 6, 6]


def test_writing_to_an_expanded_view_is_refused():
    with pytest.raises(RuntimeError, match="single memory location"):
        torch.zeros(1, 3).expand(2, 3).add_(1)


@pytest.mark.parametrize("name", ["Linear", "Conv2d", "BatchNorm1d", "LSTM"])
def test_layers(name):
    networks.layer(name, "jax")


def test_training():
    networks.training("jax")


def test_selected_by_the_environment(tmp_path):
    code = "import torch; x = torch.randn(2, requires_grad=True); (x * x).sum().backward(); print(x.device, x.grad.device)"

    done = subprocess.run([sys.executable, "-m", "flambeau", "-c", code], env={**os.environ, "FLAMBEAU_BACKEND": "jax"},
                          cwd=tmp_path, capture_output=True, text=True, check=True)  # fmt: skip
    assert done.stdout.split() == ["jax:0", "jax:0"]
