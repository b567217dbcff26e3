"""Learning rate schedulers, compared with NumPy formulas."""

from __future__ import annotations

import copy
import gc
import pickle
import warnings
import weakref

import numpy as np
import pytest

import flambeau as torch

S = torch.optim.lr_scheduler
EPOCHS = 24
LR = 0.4


def optimizer_of(*lrs, momentum=0.9, adam=False):
    groups = [{"params": [torch.nn.Parameter(torch.ones(1))], "lr": lr} for lr in lrs]
    return torch.optim.Adam(groups) if adam else torch.optim.SGD(groups, momentum=momentum)


def follow(optimizer, scheduler, epochs=EPOCHS, key="lr"):
    """Return the value of `key` of all parameter groups in each epoch."""
    values = []
    for _ in range(epochs):
        values.append([float(group[key]) for group in optimizer.param_groups])
        optimizer.step()
        scheduler.step()
        assert [float(lr) for lr in scheduler.get_last_lr()] == [float(g["lr"]) for g in optimizer.param_groups]
    return np.array(values)


def cosine(share):
    return (1 + np.cos(np.pi * share)) / 2


def triangle(t, up, down):
    x = t % (up + down)
    return np.where(x <= up, x / up, (up + down - x) / down)


e = np.arange(EPOCHS)

# name -> (factory of the scheduler, expected learning rate in each epoch for the initial rate LR)
SCHEDULES = {
    "LambdaLR": (lambda o: S.LambdaLR(o, lambda epoch: 1 / (1 + epoch)), LR / (1 + e)),
    "MultiplicativeLR": (
        lambda o: S.MultiplicativeLR(o, lambda epoch: epoch / (1 + epoch)),
        LR / (1 + e),
    ),
    "StepLR": (lambda o: S.StepLR(o, 5, gamma=0.5), LR * 0.5 ** (e // 5)),
    "MultiStepLR": (
        lambda o: S.MultiStepLR(o, [11, 3, 3], gamma=0.5),
        LR * 0.5 ** (2 * (e >= 3) + (e >= 11)),
    ),
    "ConstantLR": (lambda o: S.ConstantLR(o, 0.25, total_iters=7), LR * np.where(e < 7, 0.25, 1)),
    "LinearLR": (lambda o: S.LinearLR(o, 0.2, 0.7, total_iters=10), LR * (0.2 + 0.5 * np.minimum(e / 10, 1))),
    "ExponentialLR": (lambda o: S.ExponentialLR(o, 0.8), LR * 0.8**e),
    "PolynomialLR": (lambda o: S.PolynomialLR(o, 9, power=1.5), LR * np.maximum(1 - e / 9, 0) ** 1.5),
    "CosineAnnealingLR": (lambda o: S.CosineAnnealingLR(o, 7, 0.1), 0.1 + (LR - 0.1) * cosine(e / 7)),
    "CosineAnnealingWarmRestarts": (
        lambda o: S.CosineAnnealingWarmRestarts(o, 3, T_mult=2, eta_min=0.1),
        0.1 + (LR - 0.1) * cosine(np.concatenate([np.arange(n) / n for n in (3, 6, 12, 24)])[:EPOCHS]),
    ),
    "CyclicLR": (lambda o: S.CyclicLR(o, 0.1, 0.3, 3, 5), 0.1 + 0.2 * triangle(e, 3, 5)),
    "CyclicLR, triangular2": (
        lambda o: S.CyclicLR(o, 0.1, 0.3, 4, mode="triangular2"),
        0.1 + 0.2 * triangle(e, 4, 4) / 2.0 ** (e // 8),
    ),
    "CyclicLR, exp_range": (
        lambda o: S.CyclicLR(o, 0.1, 0.3, 4, mode="exp_range", gamma=0.9),
        0.1 + 0.2 * triangle(e, 4, 4) * 0.9**e,
    ),
    "CyclicLR, scale_fn": (
        lambda o: S.CyclicLR(o, 0.1, 0.3, 4, scale_fn=lambda cycle: 1 / cycle),
        0.1 + 0.2 * triangle(e, 4, 4) / (e // 8 + 1),
    ),
    "OneCycleLR": (
        lambda o: S.OneCycleLR(o, 0.5, total_steps=EPOCHS + 1, pct_start=0.2),
        np.where(
            e < 4,
            0.5 + (0.02 - 0.5) * cosine(e / 4),
            2e-6 + (0.5 - 2e-6) * cosine((e - 4) / 20),
        ),
    ),
    "OneCycleLR, linear": (
        lambda o: S.OneCycleLR(o, 0.5, epochs=5, steps_per_epoch=5, pct_start=0.2, anneal_strategy="linear"),
        np.interp(e, [0, 4, 24], [0.02, 0.5, 2e-6]),
    ),
    "OneCycleLR, three_phase": (
        lambda o: S.OneCycleLR(o, 0.5, 25, pct_start=0.2, anneal_strategy="linear", three_phase=True),
        np.interp(e, [0, 4, 8, 24], [0.02, 0.5, 0.02, 2e-6]),
    ),
    "SWALR": (
        lambda o: torch.optim.swa_utils.SWALR(o, 0.1, anneal_epochs=6),
        0.1 + (LR - 0.1) * cosine(np.minimum(e / 6, 1)),
    ),
    "SWALR, linear": (
        lambda o: torch.optim.swa_utils.SWALR(o, 0.1, anneal_epochs=6, anneal_strategy="linear"),
        np.interp(e, [0, 6], [LR, 0.1]),
    ),
    "SequentialLR": (
        lambda o: S.SequentialLR(o, [S.ConstantLR(o, 0.1, 10), S.ExponentialLR(o, 0.9), S.StepLR(o, 2)], [4, 9]),
        LR * np.where(e < 4, 0.1, np.where(e < 9, 0.9 ** (e - 4.0), 0.1 ** ((e - 9.0) // 2))),
    ),
    "ChainedScheduler": (
        lambda o: S.ChainedScheduler([S.ConstantLR(o, 0.1, 7), S.ExponentialLR(o, 0.9)]),
        LR * np.where(e < 7, 0.1, 1) * 0.9**e,
    ),
    "nested": (
        lambda o: S.SequentialLR(o, [S.ChainedScheduler([S.LinearLR(o, 0.5), S.StepLR(o, 3)]), S.ExponentialLR(o, 0.5)], [9]),
        LR * np.where(e < 9, np.minimum(0.5 + 0.1 * e, 1) * 0.1 ** (e // 3), 0.5 ** (e - 9.0)),
    ),
}
BOUNDED = ("CyclicLR", "OneCycleLR")  # these set their own initial learning rate
every_schedule = pytest.mark.parametrize("make, expected", SCHEDULES.values(), ids=SCHEDULES.keys())


@pytest.mark.filterwarnings("ignore:Detected call")  # schedulers inside of other schedulers raise this
@every_schedule
def test_formula(make, expected):
    optimizer = optimizer_of(LR)
    np.testing.assert_allclose(follow(optimizer, make(optimizer))[:, 0], expected, rtol=1e-9, atol=1e-12)


@pytest.mark.filterwarnings("ignore:Detected call")
@pytest.mark.parametrize("name", [name for name in SCHEDULES if not name.startswith((*BOUNDED, "SWALR", "Cosine"))])
def test_groups_keep_their_proportions(name):
    make, expected = SCHEDULES[name]
    optimizer = optimizer_of(LR, 3 * LR)
    rates = follow(optimizer, make(optimizer))
    np.testing.assert_allclose(rates, expected[:, None] * [1, 3], rtol=1e-9, atol=1e-12)


@pytest.mark.filterwarnings("ignore:Detected call")
@every_schedule
def test_tensors_are_changed_in_place(make, expected):
    lr = torch.tensor(LR, dtype=torch.float64)
    optimizer = optimizer_of(lr)
    scheduler = make(optimizer)
    np.testing.assert_allclose(follow(optimizer, scheduler)[:, 0], expected, rtol=1e-9, atol=1e-12)
    assert optimizer.param_groups[0]["lr"] is lr
    assert all(last is not lr for last in scheduler.get_last_lr())


@pytest.mark.filterwarnings("ignore:Detected call")
@every_schedule
def test_schedules_go_on_from_checkpoints(make, expected):
    optimizer = optimizer_of(LR)
    scheduler = make(optimizer)
    follow(optimizer, scheduler, 6)
    saved = pickle.loads(pickle.dumps([optimizer.state_dict(), scheduler.state_dict()]))
    optimizer = optimizer_of(LR)
    scheduler = make(optimizer)
    optimizer.load_state_dict(saved[0])
    before = copy.deepcopy(saved[1])
    scheduler.load_state_dict(saved[1])
    assert saved[1] == before
    rates = follow(optimizer, scheduler, EPOCHS - 6)
    np.testing.assert_allclose(rates[:, 0], expected[6:], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "name",
    [name for name in SCHEDULES if name.endswith("LR") and name not in ("MultiplicativeLR", "SequentialLR", "SWALR")],
)
def test_steps_to_any_epoch(name):
    """`step(epoch)` uses the closed form, which MultiplicativeLR lacks."""
    make, expected = SCHEDULES[name]
    optimizer = optimizer_of(LR)
    scheduler = make(optimizer)
    for epoch in (3, 4, 11, 0, 7):
        with pytest.warns(UserWarning, match="epoch parameter in `scheduler.step"):
            optimizer.step()
            scheduler.step(epoch)
        assert scheduler.last_epoch == epoch
        np.testing.assert_allclose(optimizer.param_groups[0]["lr"], expected[epoch], rtol=1e-9, atol=1e-12)


def test_warm_restarts_at_parts_of_epochs():
    optimizer = optimizer_of(LR)
    scheduler = S.CosineAnnealingWarmRestarts(optimizer, 2, T_mult=2)
    for epoch, share in ((0.5, 0.25), (1.5, 0.75), (2.0, 0.0), (3.0, 0.25), (7.0, 0.125), (1.0, 0.5)):
        scheduler.step(epoch)
        assert optimizer.param_groups[0]["lr"] == pytest.approx(LR * cosine(share))


def test_resuming():
    optimizer = optimizer_of(LR)
    follow(optimizer, S.ExponentialLR(optimizer, 0.5), 4)
    scheduler = S.ExponentialLR(optimizer, 0.5, last_epoch=3)
    assert scheduler.last_epoch == 4 and scheduler.base_lrs == [LR]
    np.testing.assert_allclose(follow(optimizer, scheduler, 3)[:, 0], LR * 0.5 ** np.arange(4, 7))
    with pytest.raises(KeyError, match=r"'initial_lr' is not specified in param_groups\[0\]"):
        S.StepLR(optimizer_of(LR), 2, last_epoch=3)


@pytest.mark.parametrize("adam", [False, True])
@pytest.mark.parametrize(
    "make, expected",
    [
        (
            lambda o: S.CyclicLR(o, 0.1, 0.3, 4, base_momentum=0.6, max_momentum=0.8),
            0.8 - 0.2 * triangle(e, 4, 4),
        ),
        (
            lambda o: S.OneCycleLR(o, 0.5, 25, 0, 0, 0.2, "linear", base_momentum=0.6, max_momentum=0.8, three_phase=True),
            np.interp(e, [0, 4, 8], [0.8, 0.6, 0.8]),
        ),
    ],
    ids=["CyclicLR", "OneCycleLR"],
)
def test_momentum_goes_the_other_way(make, expected, adam):
    optimizer = optimizer_of(LR, adam=adam)
    scheduler = make(optimizer)
    momenta = []
    for _ in range(EPOCHS):
        [group] = optimizer.param_groups
        momenta.append(group["betas"][0] if adam else group["momentum"])
        optimizer.step()
        scheduler.step()
    np.testing.assert_allclose(momenta, expected, rtol=1e-9)
    assert not adam or optimizer.param_groups[0]["betas"][1] == 0.999


def test_momentum_that_there_is_not():
    optimizer = torch.optim.Adagrad([torch.nn.Parameter(torch.ones(1))])
    for make in (
        lambda **o: S.CyclicLR(optimizer, 0.1, 0.2, **o),
        lambda **o: S.OneCycleLR(optimizer, 0.1, 9, **o),
    ):
        with pytest.raises(ValueError, match="must support momentum or beta1"):
            make()
        make(cycle_momentum=False)


# ReduceLROnPlateau


def reductions(metrics, **options):
    """Return, for each metric, how often the learning rate has been halved so far."""
    optimizer = optimizer_of(1.0)
    scheduler = S.ReduceLROnPlateau(optimizer, factor=0.5, **options)
    counts = []
    for metric in metrics:
        optimizer.step()
        scheduler.step(metric)
        counts.append(int(-np.log2(optimizer.param_groups[0]["lr"])))
    return counts


@pytest.mark.parametrize(
    "metrics, options, expected",
    [
        ([5, 4, 3, 2, 1], {"patience": 0}, [0, 0, 0, 0, 0]),
        ([5, 5, 5, 5, 5], {"patience": 0}, [0, 1, 2, 3, 4]),
        ([5, 5, 5, 5, 5], {"patience": 1}, [0, 0, 1, 1, 2]),
        ([5, 5, 5, 5, 5], {"patience": 0, "cooldown": 2}, [0, 1, 1, 1, 2]),
        ([5, 5, 5, 5, 5], {"patience": 0, "min_lr": 0.25}, [0, 1, 2, 2, 2]),
        ([5, 5, 5, 5, 5], {"patience": 0, "eps": 0.3}, [0, 1, 1, 1, 1]),
        ([1, 2, 3, 4, 5], {"patience": 0, "mode": "max"}, [0, 0, 0, 0, 0]),
        ([1, 2, 2, 3, 3], {"patience": 0, "mode": "max"}, [0, 0, 1, 1, 2]),
        ([10, 9.5, 8, 7.5, 6], {"patience": 0, "threshold": 0.1}, [0, 1, 1, 2, 2]),
        ([10, 9.5, 8, 7.5, 6], {"patience": 0, "threshold": 1.0, "threshold_mode": "abs"}, [0, 1, 1, 2, 2]),
        ([10, 10.5, 12], {"patience": 0, "threshold": 0.1, "mode": "max"}, [0, 1, 1]),
        ([5, float("nan"), 4], {"patience": 0}, [0, 1, 1]),
        ([torch.tensor(5.0), torch.tensor([5.0])], {"patience": 0}, [0, 1]),
    ],
)
def test_plateaus(metrics, options, expected):
    assert reductions(metrics, **options) == expected


def test_plateaus_of_groups():
    optimizer = optimizer_of(1.0, 1.0)
    scheduler = S.ReduceLROnPlateau(optimizer, patience=0, min_lr=[0.5, 0.01])
    for _ in range(4):
        scheduler.step(1.0)
    assert scheduler.get_last_lr() == pytest.approx([0.5, 0.01])
    optimizer.add_param_group({"params": [torch.nn.Parameter(torch.ones(1))]})
    with pytest.raises(RuntimeError, match=r"groups in the `optimizer` \(3\) differs .* \(2\)"):
        scheduler.step(1.0)
    scheduler = S.ReduceLROnPlateau(optimizer, patience=0)
    optimizer.add_param_group({"params": [torch.nn.Parameter(torch.ones(1))]})
    for _ in range(2):
        scheduler.step(1.0)
    assert len(scheduler.get_last_lr()) == 4


def test_plateaus_that_are_told(capsys):
    scheduler = S.ReduceLROnPlateau(optimizer_of(1.0), patience=0, verbose=True)
    for _ in range(2):
        scheduler.step(1.0)
    assert capsys.readouterr().out == "Epoch 00002: reducing learning rate of group 0 to 1.0000e-01.\n"
    assert "verbose" not in scheduler.state_dict()


def test_plateaus_go_on_from_checkpoints():
    metrics = np.random.default_rng(0).standard_normal(30).cumsum()
    optimizers = [optimizer_of(1.0) for _ in range(2)]
    first, second = (S.ReduceLROnPlateau(optimizer, patience=2) for optimizer in optimizers)
    for metric in metrics[:15]:
        first.step(metric)
    optimizers[1].load_state_dict(optimizers[0].state_dict())
    second.load_state_dict(pickle.loads(pickle.dumps(first.state_dict())))
    for metric in metrics[15:]:
        first.step(metric)
        second.step(metric)
        assert first.get_last_lr() == second.get_last_lr()
    assert first.state_dict() == second.state_dict()


# LambdaLR with callable objects


class Decay:
    def __init__(self, rate):
        self.rate = rate

    def __call__(self, x):
        return self.rate**x


@pytest.mark.parametrize(
    "make",
    [
        lambda o, f: S.LambdaLR(o, f),
        lambda o, f: S.MultiplicativeLR(o, [f]),
        lambda o, f: S.CyclicLR(o, 0.1, 0.2, 3, scale_fn=f),
    ],
)
def test_objects_as_functions_are_saved(make):
    optimizer = optimizer_of(LR)
    scheduler, other = make(optimizer, Decay(0.5)), make(optimizer, Decay(0.7))
    saved = pickle.loads(pickle.dumps(scheduler.state_dict()))
    other.load_state_dict(saved)
    assert pickle.dumps(other.state_dict()) == pickle.dumps(scheduler.state_dict())
    [f] = getattr(other, "lr_lambdas", None) or [other._scale_fn_custom]
    assert isinstance(f, Decay) and f.rate == 0.5


# User-defined schedulers


def test_own_schedulers():
    class Halving(S._LRScheduler):
        def get_lr(self):
            return [lr / 2**self.last_epoch for lr in self.base_lrs]

    optimizer = optimizer_of(LR)
    scheduler = Halving(optimizer)
    assert isinstance(scheduler, S.LRScheduler)
    np.testing.assert_allclose(follow(optimizer, scheduler)[:, 0], LR / 2.0**e)


def test_a_scheduler_without_a_rule():
    with pytest.raises(NotImplementedError):
        S.LRScheduler(optimizer_of(LR))


# Warnings


def test_the_order_of_steps():
    optimizer = optimizer_of(LR)
    scheduler = S.StepLR(optimizer, 1)
    with pytest.warns(UserWarning, match=r"Detected call of `lr_scheduler.step\(\)` before `optimizer.step\(\)`"):
        scheduler.step()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scheduler.step()  # warns only once
        optimizer = optimizer_of(LR)
        scheduler = S.StepLR(optimizer, 1)
        optimizer.step()
        scheduler.step()


def test_a_step_that_is_replaced():
    optimizer = optimizer_of(LR)
    scheduler = S.StepLR(optimizer, 1)
    optimizer.step = lambda: None
    with pytest.warns(UserWarning, match=r"`optimizer.step\(\)` has been overridden"):
        scheduler.step()


@pytest.mark.parametrize("name", [name for name in SCHEDULES if name.endswith(("LR", "Restarts")) and name != "SequentialLR"])
def test_get_lr_is_not_for_users(name):
    scheduler = SCHEDULES[name][0](optimizer_of(LR))
    with pytest.warns(UserWarning, match=r"please use `get_last_lr\(\)`"):
        scheduler.get_lr()


def test_watched_optimizers_are_freed():
    optimizer = optimizer_of(LR)
    hooks = []
    optimizer.register_step_post_hook(lambda *args: hooks.append(args))
    schedulers = [S.StepLR(optimizer, 1), S.ExponentialLR(optimizer, 0.5)]
    optimizer.step()
    assert len(hooks) == 1  # the hook runs once per step, with two schedulers as with one
    hooks.clear()
    reference = weakref.ref(optimizer)
    gc.disable()
    try:
        del optimizer, schedulers
        assert reference() is None
    finally:
        gc.enable()


# Errors


@pytest.mark.parametrize(
    "make, error, message",
    [
        (lambda o: S.StepLR("Adam", 1), TypeError, "str is not an Optimizer"),
        (lambda o: S.ReduceLROnPlateau("Adam"), TypeError, "str is not an Optimizer"),
        (lambda o: S.LambdaLR(o, [abs, abs]), ValueError, "Expected 1 lr_lambdas, but got 2"),
        (lambda o: S.MultiplicativeLR(o, 0.5), TypeError, "should be a function, but got float"),
        (lambda o: S.ConstantLR(o, 1.5), ValueError, "expected to be between 0 and 1"),
        (lambda o: S.LinearLR(o, 0.0), ValueError, "greater than 0 and less or equal to 1"),
        (lambda o: S.LinearLR(o, 0.5, -1.0), ValueError, "Ending .* between 0 and 1"),
        (lambda o: S.CosineAnnealingWarmRestarts(o, 0), ValueError, "positive integer T_0, but got 0"),
        (lambda o: S.CosineAnnealingWarmRestarts(o, 1, 0.5), ValueError, "integer T_mult >= 1, but got 0.5"),
        (
            lambda o: S.CosineAnnealingWarmRestarts(o, 1, eta_min="0"),
            ValueError,
            "got 0 of type <class 'str'>",
        ),
        (
            lambda o: S.CosineAnnealingWarmRestarts(o, 1).step(-1),
            ValueError,
            "non-negative epoch, but got -1",
        ),
        (lambda o: S.CyclicLR(o, [0.1, 0.2], 0.3), ValueError, "base_lr has 2 values, param_groups has 1"),
        (
            lambda o: S.CyclicLR(o, 0.1, 0.3, mode="square"),
            ValueError,
            "mode is invalid and scale_fn is None",
        ),
        (lambda o: S.OneCycleLR(o, 0.1), ValueError, "either total_steps OR"),
        (lambda o: S.OneCycleLR(o, 0.1, 0), ValueError, "positive integer total_steps, but got 0"),
        (
            lambda o: S.OneCycleLR(o, 0.1, None, 1, 0),
            ValueError,
            "positive integer steps_per_epoch, but got 0",
        ),
        (lambda o: S.OneCycleLR(o, 0.1, 9, pct_start=1), ValueError, "between 0 and 1 pct_start, but got 1"),
        (lambda o: S.OneCycleLR(o, 0.1, 9, anneal_strategy="exp"), ValueError, "instead got exp"),
        (lambda o: follow(o, S.OneCycleLR(o, 0.1, 5), 6), ValueError, "step 6 times.* total steps is 5"),
        (lambda o: S.ReduceLROnPlateau(o, factor=1.0), ValueError, "Factor should be < 1.0"),
        (lambda o: S.ReduceLROnPlateau(o, "mean"), ValueError, "mode mean is unknown"),
        (lambda o: S.ReduceLROnPlateau(o, threshold_mode="no"), ValueError, "threshold mode no is unknown"),
        (lambda o: S.ReduceLROnPlateau(o, min_lr=[1, 2]), ValueError, "expected 1 min_lrs, got 2"),
        (lambda o: S.ChainedScheduler([]), ValueError, "at least one scheduler to be chained"),
        (
            lambda o: S.ChainedScheduler([S.ReduceLROnPlateau(o)]),
            ValueError,
            "does not support `ReduceLROnPl",
        ),
        (lambda o: S.ChainedScheduler([S.StepLR(optimizer_of(1), 1)], o), ValueError, "the same optimizer"),
        (lambda o: S.SequentialLR(o, [], []), ValueError, "SequentialLR expects at least one scheduler"),
        (lambda o: S.SequentialLR(o, [1], []), TypeError, "at index 0 should have `optimizer`"),
        (
            lambda o: S.SequentialLR(o, [S.StepLR(o, 1)], [1]),
            ValueError,
            "number of schedulers 1 .* equal to 1",
        ),
        (lambda o: torch.optim.swa_utils.SWALR(o, 0.1, -1), ValueError, "equal or greater than 0, got -1"),
        (lambda o: torch.optim.swa_utils.SWALR(o, 0.1, 1, "exp"), ValueError, "instead got exp"),
    ],
)
def test_what_is_refused(make, error, message):
    with pytest.raises(error, match=message):
        make(optimizer_of(LR))
