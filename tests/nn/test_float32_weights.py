"""Float32 copies of the weights of linear layers in half precision: equal results, and when copies are replaced."""

import copy
import pickle

import numpy as np
import pytest

import flambeau as torch
from flambeau import nn
from flambeau.nn.utils import cache_float32_weights

HALF = pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)


def make(dtype, bias=True):
    """Return a layer, an equal one with copies, and an input."""
    torch.manual_seed(0)
    layer = nn.Linear(64, 32, bias).to(dtype)
    return layer, cache_float32_weights(copy.deepcopy(layer)), torch.randn(5, 64).to(dtype)


def copies(layer):
    """Return the number of float32 copies that the layer holds."""
    return sum(isinstance(value, torch.Tensor) and value.dtype is torch.float32 for value in layer.__dict__.get("_copies") or ())


@HALF
@pytest.mark.parametrize("bias", [True, False])
def test_results_are_those_of_the_layer(dtype, bias):
    layer, cached, x = make(dtype, bias)
    with torch.inference_mode():
        expected, result = layer(x), cached(x)
    assert result.dtype is dtype and copies(cached) == 1 + bias
    unit = 2.0**-10 if dtype is torch.float16 else 2.0**-7
    np.testing.assert_allclose(result.float().numpy(), expected.float().numpy(), rtol=1.01 * unit, atol=1e-5)


@HALF
@pytest.mark.parametrize("change", ["in place", "bias in place", "load", "data", "replaced", "round trip"])
def test_a_modified_weight_is_copied_again(dtype, change):
    layer, cached, x = make(dtype)
    other = nn.Linear(64, 32).to(dtype)
    with torch.no_grad():
        cached(x)
        for changed in (layer, cached):
            if change == "in place":
                changed.weight.mul_(-2)
            elif change == "bias in place":
                changed.bias.add_(100)
            elif change == "load":
                changed.load_state_dict(other.state_dict())
            elif change == "data":
                changed.weight.data = other.weight.data.clone()
            elif change == "replaced":
                changed.weight = nn.Parameter(other.weight.detach().clone())
            else:
                changed.float().weight.data.neg_()
                changed.to(dtype)
        np.testing.assert_allclose(cached(x).float().numpy(), layer(x).float().numpy(), rtol=1e-2, atol=1e-5)


@HALF
def test_calls_with_gradients_use_the_parameters(dtype):
    layer, cached, x = make(dtype)
    assert torch.equal(cached(x), layer(x)) and not copies(cached)
    cached(x).float().sum().backward()
    assert cached.weight.grad.dtype is dtype


def test_float32_layers_keep_no_copies():
    _, cached, x = make(torch.float16)
    with torch.no_grad():
        cached(x)
        assert copies(cached) == 2
        assert cached.float()(x.float()).dtype is torch.float32
    assert not copies(cached)


def test_copies_are_not_saved():
    layer, cached, x = make(torch.bfloat16)
    with torch.no_grad():
        cached(x)
    assert set(cached.state_dict()) == {"weight", "bias"} and repr(cached) == repr(layer)
    for other in (copy.deepcopy(cached), pickle.loads(pickle.dumps(cached))):
        assert not copies(other) and torch.equal(other.weight, cached.weight)
        with torch.no_grad():
            assert torch.equal(other(x), cached(x)) and copies(other) == 2


def test_copies_can_be_removed():
    model = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Sequential(nn.Linear(3, 2))).half()
    x = torch.ones(1, 4, dtype=torch.float16)
    with torch.no_grad():
        assert cache_float32_weights(model) is model
        model(x)
        assert copies(model[0]) == copies(model[2][0]) == 2
        cache_float32_weights(model, enabled=False)
    assert not copies(model[0]) and not copies(model[2][0]) and type(model[0]) is nn.Linear
