"""Elementwise functions, compared with float64 formulas: small and large arrays, strided layouts, special values."""

from __future__ import annotations

import math

import numpy as np
import pytest

import flambeau as torch
import flambeau.nn.functional as F

MANY = (331, 400)  # more elements than kernels compute in one block

lgamma = np.vectorize(math.lgamma, otypes=[float])
_BERNOULLI = [1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66]


def digamma(x):
    """Compute digamma by recurrence and the asymptotic series."""
    x, below = x.copy(), np.zeros_like(x)
    for _ in range(20):
        below += 1 / x
        x += 1
    return np.log(x) - 0.5 / x - sum(b / (2 * k * x ** (2 * k)) for k, b in enumerate(_BERNOULLI, 1)) - below


def zeta(s, x):
    """Compute the sum over k of `(x + k)**-s`: 100 terms, and an integral for the rest."""
    edge = x + 99.5
    return sum((x + k) ** -s for k in range(100)) + edge ** (1 - s) / (s - 1) - s / 24 * edge ** (-s - 1)


def i0(x):
    total, term = np.ones_like(x), np.ones_like(x)
    for k in range(1, 80):
        term = term * (x / (2 * k)) ** 2
        total += term
    return total


UNARY = {  # name -> (function, reference formula, domain of the arguments)
    "erf": (torch.erf, np.vectorize(math.erf, otypes=[float]), "real"),
    "lgamma": (torch.lgamma, lgamma, "real"),
    "lgamma of positive": (torch.lgamma, lgamma, "positive"),
    "digamma": (torch.digamma, digamma, "positive"),
    "digamma of negative": (
        lambda x: torch.digamma(-x), lambda x: digamma(1 + x) + np.pi / np.tan(np.pi * x), "positive"),
    "polygamma 2": (lambda x: torch.polygamma(2, x), lambda x: -2 * zeta(3, x), "positive"),
    "i0": (torch.i0, i0, "real"),
    "sign": (torch.sign, np.sign, "real"),
    "frac": (torch.frac, lambda x: np.modf(x)[0], "real"),
    "nan_to_num": (torch.nan_to_num, lambda x: x, "real"),
    "logit": (torch.logit, lambda x: np.log(x / (1 - x)), "unit"),
    "logit with eps": (lambda x: torch.logit(x, 0.25), lambda x: np.log(x.clip(0.25, 0.75) / (1 - x.clip(0.25, 0.75))), "unit"),
    "softplus": (F.softplus, lambda x: np.log1p(np.exp(x)), "real"),
    "softplus with beta": (
        lambda x: F.softplus(x, 2.0, 3.0), lambda x: np.where(2 * x > 3, x, np.log1p(np.exp(2 * x)) / 2), "real"),
    "leaky_relu": (lambda x: F.leaky_relu(x, 0.1), lambda x: np.where(x > 0, x, 0.1 * x), "real"),
    "elu": (lambda x: F.elu(x, 1.7), lambda x: np.where(x > 0, x, 1.7 * np.expm1(x)), "real"),
    "celu": (lambda x: F.celu(x, 0.7), lambda x: np.where(x > 0, x, 0.7 * np.expm1(x / 0.7)), "real"),
    "selu": (
        torch.selu, lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)), "real"),
    "hardsigmoid": (F.hardsigmoid, lambda x: (x + 3).clip(0, 6) / 6, "real"),
    "hardswish": (F.hardswish, lambda x: x * (x + 3).clip(0, 6) / 6, "real"),
    "logsigmoid": (F.logsigmoid, lambda x: -np.log1p(np.exp(-x)), "real"),
    "mish": (F.mish, lambda x: x * np.tanh(np.log1p(np.exp(x))), "real"),
    "gelu": (F.gelu, lambda x: x * normal_cdf(x), "real"),
    "hardshrink": (F.hardshrink, lambda x: np.where(abs(x) <= 0.5, 0, x), "real"),
    "threshold": (lambda x: F.threshold(x, 0.25, -3.0), lambda x: np.where(x <= 0.25, -3, x), "real"),
    "prelu": (lambda x: F.prelu(x, torch.tensor(0.1, dtype=x.dtype)), lambda x: np.where(x > 0, x, 0.1 * x), "real"),
}  # fmt: skip


def normal_cdf(x):
    """Compute the cumulative distribution function of the standard normal distribution."""
    return (1 + np.vectorize(math.erf, otypes=[float])(x / math.sqrt(2))) / 2


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def between(x, low, high):
    return ((x > low) & (x < high)).astype(float)


SLOPES = {  # name -> (function, formula of its derivative)
    "relu": (F.relu, lambda x: (x > 0).astype(float)),
    "leaky_relu": (lambda x: F.leaky_relu(x, 0.1), lambda x: np.where(x > 0, 1, 0.1)),
    "prelu": (lambda x: F.prelu(x, torch.tensor(0.1, dtype=x.dtype)), lambda x: np.where(x > 0, 1, 0.1)),
    "elu": (lambda x: F.elu(x, 1.7), lambda x: np.where(x > 0, 1, 1.7 * np.exp(x))),
    "celu": (lambda x: F.celu(x, 0.7), lambda x: np.where(x > 0, 1, np.exp(x / 0.7))),
    "selu": (torch.selu, lambda x: 1.0507009873554805 * np.where(x > 0, 1, 1.6732632423543772 * np.exp(x))),
    "hardtanh": (F.hardtanh, lambda x: between(x, -1, 1)),
    "relu6": (F.relu6, lambda x: between(x, 0, 6)),
    "hardsigmoid": (F.hardsigmoid, lambda x: between(x, -3, 3) / 6),
    "hardswish": (F.hardswish, lambda x: np.where(x <= -3, 0, np.where(x < 3, x / 3 + 0.5, 1))),
    "hardshrink": (F.hardshrink, lambda x: 1 - between(x, -0.5, 0.5)),
    "softshrink": (F.softshrink, lambda x: 1 - between(x, -0.5, 0.5)),
    "threshold": (lambda x: F.threshold(x, 0.25, -3.0), lambda x: (x > 0.25).astype(float)),
    "softplus": (F.softplus, sigmoid),
    "softplus with beta": (lambda x: F.softplus(x, 2.0, 3.0), lambda x: np.where(2 * x > 3, 1, sigmoid(2 * x))),
    "logsigmoid": (F.logsigmoid, lambda x: sigmoid(-x)),
    "silu": (F.silu, lambda x: sigmoid(x) * (1 + x * sigmoid(-x))),
    "mish": (
        F.mish,
        lambda x: np.tanh(np.log1p(np.exp(x))) + x * sigmoid(x) * (1 - np.tanh(np.log1p(np.exp(x))) ** 2)),
    "gelu": (F.gelu, lambda x: normal_cdf(x) + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi)),
}  # fmt: skip
BINARY = {
    "fmod": (torch.fmod, np.fmod),
    "remainder": (torch.remainder, np.remainder),
    "floor_divide": (torch.floor_divide, np.floor_divide),
    "logaddexp": (torch.logaddexp, lambda x, y: np.log(np.exp(x) + np.exp(y))),
    "hypot": (torch.hypot, np.hypot),
    "lerp": (lambda x, y: torch.lerp(x, y, 0.25), lambda x, y: x + 0.25 * (y - x)),
    "lerp beyond a half": (lambda x, y: torch.lerp(x, y, 0.75), lambda x, y: x + 0.75 * (y - x)),
    "huber_loss": (
        lambda x, y: F.huber_loss(*torch.broadcast_tensors(x, y), reduction="none", delta=1.5),
        lambda x, y: np.where(abs(x - y) < 1.5, 0.5 * (x - y) ** 2, 1.5 * (abs(x - y) - 0.75))),
    "smooth_l1_loss": (
        lambda x, y: F.smooth_l1_loss(*torch.broadcast_tensors(x, y), reduction="none", beta=0.5),
        lambda x, y: np.where(abs(x - y) < 0.5, (x - y) ** 2, abs(x - y) - 0.25)),
}  # fmt: skip
LAYOUTS = {
    "few": lambda draw: draw(4, 5),
    "many": lambda draw: draw(*MANY),
    "one": lambda draw: draw(),
    "none": lambda draw: draw(0, 3),
    "turned": lambda draw: draw(*MANY).T,
    "every other": lambda draw: draw(*MANY)[:, ::2],
    "expanded": lambda draw: draw(1, 400).expand(331, 400),
}


def drawing(kind="real", dtype=torch.float32, seed=0):
    rng = np.random.default_rng(seed)

    def draw(*shape):
        numbers = rng.uniform(0.01, 0.99, shape) if kind == "unit" else 3 * rng.standard_normal(shape)
        return torch.tensor(np.abs(numbers) + 0.01 if kind == "positive" else numbers, dtype=dtype)

    return draw


def assert_close(got, wanted, dtype=torch.float32):
    assert got.dtype is dtype
    assert tuple(got.shape) == np.shape(wanted)
    tolerance = {torch.float32: 2e-6, torch.float64: 1e-10, torch.float16: 2e-3, torch.bfloat16: 2e-2}[dtype]
    np.testing.assert_allclose(got.double().numpy(), wanted, tolerance, tolerance)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_number(name, layout):
    function, formula, kind = UNARY[name]
    x = LAYOUTS[layout](drawing(kind))
    assert_close(function(x), formula(x.double().numpy()))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", UNARY)
def test_functions_in_other_precisions(name, dtype):
    function, formula, kind = UNARY[name]
    x = drawing(kind, dtype)(1200)
    x = x[x != x.trunc()]  # integers may be poles
    wanted = torch.tensor(formula(x.double().numpy())).to(dtype)  # values beyond the dtype's range become infinite
    assert_close(function(x), wanted.double().numpy(), dtype)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_numbers(name, layout):
    function, formula = BINARY[name]
    x, y = LAYOUTS[layout](drawing()), LAYOUTS[layout](drawing(seed=1))
    assert_close(function(x, y), formula(x.double().numpy(), y.double().numpy()))


@pytest.mark.parametrize("other", [lambda x: x[:1], lambda x: x[:, :1], lambda x: x[0, 0], lambda x: x.flip(0)])
@pytest.mark.parametrize("name", BINARY)
def test_broadcast_operands(name, other):
    function, formula = BINARY[name]
    x, y = drawing()(*MANY), other(drawing(seed=1)(*MANY))
    assert_close(function(x, y), formula(x.double().numpy(), y.double().numpy()))
    assert_close(function(y, x), formula(y.double().numpy(), x.double().numpy()))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", SLOPES)
def test_gradients_of_activations(name, layout):
    function, formula = SLOPES[name]
    x = LAYOUTS[layout](drawing()).detach().requires_grad_()
    output = function(x)
    slopes = drawing(seed=1)(*output.shape)
    (gradient,) = torch.autograd.grad(output, x, slopes)
    assert_close(gradient, slopes.double().numpy() * formula(x.detach().double().numpy()))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", SLOPES)
def test_gradients_of_activations_in_other_precisions(name, dtype):
    function, formula = SLOPES[name]
    x = drawing(dtype=dtype)(1200).requires_grad_()
    (gradient,) = torch.autograd.grad(function(x).sum(), x)
    assert_close(gradient, formula(x.detach().double().numpy()), dtype)


def test_prelu_with_a_slope_for_each_channel():
    for shape in (2, 300), (3, 4, 50), (2, 5, 30, 7), (0, 4, 3), (5, 3, 1, 1):
        x, weight = drawing()(*shape).requires_grad_(), drawing(seed=1)(shape[1]).requires_grad_()
        output = F.prelu(x, weight)
        slopes = drawing(seed=2)(*shape)
        given, factors = x.detach().double().numpy(), weight.detach().double().numpy().reshape(-1, *(1,) * (len(shape) - 2))
        assert_close(output.detach(), np.where(given > 0, given, factors * given))
        gradient, of_weight = torch.autograd.grad(output, (x, weight), slopes)
        slopes = slopes.double().numpy()
        assert_close(gradient, slopes * np.where(given > 0, 1, factors))
        below = np.where(given > 0, 0, slopes * given)
        np.testing.assert_allclose(of_weight.numpy(), below.sum((0, *range(2, len(shape)))), 1e-5, 1e-4)


# --- remainders ---------------------------------------------------------------------------------------------------


def operands():
    """Return float32 dividends and divisors: random bits, almost multiples, integers, subnormals, infinities and NaN."""
    rng, n = np.random.default_rng(0), 4000
    bits = rng.integers(0, 2**32, (2, n), dtype=np.uint32).view(np.float32)
    divisors = rng.standard_normal(n).astype(np.float32)
    multiples = divisors * rng.integers(1, 100000, n).astype(np.float32)
    beside = np.nextafter(multiples, rng.choice(np.float32([-np.inf, np.inf]), n))
    whole = rng.integers(-50, 50, n).astype(np.float32), rng.choice(np.float32([-7, -2, 1, 3, 5]), n)
    tiny = (rng.standard_normal((2, n)) * 1e-40).astype(np.float32)
    special = np.meshgrid(*[np.float32([0, -0.0, 1, -1, 1e-45, 3e38, np.inf, -np.inf, np.nan])] * 2)
    special = [np.tile(each.ravel(), 50) for each in special]
    return {"bits": bits, "beside": (beside, divisors), "whole": whole, "tiny": tiny, "special": special}


@pytest.mark.parametrize("kind", operands())
@pytest.mark.parametrize("name", ["fmod", "remainder"])
def test_remainders_are_exact(name, kind):
    x, y = operands()[kind]
    with np.errstate(all="ignore"):
        wanted = np.fmod(x.astype(np.float64), y.astype(np.float64))  # fmod is exact in float64
        if name == "remainder":
            wanted = np.where((wanted != 0) & ((wanted < 0) != (y < 0)), wanted + y, wanted)
    got = getattr(torch, name)(torch.tensor(x), torch.tensor(y)).numpy()
    np.testing.assert_array_equal(got, wanted.astype(np.float32))
    signs = x if name == "fmod" else y
    assert (np.signbit(got) == np.signbit(signs))[~np.isnan(got)].all()


@pytest.mark.parametrize("kind", ["beside", "whole"])
def test_rounded_quotients_are_exact(kind):
    x, y = operands()[kind]
    got = torch.floor_divide(torch.tensor(x), torch.tensor(y)).numpy()
    rest = x.astype(np.float64) - got.astype(np.float64) * y
    assert ((rest == 0) | ((rest / y > 0) & (rest / y < 1))).all()


@pytest.mark.parametrize("name", ["fmod", "remainder", "floor_divide"])
def test_divisions_in_place(name):
    x, y = drawing()(*MANY), drawing(seed=1)(*MANY)
    wanted = getattr(torch, name)(x, y)
    target = x.clone()
    assert getattr(target, name + "_")(y) is target
    assert torch.equal(target, wanted)
    overlapping = torch.stack([x, x], 1)[:, 0]  # overlap of tensors with gaps is not refused
    getattr(overlapping[:-1], name + "_")(overlapping[1:])
    assert torch.equal(overlapping[:-1], getattr(torch, name)(x[:-1], x[1:]))


# --- special values -----------------------------------------------------------------------------------------------

INF, NAN = math.inf, math.nan


@pytest.mark.parametrize("beside", [[], [-0.5]], ids=["alone", "beside negative ones"])
@pytest.mark.parametrize(
    ("function", "given", "wanted"),
    [
        (torch.lgamma, [0.0, -0.0, 1.0, 2.0, INF, NAN, 1e38], [INF, INF, 0.0, 0.0, INF, NAN, INF]),
        (torch.digamma, [0.0, -0.0, INF, NAN], [-INF, INF, INF, NAN]),
        (lambda x: torch.polygamma(1, x), [0.0, -0.0, INF, NAN, 1e-30], [INF, INF, 0.0, NAN, INF]),
        (torch.i0, [0.0, INF, NAN, 1e3], [1.0, INF, NAN, INF]),
        (torch.sign, [0.0, INF, -INF, NAN, 1e-45], [0.0, 1.0, -1.0, 0.0, 1.0]),
        (torch.frac, [2.0, -2.5, NAN], [0.0, -0.5, NAN]),
        (F.elu, [INF, -INF, NAN], [INF, -1.0, NAN]),
        (F.softplus, [INF, -INF, NAN, 100.0], [INF, 0.0, NAN, 100.0]),
        (F.hardswish, [INF, NAN, -4.0], [INF, NAN, 0.0]),
        (torch.erf, [INF, -INF, NAN, 1e30], [1.0, -1.0, NAN, 1.0]),
        (F.logsigmoid, [INF, -INF, NAN, -100.0], [0.0, -INF, NAN, -100.0]),
        (F.mish, [INF, NAN, 100.0, -200.0], [INF, NAN, 100.0, 0.0]),
        (F.gelu, [INF, NAN, 100.0, -100.0], [INF, NAN, 100.0, 0.0]),
        (lambda x: F.celu(x, -2.0), [-INF, NAN, 1.0], [-INF, NAN, 1.0]),
        (F.hardshrink, [INF, NAN, 0.5], [INF, NAN, 0.0]),
    ],
)
def test_special_values(function, given, wanted, beside):
    got = function(torch.tensor(given + beside)).numpy()[: len(given)]
    np.testing.assert_array_equal(got, np.float32(wanted))


@pytest.mark.parametrize(
    ("function", "given", "wanted"),
    [
        (F.relu, [INF, -INF, NAN, 0.0], [1.0, 0.0, 1.0, 0.0]),
        (F.leaky_relu, [INF, -INF, 0.0], [1.0, 0.01, 0.01]),
        (F.elu, [INF, -INF, NAN, 0.0], [1.0, 0.0, 1.0, 1.0]),
        (F.hardtanh, [INF, -INF, NAN, 1.0], [0.0, 0.0, 1.0, 0.0]),
        (F.hardsigmoid, [INF, -INF, NAN, 3.0], [0.0, 0.0, 0.0, 0.0]),
        (F.hardswish, [INF, -INF, 3.0, -3.0], [1.0, 0.0, 1.0, 0.0]),
        (F.softshrink, [INF, NAN, 0.5], [1.0, 1.0, 0.0]),
        (F.softplus, [INF, -INF, NAN], [1.0, 0.0, NAN]),
        (F.logsigmoid, [INF, -INF, NAN], [0.0, 1.0, NAN]),
        (F.mish, [100.0, -200.0, NAN, INF], [1.0, 0.0, NAN, NAN]),
        (F.mish, [INF, 3e38], [NAN, 1.0]),
        (F.gelu, [100.0, -100.0, NAN], [1.0, 0.0, NAN]),
    ],
)
def test_slopes_at_special_values(function, given, wanted):
    for times in (1, 500):
        x = torch.tensor(given * times, requires_grad=True)
        (slopes,) = torch.autograd.grad(function(x).sum(), x)
        np.testing.assert_array_equal(slopes.numpy(), np.float32(wanted * times))


def test_poles_of_negative_whole_numbers():
    x = torch.tensor([-1.0, -2.0, -1e30])
    assert torch.lgamma(x).tolist() == [INF] * 3
    assert torch.digamma(x).isnan().all()
    assert torch.polygamma(1, x).tolist() == [INF] * 3


@pytest.mark.parametrize("function", [F.elu, F.celu, torch.selu, F.leaky_relu, torch.erf, F.hardswish, torch.trunc])
def test_negative_zeros_stay(function):
    for size in (3, 5000):
        assert torch.signbit(function(torch.full((size,), -0.0))).all()


def test_the_limits_of_logit_are_rounded_to_the_dtype():
    high = np.float64(np.float32(1 - 1e-6))
    got = torch.logit(torch.tensor([1.0, 2.0, 0.5]), 1e-6).numpy()
    np.testing.assert_allclose(got, [np.log(high / (1 - high))] * 2 + [0], 1e-6)


def test_lgamma_keeps_its_digits_beside_its_zeros():
    """Near its zeros 1 and 2, lgamma(x) is about `-0.577 (x - 1)` and `0.423 (x - 2)`."""
    for zero, slope, curve in ((1.0, -0.5772156649015329, 0.8224670334241132), (2.0, 0.42278433509846714, 0.3224670334241132)):
        x = np.float32(zero) + np.arange(-100, 100).astype(np.float32) * np.float32(2.0**-22)
        step = x.astype(np.float64) - zero
        np.testing.assert_allclose(torch.lgamma(torch.tensor(x)).numpy(), slope * step + curve * step**2, 2e-7)


def test_logaddexp_of_infinities():
    x, y = torch.tensor([INF, -INF, INF, -INF, NAN, 0.0]), torch.tensor([INF, -INF, -INF, 1.0, INF, NAN])
    wanted = np.float32([INF, -INF, INF, 1.0, NAN, NAN])
    np.testing.assert_array_equal(torch.logaddexp(x, y).numpy(), wanted)
    np.testing.assert_array_equal(torch.logaddexp(x.repeat(1000), y.repeat(1000)).numpy(), np.tile(wanted, 1000))


@pytest.mark.parametrize("scale", [1e-30, 1e-3, 1e20, 1e38])
def test_hypot_of_all_magnitudes(scale):
    x, y = drawing()(2000) * scale, drawing(seed=1)(2000) * scale
    with np.errstate(over="ignore"):
        wanted = np.hypot(x.double().numpy(), y.double().numpy()).astype(np.float32)
    np.testing.assert_allclose(torch.hypot(x, y).numpy(), wanted, 2e-7)
    x[::3] = y[::3] = 0
    assert torch.hypot(x, y)[::3].eq(0).all()
    assert torch.hypot(torch.full((2000,), INF), torch.full((2000,), NAN)).eq(INF).all()


# --- running sums in logarithms -----------------------------------------------------------------------------------


@pytest.mark.parametrize("spread", [1.0, 50.0, 2000.0])
@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("shape", [(3, 4, 5), (50, 70, 60), (2, 0, 3), (1, 1, 1)])
def test_logcumsumexp(shape, dim, spread):
    x = drawing()(*shape) * spread
    wanted = np.logaddexp.accumulate(x.double().numpy(), dim) if x.numel() else np.zeros(shape)
    got = torch.logcumsumexp(x, dim)
    assert got.is_contiguous()
    np.testing.assert_allclose(got.numpy(), wanted, 2e-6, 1e-6 * spread)
    np.testing.assert_allclose(torch.logcumsumexp(x.double(), dim).numpy(), wanted, 1e-12, 1e-12)


def test_logcumsumexp_of_infinities():
    x = torch.tensor([[-INF, -INF, 1.0, 2.0], [1.0, -INF, INF, 2.0], [0.0, NAN, 1.0, INF]])
    with np.errstate(invalid="ignore"):
        wanted = np.logaddexp.accumulate(x.double().numpy(), 1)
    np.testing.assert_allclose(torch.logcumsumexp(x, 1).numpy(), wanted, 1e-6)


# --- losses, gradients --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16], ids=str)
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("name", ["huber_loss", "smooth_l1_loss"])
def test_losses(name, reduction, dtype):
    for shape in ((), (4, 5), (300, 500)):
        x, y = drawing(dtype=dtype)(*shape), drawing(dtype=dtype, seed=1)(*shape)
        error = np.abs(x.double().numpy() - y.double().numpy())
        wanted = np.where(error < 1, 0.5 * error**2, error - 0.5)
        if reduction != "none":
            wanted = getattr(np, reduction)(wanted)
        if abs(wanted).max() < np.finfo(np.float16).max:
            assert_close(getattr(F, name)(x, y, reduction=reduction), wanted, dtype)
    assert math.isnan(getattr(F, name)(torch.empty(0), torch.empty(0)))
    assert getattr(F, name)(torch.empty(0), torch.empty(0), reduction="sum").item() == 0


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16], ids=str)
def test_nan_to_num(dtype):
    x = torch.tensor([[NAN, INF, -INF, 1.5]] * 600, dtype=dtype)
    limits = torch.finfo(dtype)
    for options, numbers in (
        ({}, (0.0, limits.max, limits.min)),
        ({"nan": 2.0, "posinf": 3.0, "neginf": -4.0}, (2.0, 3.0, -4.0)),
    ):
        got = x.nan_to_num(**options)
        assert torch.equal(got, torch.tensor([*numbers, 1.5], dtype=dtype).expand(600, 4))
    assert x.nan_to_num_() is x
    assert x.isfinite().all()


def test_gradients_through_nan_to_num_and_frac():
    x = torch.tensor([NAN, INF, -INF, 1.5, -2.5], requires_grad=True)
    x.nan_to_num().sum().backward()
    assert x.grad.tolist() == [0, 0, 0, 1, 1]
    x.grad = None
    x.frac().sum().backward()
    assert x.grad.tolist() == [1] * 5
    with pytest.raises(NotImplementedError, match="not implemented for 'Long'"):
        torch.frac(torch.tensor([1]))
