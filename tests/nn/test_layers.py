"""Layers, compared with formulas in NumPy."""

import copy
import itertools
import math

import numpy as np
import pytest

import flambeau as torch
from flambeau import nn

rng = np.random.default_rng(0)
CLOSE = {"rtol": 1e-4, "atol": 1e-5}


def floats(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def call(layer, *inputs):
    """Call a layer with NumPy inputs, and return its output as a NumPy array."""
    return layer(*[torch.tensor(value) for value in inputs]).detach().numpy()


def array(tensor):
    return tensor.detach().numpy()


# Linear layers


@pytest.mark.parametrize("leading", [(), (0,), (5,), (2, 0), (2, 3, 4)])
@pytest.mark.parametrize("bias", [True, False])
def test_linear(leading, bias):
    layer, x = nn.Linear(3, 4, bias=bias), floats(*leading, 3)
    expected = x @ array(layer.weight).T + (array(layer.bias) if bias else 0)
    np.testing.assert_allclose(call(layer, x), expected, **CLOSE)


def test_linear_initial_values_lie_in_their_range():
    layer = nn.Linear(100, 50)
    for values in (layer.weight, layer.bias):
        assert 0.08 < float(values.detach().abs().max()) <= 0.1


def test_bilinear():
    layer, a, b = nn.Bilinear(2, 3, 4), floats(5, 2), floats(5, 3)
    expected = np.einsum("ni,oij,nj->no", a, array(layer.weight), b) + array(layer.bias)
    np.testing.assert_allclose(call(layer, a, b), expected, **CLOSE)


def test_device_and_dtype_arguments():
    for layer in (
        nn.Linear(2, 3, device="cpu", dtype=torch.float64),
        nn.Conv1d(1, 2, 3, device="cpu", dtype=torch.float64),
        nn.BatchNorm1d(2, device="cpu", dtype=torch.float64),
        nn.Embedding(2, 3, device="cpu", dtype=torch.float64),
        nn.LSTM(2, 3, device="cpu", dtype=torch.float64),
    ):
        assert all(param.dtype == torch.float64 for param in layer.parameters())


# Convolution


def windows(x, kernel, stride, dilation):
    """Yield each output position and the slice of the input under the kernel."""
    spatial = x.shape[2:]
    counts = [(n - d * (k - 1) - 1) // s + 1 for n, k, s, d in zip(spatial, kernel, stride, dilation, strict=True)]
    for position in itertools.product(*map(range, counts)):
        where = tuple(
            slice(p * s, p * s + d * (k - 1) + 1, d) for p, s, k, d in zip(position, stride, kernel, dilation, strict=True)
        )
        yield position, x[(slice(None), slice(None), *where)]


def reference_conv(x, weight, bias, stride, dilation, groups):
    """Reference convolution of a padded batch, with a loop over windows."""
    dims = x.ndim - 2
    kernel = weight.shape[2:]
    found = dict(windows(x, kernel, (stride,) * dims, (dilation,) * dims))
    out = np.zeros((x.shape[0], weight.shape[0], *(max(p[i] for p in found) + 1 for i in range(dims))), np.float32)
    for position, patch in found.items():
        inputs = np.split(patch, groups, axis=1)
        kernels = np.split(weight, groups, axis=0)
        parts = [np.tensordot(a, k, (range(1, dims + 2), range(1, dims + 2))) for a, k in zip(inputs, kernels, strict=True)]
        out[(slice(None), slice(None), *position)] = np.concatenate(parts, axis=1)
    return out if bias is None else out + bias.reshape(-1, *[1] * dims)


MODES = {"zeros": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("stride", "dilation", "groups", "padding"), [(1, 1, 1, 0), (2, 1, 2, 1), (1, 2, 1, 2)])
def test_convolution(dims, mode, stride, dilation, groups, padding):
    layer = getattr(nn, f"Conv{dims}d")(
        4, 6, 2, stride=stride, dilation=dilation, groups=groups, padding=padding, padding_mode=mode
    )
    x = floats(2, 4, *[5, 6, 4][:dims])
    padded = np.pad(x, [(0, 0), (0, 0)] + [(padding, padding)] * dims, MODES[mode])
    expected = reference_conv(padded, array(layer.weight), array(layer.bias), stride, dilation, groups)
    np.testing.assert_allclose(call(layer, x), expected, **CLOSE)
    np.testing.assert_allclose(call(layer, x[0]), expected[0], **CLOSE)


@pytest.mark.parametrize("kernel", [1, 2, 3, 4])
@pytest.mark.parametrize("dilation", [1, 2])
@pytest.mark.parametrize("mode", MODES)
def test_same_padding_keeps_the_size(kernel, dilation, mode):
    layer = nn.Conv2d(2, 3, kernel, padding="same", dilation=dilation, padding_mode=mode)
    x = floats(1, 2, 9, 8)
    total = dilation * (kernel - 1)
    sides = (total // 2, total - total // 2)
    padded = np.pad(x, [(0, 0), (0, 0), sides, sides], MODES[mode])
    expected = reference_conv(padded, array(layer.weight), array(layer.bias), 1, dilation, 1)
    assert expected.shape[2:] == (9, 8)
    np.testing.assert_allclose(call(layer, x), expected, **CLOSE)


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("settings", [{}, {"stride": 2, "padding": 1, "output_padding": 1}, {"groups": 2, "dilation": 2}])
def test_transposed_convolution_is_the_adjoint(dims, settings):
    """The transposed convolution is the adjoint: <conv(x), y> = <x, conv_transpose(y)>."""
    settings = {"stride": 1, "padding": 0, "groups": 1, "dilation": 1, **settings}
    up = getattr(nn, f"ConvTranspose{dims}d")(4, 2, 3, bias=False, **settings)
    y = floats(1, 4, *[4, 5, 3][:dims])
    transposed = call(up, y)
    settings.pop("output_padding", None)
    down = getattr(nn, f"Conv{dims}d")(2, 4, 3, bias=False, **settings)
    down.weight.data = up.weight.data
    x = floats(*transposed.shape)
    convolved = call(down, x)
    assert convolved.shape == y.shape
    np.testing.assert_allclose((convolved * y).sum(), (x * transposed).sum(), rtol=1e-3)


def test_output_size_of_transposed_convolution():
    layer = nn.ConvTranspose2d(1, 1, 3, stride=2)
    assert call(layer, floats(1, 1, 4, 4)).shape == (1, 1, 9, 9)
    assert layer(torch.ones(1, 1, 4, 4), output_size=(10, 9)).shape == (1, 1, 10, 9)
    assert layer(torch.ones(1, 4, 4), output_size=(1, 10, 10)).shape == (1, 10, 10)
    with pytest.raises(ValueError, match=r"requested an output size of \[11, 9\]"):
        layer(torch.ones(1, 1, 4, 4), output_size=[11, 9])
    with pytest.raises(ValueError, match="output_size must have 2 or 4 elements"):
        layer(torch.ones(1, 1, 4, 4), output_size=(9,))


def test_output_padding_of_transposed_convolution_can_be_computed_and_overridden():
    class Padded(nn.ConvTranspose2d):
        def _output_padding(self, input, output_size, stride, padding, kernel_size, num_spatial_dims, dilation=None):
            assert (stride, padding, kernel_size, num_spatial_dims, dilation) == ((3, 3), (0, 0), (3, 3), 2, (1, 1))
            return [2, 1]

    x, layer = torch.ones(1, 1, 4, 4), Padded(1, 1, 3, stride=3)
    assert layer(x).shape == (1, 1, 14, 13)
    given = (layer.stride, layer.padding, layer.kernel_size)
    assert super(Padded, layer)._output_padding(x, [14, 13], *given, num_spatial_dims=2) == [2, 1]
    assert super(Padded, layer)._output_padding(x, None, *given, num_spatial_dims=2) == (0, 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"groups": 2}, "in_channels must be divisible by groups"),
        ({"groups": 0}, "groups must be a positive integer"),
        ({"padding": "full"}, "Invalid padding string 'full'"),
        ({"padding": "same", "stride": 2}, "padding='same' is not supported for strided convolutions"),
        ({"padding_mode": "mirror"}, "padding_mode must be one of"),
    ],
)
def test_convolution_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        nn.Conv2d(3, 4, 3, **arguments)


# Pooling


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize(("kernel", "stride"), [(2, None), (3, 1), (2, 3)])
def test_pooling(dims, kernel, stride):
    x = np.abs(floats(2, 3, *[6, 5, 4][:dims]))
    step = stride or kernel
    found = dict(windows(x, (kernel,) * dims, (step,) * dims, (1,) * dims))
    for name, reduce in [
        ("MaxPool", lambda patch: patch.max((2, 3, 4)[:dims])),
        ("AvgPool", lambda patch: patch.mean((2, 3, 4)[:dims])),
        ("LPPool", lambda patch: (patch**3).sum((2, 3, 4)[:dims]) ** (1 / 3)),
    ]:
        arguments = (3, kernel) if name == "LPPool" else (kernel,)
        output = call(getattr(nn, f"{name}{dims}d")(*arguments, stride=stride), x)
        for position, patch in found.items():
            np.testing.assert_allclose(output[(slice(None), slice(None), *position)], reduce(patch), **CLOSE)


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_unpooling_inverts_pooling(dims):
    x = floats(2, 3, *[6, 4, 8][:dims])
    pool = getattr(nn, f"MaxPool{dims}d")(2, return_indices=True)
    values, indices = pool(torch.tensor(x))
    restored = getattr(nn, f"MaxUnpool{dims}d")(2)(values, indices)
    assert restored.shape == x.shape
    np.testing.assert_array_equal(pool(restored.abs())[0].numpy(), np.abs(values.numpy()))
    assert int((restored != 0).sum()) == values.numel()


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7])
def test_adaptive_pooling(size):
    x = floats(2, 3, 5)
    pieces = [x[:, :, (i * 5) // size : -(-(i + 1) * 5 // size)] for i in range(size)]
    expected = np.stack([piece.mean(-1) for piece in pieces], -1)
    np.testing.assert_allclose(call(nn.AdaptiveAvgPool1d(size), x), expected, **CLOSE)
    expected = np.stack([piece.max(-1) for piece in pieces], -1)
    np.testing.assert_allclose(call(nn.AdaptiveMaxPool1d(size), x), expected, **CLOSE)


def test_adaptive_pooling_keeps_a_dimension():
    assert call(nn.AdaptiveAvgPool2d((None, 2)), floats(1, 3, 5, 6)).shape == (1, 3, 5, 2)
    assert call(nn.AdaptiveMaxPool3d(2), floats(3, 5, 6, 7)).shape == (3, 2, 2, 2)


def test_fractional_pooling_picks_values_of_the_input():
    x = floats(2, 3, 9, 8)
    output, indices = nn.FractionalMaxPool2d(2, output_size=(5, 4), return_indices=True)(torch.tensor(x))
    assert output.shape == (2, 3, 5, 4)
    np.testing.assert_array_equal(
        np.take_along_axis(x.reshape(2, 3, -1), indices.numpy().reshape(2, 3, -1), -1), output.numpy().reshape(2, 3, -1)
    )
    with pytest.raises(ValueError, match="requires specifying either an output size, or a pooling ratio"):
        nn.FractionalMaxPool2d(2)


# Activations

ERF = np.vectorize(math.erf)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x, axis):
    powers = np.exp(x - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


ACTIVATIONS = {
    "ReLU()": lambda x: np.maximum(x, 0),
    "ReLU6()": lambda x: np.clip(x, 0, 6),
    "Hardtanh(-0.5, 0.7)": lambda x: np.clip(x, -0.5, 0.7),
    "Sigmoid()": sigmoid,
    "LogSigmoid()": lambda x: np.log(sigmoid(x)),
    "Tanh()": np.tanh,
    "Tanhshrink()": lambda x: x - np.tanh(x),
    "Softsign()": lambda x: x / (1 + np.abs(x)),
    "Softplus(2.0)": lambda x: np.log1p(np.exp(2 * x)) / 2,
    "Softshrink(0.3)": lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.3, 0),
    "Hardshrink(0.3)": lambda x: np.where(np.abs(x) > 0.3, x, 0),
    "SiLU()": lambda x: x * sigmoid(x),
    "Mish()": lambda x: x * np.tanh(np.log1p(np.exp(x))),
    "ELU(0.5)": lambda x: np.where(x > 0, x, 0.5 * np.expm1(x)),
    "CELU(0.5)": lambda x: np.maximum(x, 0) + np.minimum(0, 0.5 * np.expm1(x / 0.5)),
    "SELU()": lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)),
    "GELU()": lambda x: x * (1 + ERF(x / math.sqrt(2))) / 2,
    "GELU('tanh')": lambda x: x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2,
    "LeakyReLU(0.2)": lambda x: np.where(x > 0, x, 0.2 * x),
    "Hardsigmoid()": lambda x: np.clip(x + 3, 0, 6) / 6,
    "Hardswish()": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "Threshold(0.2, 9.0)": lambda x: np.where(x > 0.2, x, 9.0),
    "RReLU(0.1, 0.3).eval()": lambda x: np.where(x > 0, x, 0.2 * x),
    "PReLU()": lambda x: np.where(x > 0, x, 0.25 * x),
    "Identity()": lambda x: x,
    "Softmax(1)": lambda x: softmax(x, 1),
    "Softmin(1)": lambda x: softmax(-x, 1),
    "LogSoftmax(1)": lambda x: np.log(softmax(x, 1)),
    "Softmax2d()": lambda x: softmax(x, 1),
    "GLU(1)": lambda x: x[:, :2] * sigmoid(x[:, 2:]),
}


@pytest.mark.parametrize("layer", ACTIVATIONS)
def test_activation(layer):
    x = 2 * floats(2, 4, 3, 5)
    np.testing.assert_allclose(call(eval(f"nn.{layer}"), x), ACTIVATIONS[layer](x), **CLOSE)


@pytest.mark.parametrize("name", ["ReLU", "ReLU6", "SiLU", "Mish", "SELU", "ELU", "CELU", "LeakyReLU", "Hardtanh"])
def test_inplace_activation(name):
    x = torch.tensor(floats(3, 4))
    expected = getattr(nn, name)()(x.clone())
    layer = getattr(nn, name)(inplace=True)
    assert layer(x) is x and torch.equal(x, expected) and "inplace=True" in repr(layer)


def test_random_leaky_relu_draws_its_slopes():
    slopes = -call(nn.RReLU(0.1, 0.3), -np.ones(1000, np.float32))
    assert slopes.min() >= 0.1 - 1e-6 and slopes.max() <= 0.3 + 1e-6 and slopes.std() > 0.01


def test_prelu_per_channel():
    layer = nn.PReLU(3)
    layer.weight.data = torch.tensor([0.1, 0.2, 0.3])
    np.testing.assert_allclose(call(layer, -np.ones((1, 3, 2), np.float32))[0, :, 0], [-0.1, -0.2, -0.3], rtol=1e-6)


@pytest.mark.parametrize("layer", ["ReLU()", "GELU()", "Softmax(0)", "Sigmoid()"])
def test_activation_of_empty_and_scalar(layer):
    assert call(eval(f"nn.{layer}"), floats(0, 3)).shape == (0, 3)
    assert call(eval(f"nn.{layer}"), np.float32(0.5)).shape == ()


# Dropout


@pytest.mark.parametrize(
    ("name", "shape"),
    [("Dropout", (1000,)), ("Dropout1d", (40, 30, 2)), ("Dropout2d", (40, 30, 2, 2)), ("Dropout3d", (40, 30, 2, 2, 2))],
)
def test_dropout(name, shape):
    torch.manual_seed(0)
    layer = getattr(nn, name)(0.4)
    output = call(layer, np.ones(shape))
    output = output.reshape(*shape[:2], -1) if len(shape) > 1 else output
    assert set(np.unique(output).round(4)) == {0.0, round(1 / 0.6, 4)}
    assert abs((output == 0).mean() - 0.4) < 0.05
    if len(shape) > 1:
        assert (output == output[..., :1]).all()
    assert call(layer.eval(), np.ones(shape)).min() == 1


@pytest.mark.parametrize("name", ["AlphaDropout", "FeatureAlphaDropout"])
def test_alpha_dropout_keeps_mean_and_variance(name):
    torch.manual_seed(0)
    output = call(getattr(nn, name)(0.3), floats(2000, 20))
    assert abs(output.mean()) < 0.05 and abs(output.std() - 1) < 0.05


def test_dropout_probability_is_checked():
    with pytest.raises(ValueError, match=r"dropout probability has to be between 0 and 1, but got -0\.1"):
        nn.Dropout(-0.1)


# Shapes


def test_flatten_and_unflatten():
    x = floats(2, 3, 4, 5)
    np.testing.assert_array_equal(call(nn.Flatten(), x), x.reshape(2, -1))
    np.testing.assert_array_equal(call(nn.Flatten(2), x), x.reshape(2, 3, -1))
    np.testing.assert_array_equal(call(nn.Unflatten(3, (5, 1)), x), x[..., None])
    assert call(nn.Flatten(0), np.float32(1)).shape == (1,)
    with pytest.raises(TypeError, match="found element of type str at pos 1"):
        nn.Unflatten(1, (2, "x"))


@pytest.mark.parametrize("size", [2.5, "2", True])
def test_windows_have_whole_sizes(size):
    with pytest.raises(TypeError, match=f"'kernel_size' must be tuple of ints, not {type(size).__name__}"):
        nn.MaxPool2d(size)(torch.ones(1, 2, 4, 4))


PADDERS = {"Zero": "constant", "Reflection": "reflect", "Replication": "edge", "Circular": "wrap"}


@pytest.mark.parametrize("name", PADDERS)
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_padding(name, dims):
    x = floats(2, 3, *[5, 4, 6][:dims])
    sides = [1, 2, 0, 3, 2, 1][: 2 * dims]
    pairs = [(sides[2 * i], sides[2 * i + 1]) for i in reversed(range(dims))]
    layer = getattr(nn, f"{name}Pad{dims}d")(tuple(sides))
    np.testing.assert_array_equal(call(layer, x), np.pad(x, [(0, 0), (0, 0), *pairs], PADDERS[name]))
    layer = getattr(nn, f"{name}Pad{dims}d")(2)
    np.testing.assert_array_equal(call(layer, x[0]), np.pad(x[0], [(0, 0)] + [(2, 2)] * dims, PADDERS[name]))


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_constant_padding(dims):
    x = floats(2, 3, *[5, 4, 6][:dims])
    expected = np.pad(x, [(0, 0), (0, 0)] + [(1, 1)] * dims, constant_values=2.5)
    np.testing.assert_array_equal(call(getattr(nn, f"ConstantPad{dims}d")(1, 2.5), x), expected)


def test_pixel_and_channel_shuffle():
    x = floats(2, 8, 3, 4)
    expected = x.reshape(2, 2, 2, 2, 3, 4).transpose(0, 1, 4, 2, 5, 3).reshape(2, 2, 6, 8)
    shuffled = call(nn.PixelShuffle(2), x)
    np.testing.assert_array_equal(shuffled, expected)
    np.testing.assert_array_equal(call(nn.PixelUnshuffle(2), shuffled), x)
    expected = x.reshape(2, 4, 2, 3, 4).transpose(0, 2, 1, 3, 4).reshape(x.shape)
    np.testing.assert_array_equal(call(nn.ChannelShuffle(4), x), expected)


def test_unfold_and_fold():
    x = floats(2, 3, 5, 6)
    columns = call(nn.Unfold(2, stride=1), x)
    found = dict(windows(x, (2, 2), (1, 1), (1, 1)))
    expected = np.stack([patch.reshape(2, -1) for patch in found.values()], -1)
    np.testing.assert_array_equal(columns, expected)
    counts = call(nn.Fold((5, 6), 2), call(nn.Unfold(2), np.ones_like(x)))
    np.testing.assert_allclose(call(nn.Fold((5, 6), 2), columns), x * counts, **CLOSE)


def test_upsampling():
    x = floats(1, 2, 3, 4)
    np.testing.assert_array_equal(call(nn.Upsample(scale_factor=2), x), x.repeat(2, 2).repeat(2, 3))
    np.testing.assert_array_equal(call(nn.UpsamplingNearest2d(scale_factor=3), x), x.repeat(3, 2).repeat(3, 3))
    output = call(nn.UpsamplingBilinear2d(size=(5, 7)), x)
    np.testing.assert_allclose(output[:, :, ::2, ::2], x, **CLOSE)
    np.testing.assert_allclose(output[:, :, ::2, 1::2], (x[..., :-1] + x[..., 1:]) / 2, **CLOSE)


# Normalization


def normalized(x, axes, eps=1e-5):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_batch_norm(dims):
    x = 3 * floats(4, 2, *[5, 3, 2][:dims]) + 1
    axes = (0, *range(2, dims + 2))
    layer = getattr(nn, f"BatchNorm{dims}d")(2, momentum=0.3)
    layer.weight.data, layer.bias.data = torch.tensor([2.0, 3.0]), torch.tensor([0.5, -0.5])
    scale, shift = (np.array(values, np.float32).reshape(1, 2, *[1] * dims) for values in ([2, 3], [0.5, -0.5]))
    np.testing.assert_allclose(call(layer, x), normalized(x, axes) * scale + shift, rtol=1e-3, atol=1e-4)
    mean, var = 0.3 * x.mean(axes), 0.7 + 0.3 * x.var(axes, ddof=1)
    np.testing.assert_allclose(array(layer.running_mean), mean, **CLOSE)
    np.testing.assert_allclose(array(layer.running_var), var, rtol=1e-4)
    assert int(layer.num_batches_tracked) == 1
    mean, var = mean.reshape(scale.shape), var.reshape(scale.shape)
    expected = (x - mean) / np.sqrt(var + 1e-5) * scale + shift
    np.testing.assert_allclose(call(layer.eval(), x), expected, rtol=1e-3, atol=1e-4)


def test_batch_norm_with_a_cumulative_mean():
    layer, batches = nn.BatchNorm1d(3, momentum=None), floats(4, 10, 3)
    for batch in batches:
        call(layer, batch)
    np.testing.assert_allclose(array(layer.running_mean), batches.mean((0, 1)), **CLOSE)
    layer.reset_running_stats()
    assert int(layer.num_batches_tracked) == 0 and array(layer.running_mean).tolist() == [0, 0, 0]


def test_batch_norm_without_statistics():
    layer, x = nn.BatchNorm1d(3, affine=False, track_running_stats=False).eval(), floats(10, 3)
    np.testing.assert_allclose(call(layer, x), normalized(x, 0), rtol=1e-3, atol=1e-4)
    assert layer.state_dict() == {}


def test_old_batch_norm_checkpoints_load():
    layer = nn.BatchNorm1d(2)
    state = {name: value for name, value in layer.state_dict().items() if name != "num_batches_tracked"}
    layer.load_state_dict(state)


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_instance_norm(dims):
    x = floats(4, 2, *[5, 3, 2][:dims])
    axes = tuple(range(2, dims + 2))
    layer = getattr(nn, f"InstanceNorm{dims}d")(2)
    np.testing.assert_allclose(call(layer, x), normalized(x, axes), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(call(layer.eval(), x[0]), normalized(x, axes)[0], rtol=1e-3, atol=1e-4)


def test_layer_group_and_rms_norm():
    x = floats(3, 4, 5, 6)
    np.testing.assert_allclose(call(nn.LayerNorm(6), x), normalized(x, -1), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(call(nn.LayerNorm([5, 6]), x), normalized(x, (2, 3)), rtol=1e-3, atol=1e-4)
    grouped = normalized(x.reshape(3, 2, -1), -1).reshape(x.shape)
    np.testing.assert_allclose(call(nn.GroupNorm(2, 4), x), grouped, rtol=1e-3, atol=1e-4)
    root = np.sqrt((x**2).mean(-1, keepdims=True) + 1e-3)
    np.testing.assert_allclose(call(nn.RMSNorm(6, eps=1e-3), x), x / root, rtol=1e-4)
    assert nn.LayerNorm(3, bias=False).bias is None and nn.GroupNorm(1, 2, affine=False).weight is None


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_response_norms(size):
    x = floats(2, 7, 3, 4)
    squares = np.pad(x**2, [(0, 0), (size // 2, (size - 1) // 2), (0, 0), (0, 0)])
    means = np.stack([squares[:, c : c + size].mean(1) for c in range(7)], 1)
    np.testing.assert_allclose(call(nn.LocalResponseNorm(size, 0.5), x), x / (1 + 0.5 * means) ** 0.75, **CLOSE)
    reach = (size - 1) // 2
    sums = np.stack([(x[:, max(c - reach, 0) : c + reach + 1] ** 2).sum(1) for c in range(7)], 1)
    sums[:, reach + 1 :] += x[:, :1] ** 2  # channel 0 stays in the window, a quirk of `CrossMapLRN2d`
    expected = x / (1 + 0.5 / size * sums) ** 0.75
    np.testing.assert_allclose(call(nn.CrossMapLRN2d(size, 0.5), x), expected, **CLOSE)


@pytest.mark.parametrize(("size", "first", "last"), [(1, 0, 0), (2, -1, 0), (3, -2, 0), (4, -2, 1), (5, -3, 1)])
def test_gradient_of_cross_map_response_norm_sums_over_channels_as_pytorch_does(size, first, last):
    x, slopes = floats(2, 7, 3, 4), floats(2, 7, 3, 4)
    given = torch.tensor(x, requires_grad=True)
    result = nn.CrossMapLRN2d(size, 0.5, 0.6)(given)
    (made,) = torch.autograd.grad(result, given, torch.tensor(slopes))
    root = result.detach().numpy() / x
    ratios = slopes * result.detach().numpy() * root ** (1 / 0.6)
    sums = np.stack([ratios[:, max(c + first, 0) : max(c + last + 1, 0)].sum(1) for c in range(7)], 1)
    np.testing.assert_allclose(made.numpy(), slopes * root - 2 * 0.5 * 0.6 / size * x * sums, rtol=1e-4, atol=1e-5)
    assert result.grad_fn.name() == "CrossMapLRN2dBackward"


@pytest.mark.parametrize(
    ("layer", "shape", "message"),
    [
        ("BatchNorm1d(3)", (2, 3, 4, 5), r"expected 2D or 3D input \(got 4D input\)"),
        ("BatchNorm2d(3)", (2, 3), r"expected 4D input \(got 2D input\)"),
        ("InstanceNorm2d(3)", (3, 4), r"expected 3D or 4D input \(got 2D input\)"),
        ("InstanceNorm1d(3, affine=True)", (2, 4, 5), r"expected input's size at dim=1 to match num_features \(3\)"),
        ("CrossMapLRN2d(3)", (2, 4, 5), "Expected input to be 4D, got 3D instead"),
        ("CircularPad2d(1)", (2, 4), r"expected 3D or 4D input \(got 2D input\)"),
        ("Softmax2d()", (2, 4), "expected input to be 3D or 4D, got 2D instead"),
    ],
)
def test_input_dimensions_are_checked(layer, shape, message):
    with pytest.raises(ValueError, match=message):
        call(eval(f"nn.{layer}"), floats(*shape))


def test_sync_batch_norm_alone_is_batch_norm():
    x = floats(4, 3, 5)
    net = nn.Sequential(nn.BatchNorm1d(3), nn.ReLU())
    net(torch.tensor(x))
    converted = nn.SyncBatchNorm.convert_sync_batchnorm(net)
    assert type(converted[0]).__name__ == "SyncBatchNorm"
    np.testing.assert_array_equal(call(converted.eval(), x), call(net.eval(), x))


def test_sync_batch_norm_of_two_processes(monkeypatch):
    """With two (simulated) processes and the same batch, the statistics are those of the batch repeated twice."""
    for name, function in {
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "get_world_size": lambda group=None: 2,
        "all_reduce": lambda tensor, group=None: tensor.mul_(2),
    }.items():
        monkeypatch.setattr(torch.distributed, name, function)
    x, weight = floats(4, 3, 5), floats(4, 3, 5)
    here = torch.tensor(x, requires_grad=True)
    both = torch.tensor(np.concatenate([x, x]), requires_grad=True)
    sync, plain = nn.SyncBatchNorm(3), nn.BatchNorm1d(3)
    output, expected = sync(here), plain(both)
    (output * torch.tensor(weight)).sum().backward()
    (expected * torch.tensor(np.concatenate([weight, weight]))).sum().backward()
    np.testing.assert_allclose(array(output), array(expected)[:4], **CLOSE)
    np.testing.assert_allclose(array(here.grad), array(both.grad)[:4], **CLOSE)
    np.testing.assert_allclose(2 * array(sync.weight.grad), array(plain.weight.grad), **CLOSE)
    np.testing.assert_allclose(array(sync.running_var), array(plain.running_var), **CLOSE)


# Embeddings


def test_embedding():
    layer, indices = nn.Embedding(10, 3, padding_idx=-2), np.array([[1, 8], [3, 3]])
    weight = array(layer.weight)
    assert not weight[8].any() and layer.padding_idx == 8
    np.testing.assert_array_equal(call(layer, indices), weight[indices])
    layer(torch.tensor(indices)).sum().backward()
    counts = np.bincount(indices.ravel(), minlength=10)
    counts[8] = 0
    np.testing.assert_array_equal(array(layer.weight.grad), np.repeat(counts[:, None], 3, 1))
    assert call(layer, np.zeros((0, 2), np.int64)).shape == (0, 2, 3)


def test_embedding_options():
    layer = nn.Embedding(5, 4, max_norm=1.0)
    rows = call(layer, np.arange(5))
    assert np.linalg.norm(rows, axis=1).max() <= 1.0 + 1e-5
    layer = nn.Embedding(5, 2, scale_grad_by_freq=True)
    layer(torch.tensor([1, 1, 1, 2])).sum().backward()
    np.testing.assert_allclose(array(layer.weight.grad)[:, 0], [0, 1, 1, 0, 0])
    frozen = nn.Embedding.from_pretrained(torch.ones(2, 3))
    assert not frozen.weight.requires_grad and frozen.num_embeddings == 2


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_embedding_bag(mode):
    layer = nn.EmbeddingBag(10, 3, mode=mode)
    weight, reduce = array(layer.weight), {"sum": np.sum, "mean": np.mean, "max": np.max}[mode]
    indices, offsets = np.array([1, 2, 4, 5, 4, 3]), np.array([0, 2])
    expected = np.stack([reduce(weight[indices[:2]], 0), reduce(weight[indices[2:]], 0)])
    np.testing.assert_allclose(call(layer, indices, offsets), expected, **CLOSE)
    np.testing.assert_allclose(call(layer, indices.reshape(2, 3)), reduce(weight[indices.reshape(2, 3)], 1), **CLOSE)


def test_embedding_bag_options():
    layer = nn.EmbeddingBag(10, 3, mode="sum", padding_idx=1)
    weight, indices = array(layer.weight), torch.tensor([[1, 2], [3, 4]])
    weights = floats(2, 2)
    output = layer(indices, per_sample_weights=torch.tensor(weights)).detach().numpy()
    kept = np.where(indices.numpy() == 1, 0, weights)
    np.testing.assert_allclose(output, (weight[indices.numpy()] * kept[..., None]).sum(1), **CLOSE)
    assert repr(layer) == "EmbeddingBag(10, 3, mode='sum', padding_idx=1)"


def test_adaptive_softmax_is_a_distribution():
    layer, x = nn.AdaptiveLogSoftmaxWithLoss(8, 30, [5, 12], head_bias=True), floats(6, 8)
    log_prob = layer.log_prob(torch.tensor(x)).detach().numpy()
    np.testing.assert_allclose(np.exp(log_prob).sum(1), np.ones(6), rtol=1e-5)
    target = np.array([0, 4, 5, 11, 12, 29])
    output, loss = layer(torch.tensor(x), torch.tensor(target))
    np.testing.assert_allclose(array(output), log_prob[np.arange(6), target], **CLOSE)
    np.testing.assert_allclose(float(loss.detach()), -array(output).mean(), rtol=1e-5)
    np.testing.assert_array_equal(layer.predict(torch.tensor(x)).numpy(), log_prob.argmax(1))
    single = layer(torch.tensor(x[2]), torch.tensor(5)).output
    np.testing.assert_allclose(float(single.detach()), log_prob[2, 5], rtol=1e-4)
    with pytest.raises(RuntimeError, match=r"Target values should be in \[0, 29\]"):
        layer(torch.tensor(x), torch.tensor(target + 1))


# Losses

INPUT, TARGET = floats(4, 5), floats(4, 5)
PROBABILITY, CHANCE = sigmoid(floats(4, 5)), sigmoid(floats(4, 5))
SIGN = np.array([1.0, -1.0, 1.0, 1.0], np.float32)
CLASS = np.array([1, 0, 4, 2])
DIFFERENCE = INPUT - TARGET
LOG_SOFTMAX = np.log(softmax(INPUT, 1))
ROWS = np.arange(4)

LOSSES = {
    "MSELoss": ((INPUT, TARGET), DIFFERENCE**2),
    "L1Loss": ((INPUT, TARGET), np.abs(DIFFERENCE)),
    "SmoothL1Loss": (
        (INPUT, TARGET),
        np.where(np.abs(DIFFERENCE) < 1, 0.5 * DIFFERENCE**2, np.abs(DIFFERENCE) - 0.5),
    ),
    "HuberLoss": ((INPUT, TARGET), np.where(np.abs(DIFFERENCE) < 1, 0.5 * DIFFERENCE**2, np.abs(DIFFERENCE) - 0.5)),
    "BCELoss": ((PROBABILITY, CHANCE), -(CHANCE * np.log(PROBABILITY) + (1 - CHANCE) * np.log(1 - PROBABILITY))),
    "BCEWithLogitsLoss": (
        (INPUT, CHANCE),
        -(CHANCE * np.log(sigmoid(INPUT)) + (1 - CHANCE) * np.log(1 - sigmoid(INPUT))),
    ),
    "KLDivLoss": ((LOG_SOFTMAX, CHANCE), CHANCE * (np.log(CHANCE) - LOG_SOFTMAX)),
    "PoissonNLLLoss": ((INPUT, CHANCE), np.exp(INPUT) - CHANCE * INPUT),
    "GaussianNLLLoss": (
        (INPUT, TARGET, PROBABILITY),
        0.5 * (np.log(PROBABILITY) + DIFFERENCE**2 / PROBABILITY),
    ),
    "SoftMarginLoss": ((INPUT[:, 0], SIGN), np.log1p(np.exp(-SIGN * INPUT[:, 0]))),
    "HingeEmbeddingLoss": ((INPUT[:, 0], SIGN), np.where(SIGN == 1, INPUT[:, 0], np.maximum(0, 1 - INPUT[:, 0]))),
    "MarginRankingLoss": ((INPUT[:, 0], INPUT[:, 1], SIGN), np.maximum(0, -SIGN * (INPUT[:, 0] - INPUT[:, 1]))),
    "NLLLoss": ((LOG_SOFTMAX, CLASS), -LOG_SOFTMAX[ROWS, CLASS]),
    "CrossEntropyLoss": ((INPUT, CLASS), -LOG_SOFTMAX[ROWS, CLASS]),
    "MultiMarginLoss": (
        (INPUT, CLASS),
        (np.maximum(0, 1 - INPUT[ROWS, CLASS][:, None] + INPUT).sum(1) - 1) / 5,
    ),
    "MultiLabelSoftMarginLoss": (
        (INPUT, CHANCE),
        -(CHANCE * np.log(sigmoid(INPUT)) + (1 - CHANCE) * np.log(1 - sigmoid(INPUT))).mean(1),
    ),
    "CosineEmbeddingLoss": (
        (INPUT, TARGET, SIGN),
        np.where(
            SIGN == 1,
            1 - (INPUT * TARGET).sum(1) / np.linalg.norm(INPUT, axis=1) / np.linalg.norm(TARGET, axis=1),
            np.maximum(0, (INPUT * TARGET).sum(1) / np.linalg.norm(INPUT, axis=1) / np.linalg.norm(TARGET, axis=1)),
        ),
    ),
    "TripletMarginLoss": (
        (INPUT, TARGET, PROBABILITY),
        np.maximum(0, 1 + np.linalg.norm(DIFFERENCE + 1e-6, axis=1) - np.linalg.norm(INPUT - PROBABILITY + 1e-6, axis=1)),
    ),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", LOSSES)
def test_loss(name):
    inputs, expected = LOSSES[name]
    loss = getattr(nn, name)
    np.testing.assert_allclose(call(loss(reduction="none"), *inputs), expected, **CLOSE)
    np.testing.assert_allclose(call(loss(reduction="sum"), *inputs), expected.sum(), rtol=1e-4)
    np.testing.assert_allclose(call(loss(), *inputs), expected.mean(), rtol=1e-4)


@pytest.mark.parametrize(
    ("flags", "reduction"),
    [((False, None), "sum"), ((True, None), "mean"), ((None, False), "none"), ((False, False), "none")],
)
def test_old_reduction_flags(flags, reduction):
    with pytest.warns(UserWarning, match=f"please use reduction='{reduction}' instead"):
        assert nn.MSELoss(*flags).reduction == reduction


def test_weights_and_ignored_classes():
    weight = np.array([1, 2, 3, 4, 5], np.float32)
    expected = -LOG_SOFTMAX[ROWS, CLASS] * weight[CLASS]
    loss = nn.CrossEntropyLoss(torch.tensor(weight))
    np.testing.assert_allclose(call(loss, INPUT, CLASS), expected.sum() / weight[CLASS].sum(), rtol=1e-4)
    kept = CLASS != 4
    loss = nn.CrossEntropyLoss(ignore_index=4)
    np.testing.assert_allclose(call(loss, INPUT, CLASS), -LOG_SOFTMAX[ROWS, CLASS][kept].mean(), rtol=1e-4)
    assert list(nn.NLLLoss(torch.tensor(weight)).state_dict()) == ["weight"]


def test_label_smoothing_and_probability_targets():
    smooth = np.full((4, 5), 0.1 / 5, np.float32)
    smooth[ROWS, CLASS] += 0.9
    expected = -(smooth * LOG_SOFTMAX).sum(1).mean()
    np.testing.assert_allclose(call(nn.CrossEntropyLoss(label_smoothing=0.1), INPUT, CLASS), expected, rtol=1e-4)
    np.testing.assert_allclose(call(nn.CrossEntropyLoss(), INPUT, smooth), expected, rtol=1e-4)


def test_ctc_loss_sums_all_alignments():
    length, classes, target = 4, 3, [1, 2]
    log_probs = np.log(softmax(floats(length, 1, classes), 2))
    total = 0.0
    for path in itertools.product(range(classes), repeat=length):
        collapsed = [label for label, _ in itertools.groupby(path) if label != 0]
        if collapsed == target:
            total += math.exp(sum(log_probs[step, 0, label] for step, label in enumerate(path)))
    loss = nn.CTCLoss(reduction="sum")(torch.tensor(log_probs), torch.tensor([target]), torch.tensor([length]), torch.tensor([2]))
    np.testing.assert_allclose(float(loss), -math.log(total), rtol=1e-4)


def test_linear_cross_entropy():
    layer, x = nn.LinearCrossEntropyLoss(6, 5, bias=True), floats(4, 6)
    logits = x @ array(layer.linear.weight).T + array(layer.linear.bias)
    expected = -np.log(softmax(logits, 1))[ROWS, CLASS].mean()
    np.testing.assert_allclose(call(layer, x, CLASS), expected, rtol=1e-4)
    with pytest.raises(ValueError, match="invalid acc_policy: 'fast'"):
        nn.LinearCrossEntropyOptions(acc_policy="fast")


def test_distances():
    np.testing.assert_allclose(
        call(nn.PairwiseDistance(3), INPUT, TARGET), (np.abs(DIFFERENCE + 1e-6) ** 3).sum(1) ** (1 / 3), **CLOSE
    )
    expected = (INPUT * TARGET).sum(0) / np.linalg.norm(INPUT, axis=0) / np.linalg.norm(TARGET, axis=0)
    np.testing.assert_allclose(call(nn.CosineSimilarity(0), INPUT, TARGET), expected, **CLOSE)
    assert call(nn.PairwiseDistance(keepdim=True), INPUT, TARGET).shape == (4, 1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: nn.MultiMarginLoss(p=3), "only p == 1 and p == 2 supported"),
        (lambda: nn.TripletMarginLoss(margin=0), "expected margin to be greater than 0, got 0 instead"),
        (lambda: nn.GroupNorm(2, 3), r"num_channels \(3\) must be divisible by num_groups \(2\)"),
        (lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 5, [3, 3]), "unique, positive integers sorted"),
    ],
)
def test_settings_are_checked(make, message):
    with pytest.raises(ValueError, match=message):
        make()


# Lazy layers

LAZY = [
    ("LazyLinear", (5,), (2, 3), "Linear(in_features=3, out_features=5, bias=True)"),
    ("LazyConv1d", (5, 2), (2, 3, 4), "Conv1d(3, 5, kernel_size=(2,), stride=(1,))"),
    ("LazyConv2d", (5, 2), (3, 4, 4), "Conv2d(3, 5, kernel_size=(2, 2), stride=(1, 1))"),
    ("LazyConv3d", (5, 2), (2, 3, 4, 4, 4), "Conv3d(3, 5, kernel_size=(2, 2, 2), stride=(1, 1, 1))"),
    ("LazyConvTranspose2d", (5, 2), (2, 3, 4, 4), "ConvTranspose2d(3, 5, kernel_size=(2, 2), stride=(1, 1))"),
    (
        "LazyBatchNorm1d",
        (),
        (2, 3, 4),
        "BatchNorm1d(3, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)",
    ),
    (
        "LazyInstanceNorm2d",
        (),
        (2, 3, 4, 4),
        "InstanceNorm2d(3, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)",
    ),
]


@pytest.mark.parametrize(("name", "args", "shape", "printed"), LAZY)
def test_lazy_layers_take_their_shape_from_the_input(name, args, shape, printed):
    layer = getattr(nn, name)(*args)
    assert layer.has_uninitialized_params() and "Uninitialized" in repr(layer.weight)
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized parameter"):
        layer.weight.shape
    first = call(layer, floats(*shape))
    assert repr(layer) == printed and type(layer).__name__ == name.removeprefix("Lazy")
    assert type(layer.weight) is nn.Parameter and first.size
    again = getattr(nn, name)(*args)
    again.load_state_dict(layer.state_dict())
    x = floats(*shape)
    np.testing.assert_allclose(call(again.eval(), x), call(layer.eval(), x), **CLOSE)


def test_copies_of_lazy_layers_are_independent():
    layer = nn.LazyLinear(2)
    twin = copy.deepcopy(layer)
    assert call(twin, floats(4, 3)).shape == (4, 2) and type(twin) is nn.Linear
    assert layer.has_uninitialized_params() and call(layer, floats(4, 5)).shape == (4, 2)
    assert layer.in_features == 5 and twin.in_features == 3 and not (twin._forward_pre_hooks or twin._load_state_dict_pre_hooks)
