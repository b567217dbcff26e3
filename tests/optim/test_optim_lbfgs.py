"""L-BFGS: convergence, state and stopping criteria."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau as torch

optim = torch.optim


def weights(*shapes, seed=0, **options):
    rng = np.random.default_rng(seed)
    return [torch.nn.Parameter(torch.tensor(rng.standard_normal(shape), **options)) for shape in shapes]


def closure_of(optimizer, function):
    def closure():
        optimizer.zero_grad()
        loss = function()
        loss.backward()
        return loss

    return closure


@pytest.mark.parametrize("line_search_fn", [None, "strong_wolfe"])
def test_lbfgs_finds_the_minimum_of_a_quadratic(line_search_fn):
    rng = np.random.default_rng(0)
    a = rng.standard_normal((6, 6))
    matrix, target = torch.tensor(a @ a.T + np.eye(6)), torch.tensor(rng.standard_normal(6))
    left, right = weights((2,), (4,))
    optimizer = optim.LBFGS([left, right], max_iter=60, line_search_fn=line_search_fn)

    def loss():
        x = torch.cat([left, right]) - target
        return x @ matrix @ x

    first = loss().item()
    assert optimizer.step(closure_of(optimizer, loss)).item() == first
    np.testing.assert_allclose(torch.cat([left, right]).detach().numpy(), target.numpy(), atol=1e-4)
    state = optimizer.state[left]
    assert 1 < state["n_iter"] <= state["func_evals"] <= 75


def test_lbfgs_finds_the_minimum_of_the_rosenbrock_function():
    x, y = (torch.nn.Parameter(torch.tensor(v, dtype=torch.float64)) for v in (-1.2, 1.0))
    optimizer = optim.LBFGS([x, y], line_search_fn="strong_wolfe", max_iter=100)
    optimizer.step(closure_of(optimizer, lambda: (1 - x) ** 2 + 100 * (y - x**2) ** 2))
    assert (x.item(), y.item()) == pytest.approx((1.0, 1.0), abs=1e-4)


def test_lbfgs_first_goes_down_the_gradient():
    [w] = weights((3,))
    start = w.detach().numpy().copy()
    optimizer = optim.LBFGS([w], lr=0.5, max_iter=1)
    optimizer.step(closure_of(optimizer, lambda: (w**4).sum()))
    grad = 4 * start**3
    np.testing.assert_allclose(w.detach().numpy(), start - 0.5 * min(1, 1 / abs(grad).sum()) * grad, rtol=1e-12)


def test_lbfgs_stops_where_the_gradient_is_small():
    w = torch.nn.Parameter(torch.zeros(2))
    optimizer = optim.LBFGS([w])
    assert optimizer.step(closure_of(optimizer, lambda: (w**2).sum())).item() == 0
    assert optimizer.state[w] == {"func_evals": 1, "n_iter": 0}


@pytest.mark.parametrize("line_search_fn", [None, "strong_wolfe"])
def test_lbfgs_keeps_tensors(line_search_fn):
    [w] = weights((5,))
    optimizer = optim.LBFGS([w], max_iter=4, history_size=6, line_search_fn=line_search_fn)
    optimizer.step(closure_of(optimizer, lambda: (w.cosh() * torch.arange(1.0, 6.0)).sum()))
    optimizer.step(closure_of(optimizer, lambda: (w.cosh() * torch.arange(1.0, 6.0)).sum()))
    state = optimizer.state[w]
    numbers = [state["H_diag"], *state["ro"], *(each for each in state["al"] if each is not None)]
    assert len(numbers) > 4 and all(each.shape == () and each.dtype is w.dtype for each in numbers)
    assert list(state) == [
        "func_evals",
        "n_iter",
        "al",
        "d",
        "t",
        "old_dirs",
        "old_stps",
        "ro",
        "H_diag",
        "prev_flat_grad",
        "prev_loss",
    ]
    assert type(state["prev_loss"]) is float and type(state["n_iter"]) is int


def test_lbfgs_forgets_the_oldest_updates():
    [w] = weights((5,))
    optimizer = optim.LBFGS([w], history_size=3, max_iter=10)
    optimizer.step(closure_of(optimizer, lambda: (w.cosh() * torch.arange(1.0, 6.0)).sum()))
    state = optimizer.state[w]
    assert len(state["old_dirs"]) == len(state["old_stps"]) == len(state["ro"]) == 3
    np.testing.assert_allclose(w.detach().numpy(), np.zeros(5), atol=1e-2)


def test_what_lbfgs_refuses():
    a, b = weights((1,), (1,))
    with pytest.raises(ValueError, match="doesn't support per-parameter options"):
        optim.LBFGS([{"params": [a]}, {"params": [b]}])
    with pytest.raises(TypeError, match="closure"):
        optim.LBFGS([a]).step()
    optimizer = optim.LBFGS([a], line_search_fn="armijo")
    with pytest.raises(RuntimeError, match="only 'strong_wolfe' is supported"):
        optimizer.step(closure_of(optimizer, lambda: (a**2).sum()))
