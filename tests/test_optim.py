"""Optimizers against their formulas in NumPy, and what all optimizers share."""

from __future__ import annotations

import copy
import inspect
import pickle
import warnings
from types import SimpleNamespace

import flambeau as torch
import numpy as np
import pytest

optim = torch.optim
SHAPES = [(), (0,), (3,), (2, 0, 3), (4, 5)]
STEPS = 12


# The references: each takes a start, the gradients of all steps and the options, and returns where it ends.


def descend(p, g, o):
    """The gradient as most rules see it."""
    g = -g if o.maximize else g
    if getattr(o, "decoupled_weight_decay", False):
        return p * (1 - o.lr * o.weight_decay), g
    return p, g + getattr(o, "weight_decay", 0) * p


def sgd(p, grads, o):
    velocity = None
    for g in grads:
        p, g = descend(p, g, o)
        if o.momentum:
            velocity = g if velocity is None else o.momentum * velocity + (1 - o.dampening) * g
            g = g + o.momentum * velocity if o.nesterov else velocity
        p = p - o.lr * g
    return p


def adam(p, grads, o):
    m = v = largest = np.zeros_like(p)
    b1, b2 = o.betas
    for t, g in enumerate(grads, 1):
        p, g = descend(p, g, o)
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g**2
        largest = np.maximum(largest, v) if o.amsgrad else v
        p = p - o.lr * (m / (1 - b1**t)) / (np.sqrt(largest / (1 - b2**t)) + o.eps)
    return p


def adamw(p, grads, o):
    return adam(p, grads, SimpleNamespace(**vars(o), decoupled_weight_decay=True))


def adamax(p, grads, o):
    m = u = np.zeros_like(p)
    b1, b2 = o.betas
    for t, g in enumerate(grads, 1):
        p, g = descend(p, g, o)
        m, u = b1 * m + (1 - b1) * g, np.maximum(b2 * u, abs(g) + o.eps)
        p = p - o.lr / (1 - b1**t) * m / u
    return p


def nadam(p, grads, o):
    m = v = np.zeros_like(p)
    b1, b2 = o.betas
    mus = b1 * (1 - 0.5 * 0.96 ** (np.arange(1, len(grads) + 2) * o.momentum_decay))
    for t, g in enumerate(grads, 1):
        p, g = descend(p, g, o)
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g**2
        mean = mus[t] * m / (1 - mus[: t + 1].prod()) + (1 - mus[t - 1]) * g / (1 - mus[:t].prod())
        p = p - o.lr * mean / (np.sqrt(v / (1 - b2**t)) + o.eps)
    return p


def radam(p, grads, o):
    m = v = np.zeros_like(p)
    b1, b2 = o.betas
    longest = 2 / (1 - b2) - 1
    for t, g in enumerate(grads, 1):
        p, g = descend(p, g, o)
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g**2
        mean, length = m / (1 - b1**t), longest - 2 * t * b2**t / (1 - b2**t)
        if length > 5:
            r = np.sqrt((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length))
            mean = mean * r * np.sqrt(1 - b2**t) / (np.sqrt(v) + o.eps)
        p = p - o.lr * mean
    return p


def adagrad(p, grads, o):
    total = np.full_like(p, o.initial_accumulator_value)
    for t, g in enumerate(grads):
        p, g = descend(p, g, o)
        total = total + g**2
        p = p - o.lr / (1 + t * o.lr_decay) * g / (np.sqrt(total) + o.eps)
    return p


def adadelta(p, grads, o):
    squares = deltas = np.zeros_like(p)
    for g in grads:
        p, g = descend(p, g, o)
        squares = o.rho * squares + (1 - o.rho) * g**2
        delta = np.sqrt(deltas + o.eps) / np.sqrt(squares + o.eps) * g
        deltas = o.rho * deltas + (1 - o.rho) * delta**2
        p = p - o.lr * delta
    return p


def rmsprop(p, grads, o):
    squares = mean = velocity = np.zeros_like(p)
    for g in grads:
        p, g = descend(p, g, o)
        squares, mean = o.alpha * squares + (1 - o.alpha) * g**2, o.alpha * mean + (1 - o.alpha) * g
        g = g / (np.sqrt(squares - mean**2 if o.centered else squares) + o.eps)
        velocity = o.momentum * velocity + g
        p = p - o.lr * velocity
    return p


def rprop(p, grads, o):
    size, before = np.full_like(p, o.lr), np.zeros_like(p)
    for g in grads:
        p, g = descend(p, g, o)
        factor = np.select([g * before > 0, g * before < 0], [o.etas[1], o.etas[0]], 1)
        size = np.clip(size * factor, *o.step_sizes)
        before = np.where(g * before < 0, 0, g)
        p = p - np.sign(before) * size
    return p


def asgd(p, grads, o):
    eta = o.lr
    for t, g in enumerate(grads, 1):
        p, g = descend(p, g, o)
        p = p * (1 - o.lambd * eta) - eta * g
        eta = o.lr / (1 + o.lambd * o.lr * t) ** o.alpha
    return p


def adafactor(p, grads, o):
    rms = lambda x: np.sqrt(np.mean(x**2))  # noqa: E731
    v, rows, columns = np.zeros_like(p), 0, 0
    eps1 = np.finfo(p.dtype).eps if o.eps[0] is None else o.eps[0]
    for t, g in enumerate(grads, 1):
        g = -g if o.maximize else g
        new = t**o.beta2_decay
        if p.ndim > 1:
            rows = (1 - new) * rows + new * np.mean(g**2, -1, keepdims=True)
            columns = (1 - new) * columns + new * np.mean(g**2, -2, keepdims=True)
            v = rows * columns / np.maximum(np.mean(rows, -2, keepdims=True), eps1)
        else:
            v = (1 - new) * v + new * g**2
        update = g / np.maximum(np.sqrt(v), eps1)
        size = max(o.eps[1], rms(p)) * min(o.lr, t**-0.5)
        p = p * (1 - o.lr * o.weight_decay) - size * update / max(1, rms(update) / o.d)
    return p


CASES = [
    (optim.SGD, sgd, {}),
    (optim.SGD, sgd, {"lr": 0.1, "weight_decay": 0.1, "maximize": True}),
    (optim.SGD, sgd, {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1}),
    (optim.SGD, sgd, {"lr": 0.1, "momentum": 0.9, "nesterov": True, "foreach": True}),
    (optim.Adam, adam, {}),
    (optim.Adam, adam, {"lr": 0.1, "betas": (0.8, 0.9), "eps": 0.1, "weight_decay": 0.1, "fused": True}),
    (optim.Adam, adam, {"lr": 0.1, "amsgrad": True, "maximize": True, "capturable": True}),
    (optim.Adam, adam, {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    (optim.AdamW, adamw, {"lr": 0.1, "weight_decay": 0.1, "foreach": True}),
    (optim.Adamax, adamax, {"lr": 0.1, "betas": (0.8, 0.9), "eps": 0.1, "weight_decay": 0.1}),
    (optim.Adamax, adamax, {"maximize": True, "capturable": True}),
    (optim.NAdam, nadam, {"lr": 0.1, "weight_decay": 0.1, "momentum_decay": 0.1}),
    (optim.NAdam, nadam, {"weight_decay": 0.1, "decoupled_weight_decay": True, "capturable": True}),
    (optim.RAdam, radam, {"lr": 0.1, "betas": (0.8, 0.9), "weight_decay": 0.1}),
    (optim.RAdam, radam, {"weight_decay": 0.1, "decoupled_weight_decay": True, "capturable": True}),
    (optim.Adagrad, adagrad, {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1}),
    (optim.Adagrad, adagrad, {"initial_accumulator_value": 0.5, "eps": 0.1, "maximize": True}),
    (optim.Adadelta, adadelta, {"lr": 2.0, "rho": 0.8, "eps": 0.01, "weight_decay": 0.1}),
    (optim.Adadelta, adadelta, {"maximize": True, "capturable": True}),
    (optim.RMSprop, rmsprop, {"alpha": 0.8, "eps": 0.1, "weight_decay": 0.1}),
    (optim.RMSprop, rmsprop, {"momentum": 0.9, "centered": True, "maximize": True, "capturable": True}),
    (optim.Rprop, rprop, {}),
    (optim.Rprop, rprop, {"lr": 0.1, "etas": (0.6, 1.1), "step_sizes": (0.05, 0.2), "maximize": True}),
    (optim.ASGD, asgd, {"lr": 0.1, "lambd": 0.1, "alpha": 0.5, "weight_decay": 0.1}),
    (optim.ASGD, asgd, {"maximize": True, "capturable": True}),
    (optim.Adafactor, adafactor, {"lr": 0.5}),
    (optim.Adafactor, adafactor, {"eps": (0.1, 0.01), "d": 2.0, "weight_decay": 0.1, "beta2_decay": -0.5}),
]
CLASSES = list(dict.fromkeys(cls for cls, _, _ in CASES))


def case_id(value):
    if isinstance(value, dict):
        return ",".join(f"{k}={v}" for k, v in value.items()) or "default"
    return value.__name__ if inspect.isclass(value) else ""


def weights(*shapes, seed=0, **options):
    rng = np.random.default_rng(seed)
    return [torch.nn.Parameter(torch.tensor(rng.standard_normal(shape), **options)) for shape in shapes]


def set_grads(params, seed):
    rng = np.random.default_rng(seed)
    for p in params:
        p.grad = torch.tensor(rng.standard_normal(tuple(p.shape)), dtype=p.dtype)


def options_of(cls, given):
    defaults = {name: p.default for name, p in inspect.signature(cls).parameters.items()}
    return SimpleNamespace(**{**defaults, **given})


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("cls, reference, options", CASES, ids=case_id)
def test_formula(cls, reference, options, shape):
    if cls is optim.Adafactor and 0 in shape:
        pytest.xfail("a mean of nothing")
    rng = np.random.default_rng(1)
    [w] = weights(shape)
    start, grads = w.detach().numpy().copy(), [rng.standard_normal(shape) for _ in range(STEPS)]
    optimizer = cls([w], **options)
    for grad in grads:
        w.grad = torch.tensor(grad)
        assert optimizer.step() is None
    assert w.shape == shape
    np.testing.assert_allclose(w.detach().numpy(), reference(start, grads, options_of(cls, options)), rtol=1e-6)
