"""Optimizer steps by a kernel of the backend's, or of a kernel pack's."""

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

    for options, buffers in (({}, [(False, False)] * 3), ({"momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
                                                         [(True, True), (True, False), (True, False)])):  # fmt: skip
        expected = trained(**options)
        with monkeypatch.context() as patch:
            patch.setattr(numpy_backend, "all_kernels", with_kernel)
            found = trained(**options)
        np.testing.assert_allclose(found[0][0], expected[0][0], rtol=1e-6)
        np.testing.assert_allclose(found[0][1], expected[0][1], rtol=1e-6)
        assert seen == buffers and found[1] == 3  # the second parameter is not contiguous: operations serve it
        seen.clear()
