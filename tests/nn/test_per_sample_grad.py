"""`nn.utils._per_sample_grad`: the gradients of each sample equal those of a batch with only this sample."""

from __future__ import annotations

import pytest
from flambeau.nn.utils._per_sample_grad import call_for_per_sample_grads

import flambeau as torch
from flambeau import nn

IMAGES, WORDS = (3, 2, 5, 6), (3, 4)
MODULES = {
    "linear": (lambda: nn.Linear(4, 2), (3, 5, 4)),
    "conv": (lambda: nn.Conv2d(2, 4, 3, padding=1, groups=2), IMAGES),
    "norms": (lambda: nn.Sequential(nn.GroupNorm(1, 2), nn.InstanceNorm2d(2, affine=True), nn.LayerNorm([5, 6])), IMAGES),
    "network": (lambda: nn.Sequential(nn.Conv2d(2, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(48, 2)), IMAGES),
    "embedding": (lambda: nn.Sequential(nn.Embedding(6, 4), nn.Linear(4, 1)), WORDS),
}


@pytest.mark.parametrize("reduction", ["sum", "mean"])
@pytest.mark.parametrize("name", MODULES)
def test_each_sample_alone(name, reduction):
    build, shape = MODULES[name]
    module = build().double()
    x = torch.randint(6, shape) if name == "embedding" else torch.randn(shape, dtype=torch.float64, requires_grad=True)
    expected = []
    for sample in x:
        grads = torch.autograd.grad(module(sample.unsqueeze(0)).square().sum(), list(module.parameters()))
        expected.append(grads)
    output = call_for_per_sample_grads(module, loss_reduction=reduction)(x)
    torch.testing.assert_close(output, module(x))
    loss = output.square().flatten(1).sum(1)
    (loss.sum() if reduction == "sum" else loss.mean()).backward()
    for parameter, *samples in zip(module.parameters(), *expected, strict=True):
        assert parameter.grad is None
        torch.testing.assert_close(parameter.grad_sample, torch.stack(samples))
    assert x.is_floating_point() is (x.grad is not None)


def test_parameters_without_gradients_and_the_second_dimension():
    module = nn.Linear(4, 2)
    module.bias.requires_grad_(False)
    call_for_per_sample_grads(module, batch_first=False)(torch.ones(5, 3, 4)).sum().backward()
    assert module.weight.grad_sample.tolist() == torch.full((3, 2, 4), 5.0).tolist()
    assert not hasattr(module.bias, "grad_sample")
    with pytest.raises(RuntimeError, match="accumulates the gradients"):
        call_for_per_sample_grads(module)


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((nn.Linear(2, 1),), {"loss_reduction": "max"}, "to be sum or mean, got max"),
        ((torch.add,), {}, "must be nn.Module, got"),
        ((nn.Linear(2, 1),), {"batch_size": 1.0}, "None or an integer, got float"),
        ((nn.Linear(2, 1),), {"batch_size": 0}, "must be positive, got 0"),
    ],
)
def test_what_is_refused(args, kwargs, message):
    with pytest.raises(RuntimeError, match=message):
        call_for_per_sample_grads(*args, **kwargs)


def test_batch_sizes_that_differ():
    forward = call_for_per_sample_grads(nn.Bilinear(2, 2, 1))
    with pytest.raises(RuntimeError, match="batch size 3 and one with batch size 4"):
        forward(torch.ones(3, 2), torch.ones(4, 2))
    with pytest.raises(RuntimeError, match="Unable to find a tensor"):
        forward()
