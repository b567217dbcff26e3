"""`torch.optim.swa_utils`: averaged models and the SWA learning rate."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau as torch

optim = torch.optim


def averaged(options, steps=4):
    model = torch.nn.Linear(3, 2)
    average = optim.swa_utils.AveragedModel(model, **options)
    path = []
    for seed in range(steps):
        with torch.no_grad():
            rng = np.random.default_rng(seed)
            for p in model.parameters():
                p.copy_(torch.tensor(rng.standard_normal(tuple(p.shape))))
        average.update_parameters(model)
        path.append(model.weight.detach().numpy().copy())
    return average, path


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"avg_fn": optim.swa_utils.get_swa_avg_fn()},
        {"multi_avg_fn": optim.swa_utils.get_swa_multi_avg_fn()},
        {"use_buffers": True},
    ],
    ids=["default", "avg_fn", "multi_avg_fn", "use_buffers"],
)
def test_mean_of_weights(options):
    model, path = averaged(options)
    np.testing.assert_allclose(model.module.weight.detach().numpy(), np.mean(path, 0), rtol=1e-4)
    assert model.n_averaged.item() == 4
    assert list(model.state_dict()) == ["n_averaged", "module.weight", "module.bias"]


@pytest.mark.parametrize("name", ["avg_fn", "multi_avg_fn"])
def test_exponential_moving_average_of_weights(name):
    model, path = averaged({name: getattr(optim.swa_utils, f"get_ema_{name}")(decay=0.8)})
    expected = path[0]
    for weight in path[1:]:
        expected = 0.8 * expected + 0.2 * weight
    np.testing.assert_allclose(model.module.weight.detach().numpy(), expected, rtol=1e-4)


def test_averages_of_buffers():
    model = torch.nn.BatchNorm1d(2)
    copied, mean = (optim.swa_utils.AveragedModel(model, use_buffers=use) for use in (False, True))
    for value in (1.0, 2.0, 6.0):
        model.running_mean.fill_(value)
        model.num_batches_tracked.fill_(int(value))
        copied.update_parameters(model)
        mean.update_parameters(model)
    assert copied.module.running_mean.tolist() == [6.0, 6.0]
    np.testing.assert_allclose(mean.module.running_mean.numpy(), [3.0, 3.0], rtol=1e-6)
    assert mean.module.num_batches_tracked.dtype == torch.int64


def test_averages_that_are_refused():
    utils = optim.swa_utils
    for make in (utils.get_ema_avg_fn, utils.get_ema_multi_avg_fn):
        with pytest.raises(ValueError, match=r"Invalid decay value 1.5 .* \[0,1\] range"):
            make(1.5)
    with pytest.raises(AssertionError, match="Only one of avg_fn and multi_avg_fn"):
        utils.AveragedModel(torch.nn.Linear(1, 1), avg_fn=max, multi_avg_fn=max)


@pytest.mark.parametrize("as_pairs", [False, True])
def test_update_bn(as_pairs):
    data = np.random.default_rng(0).standard_normal((3, 8, 2)).astype("float32") * 3 + 1
    model = torch.nn.Sequential(torch.nn.BatchNorm1d(2, momentum=0.3)).eval()
    batches = [torch.tensor(x) for x in data]
    optim.swa_utils.update_bn([(x, 0) for x in batches] if as_pairs else batches, model, device="cpu")
    np.testing.assert_allclose(model[0].running_mean.numpy(), data.mean(1).mean(0), rtol=1e-4)
    np.testing.assert_allclose(model[0].running_var.numpy(), data.var(1, ddof=1).mean(0), rtol=1e-4)
    assert model[0].momentum == 0.3 and not model.training
