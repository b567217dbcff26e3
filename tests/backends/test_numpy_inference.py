"""Inference plans on NumPy: results as in eager mode, and changes of the weights."""

import numpy as np
import pytest

import flambeau as torch
from flambeau.backend import find
from flambeau_backends.numpy.inference import Planner

nn, F = torch.nn, torch.nn.functional


@pytest.fixture(autouse=True)
def planner(monkeypatch):
    """Use the plans of the NumPy backend, also if a kernel pack with other plans is installed."""
    monkeypatch.setitem(find("numpy").__dict__, "inference", Planner())


def planned(model, *inputs):
    """Compile a module and call it until its calls are replayed; check that it has a plan."""
    model.eval()
    for name, buffer in model.named_buffers():
        if "running" in name:
            buffer.uniform_(0.5, 1.5)
    compiled = torch.compile(model)
    with torch.no_grad():
        for _ in range(4):
            compiled(*inputs)
    [program] = compiled.__dict__["_compiled_call"].programs
    assert program.inference is not None
    return compiled


def assert_equal(compiled, model, *inputs):
    with torch.no_grad():
        ours, expected = compiled(*inputs), model(*inputs)
    for one, other in zip(torch.utils._pytree.tree_leaves(ours), torch.utils._pytree.tree_leaves(expected), strict=True):
        assert one.stride() == other.stride()
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-4, atol=1e-5 * float(other.abs().max()))


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(
    ("options", "size"),
    [
        ({"kernel_size": 1}, (9, 12)),
        ({"kernel_size": 3, "padding": 1}, (24, 25)),  # by Winograd's algorithm
        ({"kernel_size": 3, "padding": 1}, (5, 4)),
        ({"kernel_size": (5, 3), "stride": (2, 1), "padding": (2, 0), "dilation": (1, 2)}, (13, 12)),
        ({"kernel_size": 3, "groups": 4}, (8, 7)),
        ({"kernel_size": 5, "padding": 2, "groups": 20}, (14, 11)),  # depthwise
        ({"kernel_size": (3, 2), "stride": (1, 3), "padding": (0, 1), "dilation": (2, 3), "groups": 20}, (14, 30)),
        ({"kernel_size": 3, "stride": 2, "padding": 1, "groups": 20}, (9, 80)),
        ({"kernel_size": 3, "groups": 20, "out_channels": 40}, (9, 8)),
    ],
)
def test_convolution_and_batch_norm(options, size, bias):
    outputs = options.get("out_channels", 20)
    model = nn.Sequential(nn.Conv2d(20, **{"out_channels": outputs, "bias": bias, **options}), nn.BatchNorm2d(outputs), nn.ReLU())
    x = torch.randn(3, 20, *size)
    assert_equal(planned(model, x), model, x)


class Block(nn.Module):
    """Values that are used several times, are overwritten, or are returned."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.third = (nn.Conv2d(6, 6, 3, padding=1) for _ in range(3))
        self.norm, self.squeeze, self.inplace = nn.BatchNorm2d(6, affine=False), nn.Conv2d(6, 6, 1), nn.ReLU(inplace=True)
        self.scale = nn.Parameter(torch.rand(6, 1, 1))

    def forward(self, x):
        first = self.first(x)
        y = self.norm(first) + first
        y = self.inplace(y + x)
        y = y * F.hardsigmoid(self.squeeze(y.mean((2, 3), keepdim=True)))
        y = F.hardswish(self.norm(self.second(y)), inplace=True) + y
        z = self.third(y)
        return F.relu(z), z, (z + self.third(x).mean((2, 3), keepdim=True)) * self.scale, F.max_pool2d(self.norm(y), 2)


def test_residuals_and_shared_values():
    model, x = Block(), torch.randn(2, 6, 8, 8)
    compiled = planned(model, x)
    before = x.clone()
    assert_equal(compiled, model, x)
    assert torch.equal(x, before)
    with torch.no_grad():
        results = compiled(x)
        kept = [result.clone() for result in results]
        compiled(x + 1)
    for result, copy in zip(results, kept, strict=True):
        assert torch.equal(result, copy)


def test_channels_last_images():
    model = nn.Sequential(
        nn.Conv2d(6, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 3)
    )
    x = torch.randn(2, 6, 8, 8)
    compiled = planned(model, x)
    assert_equal(compiled, model, x.to(memory_format=torch.channels_last))


@pytest.mark.parametrize("groups", [1, 16])
def test_infinities_stay_in_their_windows(groups):
    model = nn.Sequential(nn.Conv2d(16, 16, 3, padding=1, groups=groups), nn.BatchNorm2d(16))
    x = torch.randn(1, 16, 24, 24)
    compiled = planned(model, x)
    x[0, 3, 5, 5] = torch.inf
    with torch.no_grad():
        assert torch.equal(compiled(x).isfinite(), model(x).isfinite())


def change_in_place(model):
    model[0].weight.mul_(2)


def change_statistics(model):
    model[1].running_var.add_(3)


def change_data(model):
    model[1].bias.data += 1


def change_through_numpy(model):
    model[0].weight.detach().numpy()[...] += 1


def load(model):
    model.load_state_dict({name: value + 1 for name, value in model.state_dict().items()})


@pytest.mark.parametrize("change", [change_in_place, change_statistics, change_data, change_through_numpy, load])
@pytest.mark.parametrize("groups", [1, 16])
def test_changed_weights(change, groups):
    model = nn.Sequential(nn.Conv2d(16, 16, 3, groups=groups), nn.BatchNorm2d(16), nn.ReLU())
    x = torch.randn(1, 16, 26, 26)
    compiled = planned(model, x)
    with torch.no_grad():
        change(model)
    assert_equal(compiled, model, x)
