"""`nn.init`: bounds, moments and exact values."""

import math

import numpy as np
import pytest

import flambeau as torch
from flambeau.nn import init


def filled(name, shape, *args, **kwargs):
    torch.manual_seed(0)
    tensor = torch.empty(shape)
    assert getattr(init, name)(tensor, *args, **kwargs) is tensor
    return tensor.numpy()


SHAPE = (200, 50, 3)
FAN_IN, FAN_OUT = 150, 600


@pytest.mark.parametrize(
    ("name", "args", "bound"),
    [
        ("uniform_", (-2.0, 2.0), 2.0),
        ("xavier_uniform_", (1.5,), 1.5 * math.sqrt(6 / (FAN_IN + FAN_OUT))),
        ("kaiming_uniform_", (0.5,), math.sqrt(6 / 1.25 / FAN_IN)),
        ("kaiming_uniform_", (0, "fan_out", "tanh"), 5 / 3 * math.sqrt(3 / FAN_OUT)),
    ],
)
def test_uniform(name, args, bound):
    values = filled(name, SHAPE, *args)
    assert abs(values).max() <= bound and abs(values).max() > 0.99 * bound
    assert abs(values.mean()) < 0.02 * bound and abs(values.std() - bound / math.sqrt(3)) < 0.01 * bound


@pytest.mark.parametrize(
    ("name", "args", "mean", "std"),
    [
        ("normal_", (1.0, 2.0), 1.0, 2.0),
        ("xavier_normal_", (1.5,), 0.0, 1.5 * math.sqrt(2 / (FAN_IN + FAN_OUT))),
        ("kaiming_normal_", (0, "fan_in", "relu"), 0.0, math.sqrt(2 / FAN_IN)),
        ("kaiming_normal_", (0.1, "fan_out"), 0.0, math.sqrt(2 / 1.01 / FAN_OUT)),
    ],
)
def test_normal(name, args, mean, std):
    values = filled(name, SHAPE, *args)
    assert abs(values.mean() - mean) < 0.03 * std and abs(values.std() - std) < 0.02 * std
    assert (abs(values - mean) > 2 * std).any()


@pytest.mark.parametrize(("low", "high"), [(-2.0, 2.0), (-0.5, 1.0), (1.5, 3.0), (-4.0, -2.5)])
def test_truncated_normal(low, high):
    values = filled("trunc_normal_", (20000,), a=low, b=high)
    assert values.min() >= low and values.max() <= high
    grid = np.linspace(low, high, 2001)
    density = np.exp(-(grid**2) / 2)
    expected = (grid * density).sum() / density.sum()
    assert abs(values.mean() - expected) < 0.02


def test_truncated_normal_warns_far_from_the_mean():
    with pytest.warns(UserWarning, match="mean is more than 2 std from"):
        filled("trunc_normal_", (10,), mean=10.0)


def test_constants():
    assert (filled("constant_", (2, 3), 0.5) == 0.5).all()
    assert (filled("ones_", (2, 0)) == 1).all() and (filled("zeros_", ()) == 0).all()
    np.testing.assert_array_equal(filled("eye_", (3, 5)), np.eye(3, 5))


@pytest.mark.parametrize("shape", [(4, 2, 3), (2, 4, 3, 5), (2, 2, 3, 3, 3)])
@pytest.mark.parametrize("groups", [1, 2])
def test_dirac_is_the_identity_of_convolution(shape, groups):
    dims = len(shape) - 2
    weight = torch.tensor(filled("dirac_", shape, groups))
    conv = getattr(torch.nn.functional, f"conv{dims}d")
    x = torch.randn(1, shape[1] * groups, *[5] * dims)
    output = conv(x, weight, padding=[size // 2 for size in shape[2:]], groups=groups)
    for channel in range(min(shape[0] // groups, shape[1])):
        torch.testing.assert_close(output[:, channel], x[:, channel])


@pytest.mark.parametrize("shape", [(4, 4), (3, 7), (7, 3), (4, 2, 3)])
def test_orthogonal(shape):
    values = filled("orthogonal_", shape, 2.0).reshape(shape[0], -1)
    product = values @ values.T if values.shape[0] <= values.shape[1] else values.T @ values
    np.testing.assert_allclose(product, 4 * np.eye(len(product)), atol=1e-5)


def test_sparse():
    values = filled("sparse_", (10, 6), 0.25)
    np.testing.assert_array_equal((values == 0).sum(0), [3] * 6)


@pytest.mark.parametrize(
    ("nonlinearity", "param", "gain"),
    [
        ("linear", None, 1),
        ("conv_transpose2d", None, 1),
        ("sigmoid", None, 1),
        ("tanh", None, 5 / 3),
        ("relu", None, math.sqrt(2)),
        ("leaky_relu", None, math.sqrt(2 / 1.0001)),
        ("leaky_relu", 2, math.sqrt(0.4)),
        ("selu", None, 0.75),
    ],
)
def test_gain(nonlinearity, param, gain):
    assert init.calculate_gain(nonlinearity, param) == pytest.approx(gain)


@pytest.mark.parametrize(
    ("name", "shape", "args", "message"),
    [
        ("xavier_normal_", (3,), (), "Fan in and fan out can not be computed"),
        ("kaiming_normal_", (3, 3), (0, "fan_up"), "Mode fan_up not supported"),
        ("kaiming_normal_", (3, 3), (True,), "negative_slope True not a valid number"),
        ("kaiming_normal_", (3, 3), (0, "fan_in", "sin"), "Unsupported nonlinearity sin"),
        ("eye_", (3,), (), "Only tensors with 2 dimensions are supported"),
        ("sparse_", (3, 3, 3), (0.1,), "Only tensors with 2 dimensions are supported"),
        ("dirac_", (3, 3), (), "Only tensors with 3, 4, or 5 dimensions are supported"),
        ("dirac_", (3, 3, 3), (2,), "dim 0 must be divisible by groups"),
        ("orthogonal_", (3,), (), "Only tensors with 2 or more dimensions are supported"),
    ],
)
def test_errors(name, shape, args, message):
    with pytest.raises(ValueError, match=message):
        filled(name, shape, *args)


def test_generators_and_gradients():
    weight = torch.nn.Parameter(torch.empty(3, 3))
    draws = [init.normal_(weight, generator=torch.Generator().manual_seed(1)).tolist() for _ in range(2)]
    assert draws[0] == draws[1] and weight.is_leaf and weight.requires_grad and weight.grad_fn is None


def test_empty_tensors_are_left_alone():
    with pytest.warns(UserWarning, match="Initializing zero-element tensors is a no-op"):
        assert filled("kaiming_uniform_", (0, 3)).shape == (0, 3)
    assert filled("orthogonal_", (0, 3)).shape == (0, 3)


@pytest.mark.parametrize("name", ["uniform", "normal", "eye", "xavier_uniform", "kaiming_normal", "orthogonal"])
def test_old_names(name):
    with pytest.warns(FutureWarning, match=f"`nn.init.{name}` is now deprecated in favor of `nn.init.{name}_`"):
        values = filled(name, (3, 4))
    np.testing.assert_array_equal(values, filled(f"{name}_", (3, 4)))
