"""`torch.legacy.optim`: optimizers as functions of a closure, the parameters and a config dict."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau as torch

nn = torch.legacy.nn
optim = torch.legacy.optim


@pytest.mark.parametrize(
    ("name", "config"),
    [
        ("sgd", {"learningRate": 0.5, "momentum": 0.9, "learningRateDecay": 1e-3}),
        ("adam", {"learningRate": 0.05}),
        ("adamax", {"learningRate": 0.1}),
        ("adagrad", {"learningRate": 0.3}),
        ("adadelta", {"learningRate": 10}),
        ("rmsprop", {"learningRate": 0.02}),
        ("rprop", {"learningRate": 0.02}),
        ("asgd", {"learningRate": 0.5}),
        ("lbfgs", {"maxIter": 5}),
        ("nag", {"learningRate": 0.2, "momentum": 0.5, "learningRateDecay": 1e-3, "weightDecay": 1e-4}),
    ],
)
def test_optimizers_on_flat_parameters(name, config):
    torch.manual_seed(0)
    net = nn.Sequential().add(nn.Linear(3, 4)).add(nn.Tanh()).add(nn.Linear(4, 1))
    params, grads = net.flattenParameters()
    criterion = nn.MSECriterion()
    x, y = torch.randn(20, 3), torch.randn(20, 1)

    def closure(vector):
        assert vector is params
        grads.zero_()
        loss = criterion.forward(net.forward(x), y)
        net.backward(x, criterion.backward(net.output, y))
        return loss, grads

    first = closure(params)[0]
    for _ in range(40):
        _, losses = getattr(optim, name)(closure, params, config)
    assert losses[-1] < 0.9 * first


def test_sgd_follows_its_formula():
    x, config = torch.tensor([1.0, -2.0]), {"learningRate": 0.1, "momentum": 0.5, "weightDecay": 0.2, "dampening": 0}
    expected, velocity = np.array([1.0, -2.0]), np.zeros(2)
    for step in range(4):
        optim.sgd(lambda x: ((x**2).sum(), 2 * x), x, config)
        gradient = 2 * expected + 0.2 * expected
        velocity = gradient if step == 0 else 0.5 * velocity + gradient
        expected = expected - 0.1 * velocity
        np.testing.assert_allclose(x.tolist(), expected, rtol=1e-5)


def test_nag_is_nesterovs_method():
    factors = torch.tensor([1.0, 0.5])
    config = {"learningRate": 0.1, "momentum": 0.8, "weightDecay": 0.2, "learningRateDecay": 0.5, "learningRates": factors}
    x, y, velocity = torch.tensor([2.0, -1.0]), np.array([2.0, -1.0]), np.zeros(2)
    for step in range(4):
        x, (loss,) = optim.nag(lambda x: ((x**4).sum(), 4 * x**3), x, config)
        ahead = y + 0.8 * velocity
        assert loss == pytest.approx((ahead**4).sum(), rel=1e-5)
        velocity = 0.8 * velocity - 0.1 / (1 + 0.5 * step) * (4 * ahead**3 + 0.2 * ahead) * factors.numpy()
        y = y + velocity
        assert x.tolist() == pytest.approx(y.tolist(), rel=1e-5)
    with pytest.raises(ValueError, match="Momentum must be positive"):
        optim.nag(lambda x: (x.sum(), x), x, {"momentum": 0})


def rosenbrock(x):
    x = x.detach().clone().requires_grad_()
    loss = (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()
    loss.backward()
    return loss.detach(), x.grad


def test_cg_is_rasmussens_minimize():
    x, losses, count = optim.cg(rosenbrock, torch.zeros(2, dtype=torch.float64), {"maxEval": 25})
    expected = [
        1,
        0.7825106,
        0.3955653,
        0.2189118,
        0.08594363,
        0.08167279,
        0.048038,
        0.03385004,
        0.01810892,
    ]  # recorded from PyTorch 0.2
    assert count == 25 and losses == pytest.approx(expected, rel=1e-5)
    assert losses == sorted(losses, reverse=True) and rosenbrock(x)[0].item() == losses[-1]
    x, losses, count = optim.cg(rosenbrock, torch.zeros(5, dtype=torch.float64), {"maxEval": 600})
    assert x.tolist() == pytest.approx([1] * 5, abs=1e-4) and count <= 601


def test_cg_solves_a_linear_system():
    torch.manual_seed(0)
    root = torch.randn(6, 6, dtype=torch.float64)
    matrix, target = root @ root.t() + torch.eye(6, dtype=torch.float64), torch.randn(6, dtype=torch.float64)
    x, losses, _ = optim.cg(
        lambda x: (x @ matrix @ x / 2 - x @ target, matrix @ x - target), torch.zeros_like(target), {"maxEval": 60}
    )
    torch.testing.assert_close(x, torch.linalg.solve(matrix, target), atol=1e-6, rtol=1e-6)
    at_best = optim.cg(lambda x: ((x**2).sum(), 2 * x), torch.zeros(3), {})
    assert at_best[0].tolist() == [0, 0, 0]
