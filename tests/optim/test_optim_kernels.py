"""Optimizer steps that are computed by a kernel of the backend or of a kernel plugin."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau as torch
from flambeau import backend


def test_a_kernel_may_do_a_whole_step(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def sgd_step(param, grad, buffer=None, *, lr, momentum, dampening, weight_decay, nesterov, first, maximize):
        seen.append((buffer is not None, first))
        step = (-grad if maximize else grad) + weight_decay * param
        if buffer is not None:
            buffer[...] = step if first else momentum * buffer + (1 - dampening) * step
            step = step + momentum * buffer if nesterov else buffer
        param -= lr * step

    numpy_backend = backend.find("numpy")
    with_kernel = {**numpy_backend.all_kernels, "sgd_step": sgd_step}

    def trained(**options):
        params = [torch.nn.Parameter(torch.arange(6.0).reshape(2, 3)), torch.nn.Parameter(torch.arange(6.0).reshape(2, 3).t())]
        optimizer = torch.optim.SGD(params, lr=0.1, **options)
        for _ in range(3):
            optimizer.zero_grad()
            sum((each**2).sum() for each in params).backward()
            optimizer.step()
        return [each.tolist() for each in params], params[0]._version

    for options, buffers in (
        ({}, [(False, False)] * 3),
        ({"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}, [(True, True), (True, False), (True, False)]),
    ):
        expected = trained(**options)
        with monkeypatch.context() as patch:
            patch.setattr(numpy_backend, "all_kernels", with_kernel)
            found = trained(**options)
        np.testing.assert_allclose(found[0][0], expected[0][0], rtol=1e-6)
        np.testing.assert_allclose(found[0][1], expected[0][1], rtol=1e-6)
        # the non-contiguous second parameter is updated by operations instead of the kernel
        assert seen == buffers and found[1] == 3
        seen.clear()


@pytest.mark.parametrize("options", [
    {}, {"weight_decay": 0.1}, {"weight_decay": 0.1, "decoupled_weight_decay": True}, {"maximize": True, "weight_decay": 0.1}, {"amsgrad": True},
])  # fmt: skip
@pytest.mark.parametrize("shapes", [[(3,)], [(400, 300)], [(3,), (2, 2), (400, 300), (5,), (1,)]])
def test_adam_a_piece_at_a_time(
    monkeypatch: pytest.MonkeyPatch, shapes: list[tuple[int, ...]], options: dict[str, object]
) -> None:
    """The NumPy backend's Adam kernel gives the same results as single operations, also if it updates parameters as one array."""

    def trained():
        torch.manual_seed(0)
        params = [torch.nn.Parameter(torch.randn(shape, dtype=torch.float64)) for shape in shapes]
        optimizer = torch.optim.Adam(params, lr=0.1, **options)
        for _ in range(4):
            for each in params:
                each.grad = torch.randn(each.shape, dtype=torch.float64)
            optimizer.step()
        return params, [optimizer.state[each] for each in params]

    numpy_backend = backend.find("numpy")
    params, states = trained()
    with monkeypatch.context() as patch:
        patch.setattr(numpy_backend, "all_kernels", {k: v for k, v in numpy_backend.all_kernels.items() if k != "adam_step"})
        wanted, wanted_states = trained()
    for param, state, other, other_state in zip(params, states, wanted, wanted_states, strict=True):
        torch.testing.assert_close(param, other, rtol=1e-10, atol=1e-10)
        for name in other_state:
            torch.testing.assert_close(state[name], other_state[name], rtol=1e-10, atol=1e-10)


def test_decoupled_decay_leaves_the_means_alone_at_a_rate_of_zero() -> None:
    """With lr=0, as at the first step of a warm-up, decoupled weight decay changes nothing."""
    weight = torch.nn.Parameter(torch.tensor([1.0, -2.0]))
    optimizer = torch.optim.AdamW([weight], lr=0.0, weight_decay=0.5)
    weight.grad = torch.tensor([0.25, 0.5])
    optimizer.step()
    np.testing.assert_allclose(optimizer.state[weight]["exp_avg"].numpy(), [0.025, 0.05], rtol=1e-6)
    assert weight.tolist() == [1.0, -2.0]
