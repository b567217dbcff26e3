"""Half precision: exact conversions, and operations that round only their final result."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau as torch
import flambeau.nn.functional as F

DIGITS = {torch.float16: (10, 5), torch.bfloat16: (7, 8)}  # (fraction bits, exponent bits)
MANY = 70001  # more elements than the conversion processes in one block
dtypes = pytest.mark.parametrize("dtype", DIGITS)


def finite(dtype):
    """Return all finite non-negative numbers of the dtype in ascending order, as float64."""
    digits, exponents = DIGITS[dtype]
    count = (2**exponents - 1) << digits
    exponent, fraction = np.divmod(np.arange(count), 1 << digits)
    leading = (exponent > 0) << digits
    return np.ldexp((fraction + leading).astype(float), np.maximum(exponent, 1) - 2 ** (exponents - 1) + 2 - 1 - digits)


def of_bits(bits, dtype):
    return torch.from_numpy(np.asarray(bits).astype(np.uint16).view(np.int16)).view(dtype)


def bits_of(tensor):
    return tensor.contiguous().view(torch.int16).numpy().view(np.uint16)


@dtypes
def test_every_number_as_float32(dtype):
    numbers, sign = finite(dtype), np.uint16(1 << 15)
    bits = np.arange(len(numbers)).astype(np.uint16)
    for each, wanted in ((bits, numbers), (bits | sign, -numbers)):
        for count in (len(bits), 300):
            got = of_bits(each[:count], dtype).float().numpy()
            assert (got == wanted[:count]).all() and (np.signbit(got) == np.signbit(wanted[:count])).all()
    infinities = of_bits(np.tile([len(bits), len(bits) | sign], 3000), dtype).float().numpy()
    assert (infinities == np.tile([np.inf, -np.inf], 3000)).all()
    assert of_bits(np.tile([len(bits) + 1, 0xFFFF], 3000), dtype).isnan().all()
    assert of_bits(np.tile([len(bits) + 1, 0xFFFF], 3000), dtype).float().isnan().all()


@dtypes
def test_float32_is_rounded_to_the_nearest_number_or_the_even_one(dtype):
    numbers = finite(dtype)
    ties = ((numbers[1:] + numbers[:-1]) / 2).astype(np.float32)
    lower = np.arange(len(ties))
    for values, wanted in (
        (numbers.astype(np.float32), np.arange(len(numbers))),
        (ties, lower + lower % 2),
        (np.nextafter(ties, np.float32(0)), lower),
        (np.nextafter(ties, np.float32(np.inf)), lower + 1),
    ):
        assert (bits_of(torch.from_numpy(values).to(dtype)) == wanted).all()
        assert (bits_of(torch.from_numpy(-values).to(dtype)) == wanted + (1 << 15)).all()


@dtypes
def test_what_is_too_large_or_no_number(dtype):
    infinity = len(finite(dtype))
    last = finite(dtype)[-1]
    edge = np.float32(last + (last - finite(dtype)[-2]) / 2)
    values = np.tile(np.array([edge, -edge, np.nextafter(edge, np.float32(0)), np.inf, -np.inf, 3.4e38], np.float32), 2000)
    sign = 1 << 15
    wanted = np.tile([infinity, infinity + sign, infinity - 1, infinity, infinity + sign, infinity], 2000)
    assert (bits_of(torch.from_numpy(values).to(dtype)) == wanted).all()
    values[5::7] = np.nan
    assert (bits_of(torch.from_numpy(values).to(dtype))[~np.isnan(values)] == wanted[~np.isnan(values)]).all()
    assert (torch.from_numpy(values).to(dtype).isnan().numpy() == np.isnan(values)).all()


LAYOUTS = {
    "empty": lambda x: x[:0], "a number": lambda x: x[5], "few": lambda x: x[:7], "many": lambda x: x[:MANY],
    "every third": lambda x: x[::3], "by columns": lambda x: x[: 200 * 300].view(200, 300).t(), "expanded": lambda x: x[:5000].expand(3, 5000),
    "channels last": lambda x: x[: 4 * 30 * 20 * 30].view(4, 30, 20, 30).permute(0, 3, 1, 2),
    "parts of rows": lambda x: x[: 300 * 200].view(300, 200)[:, 3:150],
}  # fmt: skip
layouts = pytest.mark.parametrize("layout", LAYOUTS)


def values(seed=0):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(3 * MANY).astype(np.float32))


@layouts
@dtypes
def test_layouts(layout, dtype):
    x = LAYOUTS[layout](values())
    half = x.to(dtype)
    assert half.dtype is dtype and half.shape == x.shape and half.stride() == x.double().stride()
    assert torch.equal(half.contiguous(), x.contiguous().to(dtype))
    back = LAYOUTS[layout](values().to(dtype)).float()
    assert torch.equal(back, half.float()) and back.stride() == half.stride()


def rounded_once(function, *halves):
    return function(*(x.float() for x in halves)).to(halves[0].dtype)


UNARY = [
    "ceil",
    "cos",
    "exp",
    "expm1",
    "floor",
    "log1p",
    "reciprocal",
    "relu",
    "round",
    "sigmoid",
    "sin",
    "sqrt",
    "square",
    "tanh",
    "trunc",
]
BINARY = ["add", "div", "fmax", "maximum", "minimum", "mul", "sub"]
COMPARISONS = ["eq", "ge", "gt", "le", "lt", "ne"]


@dtypes
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_every_number(name, dtype):
    x = of_bits(np.arange(1 << 16), dtype)
    function = getattr(torch, name)
    torch.testing.assert_close(function(x), rounded_once(function, x), rtol=0, atol=0, equal_nan=True)


@layouts
@dtypes
@pytest.mark.parametrize("name", [*BINARY, *COMPARISONS])
def test_pairs(name, layout, dtype):
    x, y = LAYOUTS[layout](values(1).to(dtype)), LAYOUTS[layout](values(2).to(dtype).round(decimals=1))
    function = getattr(torch, name)
    wanted = function(x.float(), y.float())
    got = function(x, y)
    assert torch.equal(got, wanted if name in COMPARISONS else wanted.to(dtype)) and got.stride() == wanted.stride()
    assert got.dtype is (torch.bool if name in COMPARISONS else dtype)


@dtypes
def test_broadcasting(dtype):
    x, row = values(1)[:60000].view(200, 300).to(dtype), values(2)[:300].to(dtype)
    for y in (row, x[:, :1], row[3], x.t().contiguous().t()):
        assert torch.equal(x + y, rounded_once(torch.add, x, y)) and torch.equal(y * x, rounded_once(torch.mul, y, x))


GRADIENTS = {
    "gelu": F.gelu, "silu": F.silu, "relu": F.relu, "softmax": lambda x: F.softmax(x, -1), "log_softmax": lambda x: F.log_softmax(x, -1),
    "layer_norm": lambda x: F.layer_norm(x, x.shape[-1:]), "tanh": torch.tanh, "amax": lambda x: x.amax(1),
}  # fmt: skip


@dtypes
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name, dtype):
    """Results and gradients match float32 up to a few roundings."""
    x = values()[:60000].view(200, 300).to(dtype)
    results = []
    for input in (x.clone(), x.float()):
        input.requires_grad_()
        output = GRADIENTS[name](input)
        for _ in range(2):  # the second backward accumulates
            output.backward(values(3)[: output.numel()].view(output.shape).to(dtype).to(input.dtype), retain_graph=True)
        results.append((output.float(), input.grad.float()))
    step = 2.0 ** -DIGITS[dtype][0]
    for ours, exact in zip(*results, strict=True):
        assert (ours - exact).abs().max() <= 3 * step * exact.abs().max()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_hardshrink_rounds_its_bound_to_the_dtype(dtype):
    for bound in (0.1, 0.3, 0.7):
        x = torch.tensor([bound, -bound, 1.0], dtype=dtype)
        assert torch.nn.functional.hardshrink(x, bound).tolist() == [0, 0, 1]
