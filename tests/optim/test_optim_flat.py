"""Updating many small parameters as one flat array gives the same results as separate updates."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import flambeau as torch

optim = torch.optim
SHAPES = [(3,), (2, 4), (), (5, 1), (0,), (7,), (1, 1, 1), (3, 2)]
CASES = [
    (optim.Adam, {"weight_decay": 0.1, "amsgrad": True}),
    (optim.AdamW, {"maximize": True}),
    (optim.Adamax, {}),
    (optim.NAdam, {"weight_decay": 0.1, "decoupled_weight_decay": True}),
    (optim.RAdam, {"betas": (0.8, 0.9)}),
    (optim.Adagrad, {"lr_decay": 0.1}),
    (optim.Adadelta, {"weight_decay": 0.1}),
    (optim.RMSprop, {"momentum": 0.9, "centered": True}),
    (optim.Rprop, {}),
    (optim.ASGD, {"t0": 2}),
    (optim.SGD, {"momentum": 0.9}),
    (optim.Adafactor, {}),
]
every_optimizer = pytest.mark.parametrize("cls, options", CASES, ids=[cls.__name__ for cls, _ in CASES])


def joint_and_separate_optimizers(cls, options, shapes=SHAPES, dtypes=(torch.float64,)):
    """Return a joint optimizer, an optimizer per copied parameter, the parameters, the copies, and a function that steps all."""
    rng = np.random.default_rng(0)
    starts = [torch.tensor(rng.standard_normal(shape), dtype=d) for shape in shapes for d in dtypes]
    joined, single = ([torch.nn.Parameter(start.clone()) for start in starts] for _ in range(2))
    optimizer, others = cls(joined, **options), [cls([p], **options) for p in single]

    def step(number, without=()):
        rng = np.random.default_rng(number)
        for i, (a, b, other) in enumerate(zip(joined, single, others, strict=True)):
            grad = torch.tensor(rng.standard_normal(tuple(a.shape)), dtype=a.dtype)
            a.grad, b.grad = (None, None) if i in without else (grad, grad.clone())
            other.step()
        optimizer.step()

    return optimizer, others, joined, single, step


def assert_same(joined, single):
    for a, b in zip(joined, single, strict=True):
        assert (a.detach().numpy() == b.detach().numpy()).all()


@every_optimizer
def test_steps(cls, options):
    _, _, joined, single, step = joint_and_separate_optimizers(cls, options)
    for number in range(6):
        step(number)
        assert_same(joined, single)


@every_optimizer
def test_gradients_that_come_and_go(cls, options):
    _, _, joined, single, step = joint_and_separate_optimizers(cls, options)
    for number, without in enumerate([(), (), (1, 2), (1, 2), (1,), (), (), (0, 3, 5), (), ()]):
        step(number, without)
        assert_same(joined, single)


@every_optimizer
def test_dtypes(cls, options):
    _, _, joined, single, step = joint_and_separate_optimizers(cls, options, dtypes=(torch.float64, torch.float32))
    for number in range(4):
        step(number)
    assert_same(joined, single)
    assert [p.dtype for p in joined[:2]] == [torch.float64, torch.float32]


@every_optimizer
def test_states_are_those_of_single_parameters(cls, options):
    optimizer, others, joined, single, step = joint_and_separate_optimizers(cls, options)
    for number in range(4):
        step(number)
    for p, q, other in zip(joined, single, others, strict=True):
        state, expected = optimizer.state[p], other.state[q]
        assert state.keys() == expected.keys()
        for name, value in expected.items():
            assert state[name].shape == value.shape and state[name].dtype == value.dtype
            assert (state[name].numpy() == value.numpy()).all()


@every_optimizer
def test_loading_copying_and_replacing_states(cls, options):
    optimizer, others, joined, single, step = joint_and_separate_optimizers(cls, options)
    for number in range(3):
        step(number)
    early = copy.deepcopy([optimizer.state_dict(), *(other.state_dict() for other in others)])
    for number in range(3, 6):
        step(number)
    for each, state_dict in zip([optimizer, *others], early, strict=True):
        each.load_state_dict(state_dict)
    for number in range(6, 9):
        step(number)
    assert_same(joined, single)
    for each in (optimizer, *others):  # programs that prune or reset parameters change the state like this
        for state in each.state.values():
            state.update({name: value * 0.5 for name, value in state.items() if value.dim()})
    for number in range(9, 12):
        step(number)
    assert_same(joined, single)


def test_states_changed_in_place():
    optimizer, others, joined, single, step = joint_and_separate_optimizers(optim.Adam, {})
    for number in range(3):
        step(number)
    for each in (optimizer, *others):
        for state in each.state.values():
            for value in state.values():
                value.zero_()
    for number in range(3, 6):
        step(number)
    assert_same(joined, single)


def test_states_with_something_else_in_them():
    optimizer, _, joined, single, step = joint_and_separate_optimizers(optim.Adam, {})
    for number in range(6):
        if number == 3:
            optimizer.state[joined[0]]["note"] = "frozen until now"
            optimizer.state[joined[1]]["mask"] = torch.ones(2)
        step(number)
    assert_same(joined, single)
    assert optimizer.state[joined[0]]["note"] == "frozen until now"


def test_options_and_parameters_changed_between_steps():
    optimizer, others, joined, single, step = joint_and_separate_optimizers(optim.Adam, {})
    for number in range(6):
        step(number)
        for each in (optimizer, *others):
            each.param_groups[0]["lr"] *= 0.5
        for p in (*joined, *single):
            p.data.clamp_(-1, 1)
    assert_same(joined, single)


def test_groups_of_parameters():
    rng = np.random.default_rng(0)
    params = [torch.nn.Parameter(torch.tensor(rng.standard_normal(3))) for _ in range(12)]
    others = copy.deepcopy(params)
    optimizer = optim.Adam([{"params": params[:6], "lr": 0.1}, {"params": params[6:]}], lr=0.2)
    single = [optim.Adam([p], lr=0.1 if i < 6 else 0.2) for i, p in enumerate(others)]
    for _ in range(4):
        for p, q, other in zip(params, others, single, strict=True):
            p.grad = torch.tensor(rng.standard_normal(3))
            q.grad = p.grad.clone()
            other.step()
        optimizer.step()
    assert_same(params, others)


def test_memory_that_parameters_share():
    """Parameters that share memory are updated one after the other."""
    results = []
    for join in (True, False):
        memory = torch.ones(6)
        views = [torch.nn.Parameter(memory[i : i + 2]) for i in range(5)]
        optimizers = [optim.Adam(views, lr=0.1)] if join else [optim.Adam([view], lr=0.1) for view in views]
        for _ in range(4):
            for i, view in enumerate(views):
                view.grad = torch.full((2,), i - 1.5)
            for optimizer in optimizers:
                optimizer.step()
        results.append(memory.numpy())
    np.testing.assert_allclose(*results, rtol=1e-6)


def test_states_in_shared_memory_stay_there():
    params = [torch.nn.Parameter(torch.ones(2)) for _ in range(5)]
    optimizer = optim.Adagrad(params)
    optimizer.share_memory()
    sums = [optimizer.state[p]["sum"] for p in params]
    for _ in range(3):
        for p in params:
            p.grad = torch.ones(2)
        optimizer.step()
    assert all(optimizer.state[p]["sum"] is total for p, total in zip(params, sums, strict=True))
    assert [total.tolist() for total in sums] == [[3.0, 3.0]] * 5
