"""Activation checkpointing in flambeau and PyTorch: same gradients, random numbers, recomputations and errors."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

theirs = pytest.importorskip("torch")
pytest.importorskip("torch.utils.checkpoint")

import flambeau as ours  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")
OPTIONS = [
    {"use_reentrant": True},
    {"use_reentrant": False},
    {"use_reentrant": True, "preserve_rng_state": False},
    {"use_reentrant": False, "preserve_rng_state": False},
    {"use_reentrant": False, "determinism_check": "none"},
]


def network(torch):
    nn = torch.nn
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(4, 8),
        nn.Tanh(),
        nn.Dropout(0.4),
        nn.Linear(8, 8),
        nn.BatchNorm1d(8),
        nn.ReLU(),
        nn.Dropout(0.2),
        nn.Linear(8, 3),
    ).double()


def numbers(torch, run):
    """Return a network's result, gradients and buffers, the order in which its parts ran, and the next random number."""
    model, ran = network(torch), []
    for number, part in enumerate(model):
        part.register_forward_hook(lambda *_, number=number: ran.append(number))
    x = torch.linspace(-1, 1, 20, dtype=torch.float64).reshape(5, 4).requires_grad_()
    out = run(torch.utils.checkpoint, model, x)
    out.square().sum().backward()
    return [
        *(
            each.detach().numpy()
            for each in (out, x.grad, *(each.grad for each in model.parameters()), *model.buffers(), torch.rand(2))
        ),
        np.array(ran),
    ]


def assert_checkpoint_agrees(run):
    for got, wanted in zip(numbers(ours, run), numbers(theirs, run), strict=True):
        np.testing.assert_allclose(got, wanted, 1e-9, 1e-9)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_checkpoint(options):
    assert_checkpoint_agrees(lambda checkpoint, model, x: checkpoint.checkpoint(model, x, **options))
    assert_checkpoint_agrees(lambda checkpoint, model, x: model[5:](checkpoint.checkpoint(model[:5], x, **options)))


@pytest.mark.parametrize("options", OPTIONS[:2], ids=str)
@pytest.mark.parametrize("segments", [1, 2, 3])
def test_sequential(options, segments):
    assert_checkpoint_agrees(lambda checkpoint, model, x: checkpoint.checkpoint_sequential(model, segments, x, **options))


@pytest.mark.parametrize("early", [True, False])
def test_early_stop(early):
    def run(checkpoint, model, x):
        with checkpoint.set_checkpoint_early_stop(early):
            return checkpoint.checkpoint(model, x, use_reentrant=False)

    assert_checkpoint_agrees(run)


def test_nested():
    def run(checkpoint, model, x):
        inner = lambda y: checkpoint.checkpoint(model[2:6], y, use_reentrant=False).sin()  # noqa: E731
        return model[6:](checkpoint.checkpoint(lambda y: inner(model[:2](y)), x, use_reentrant=False))

    assert_checkpoint_agrees(run)


def changing(torch, **options):
    """Checkpoint a function that computes something different when it is recomputed."""
    calls = []

    def function(x):
        calls.append(1)
        return x.sin() if len(calls) == 1 else x.reshape(2, 1).cos()

    x = torch.ones(2, requires_grad=True)
    torch.utils.checkpoint.checkpoint(function, x, use_reentrant=False, **options).sum().backward()


@pytest.mark.parametrize("call", [
    lambda torch: torch.utils.checkpoint.checkpoint(torch.sin, torch.ones(2), use_reentrant=True, context_fn=lambda: (None, None)),
    lambda torch: torch.utils.checkpoint.checkpoint(torch.sin, torch.ones(2), use_reentrant=True, nothing=3),
    lambda torch: torch.autograd.grad(torch.utils.checkpoint.checkpoint(
        torch.sin, torch.ones(2, requires_grad=True), use_reentrant=True).sum(), torch.ones(2, requires_grad=True)),
])  # fmt: skip
def test_refusals(call):
    caught = []
    for torch in (ours, theirs):
        with pytest.raises(Exception) as info:
            call(torch)
        caught.append((info.type.__name__, str(info.value)))
    assert caught[0] == caught[1]


def test_what_was_recomputed_differs():
    for torch in (ours, theirs):
        with pytest.raises(torch.utils.checkpoint.CheckpointError, match="Recomputed values"):
            changing(torch)


def test_names_and_signatures():
    mine, other = ours.utils.checkpoint, theirs.utils.checkpoint
    for name in other.__all__:
        assert hasattr(mine, name), name
        expected = getattr(other, name)
        if inspect.isfunction(expected):
            assert list(inspect.signature(getattr(mine, name)).parameters) == list(inspect.signature(expected).parameters), name
