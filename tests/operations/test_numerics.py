"""Numerical accuracy: long sums, half precision, and formulas without overflow, cancellation or underflow."""

from __future__ import annotations

import math

import numpy as np
import pytest

import flambeau as torch
from flambeau.operations.indexing.subscripts import sum_at

F = torch.nn.functional
SINGLE = torch.float32


def relative(got, wanted):
    got = np.asarray(got.detach() if isinstance(got, torch.Tensor) else got, np.float64)
    return np.max(np.abs(got - wanted) / np.abs(wanted))


@pytest.mark.parametrize(("shape", "dim"), [
    ((1 << 18,), None), ((1 << 17, 2), 0), ((1 << 12, 64), 0), ((64, 1 << 12), 1), ((300, 7, 300), (0, 2)), ((500, 4, 500), (0, 1)),
    ((3, 1 << 16), -1), ((1 << 15, 3, 2), (0,)),
])  # fmt: skip
@pytest.mark.parametrize("layout", ["contiguous", "transposed", "strided"])
def test_sums_are_pairwise_along_every_dimension(shape, dim, layout):
    array = np.random.default_rng(0).uniform(0.05, 0.15, shape).astype(np.float32)
    x = torch.tensor(array)
    if layout == "transposed":
        x = x.permute(*reversed(range(x.ndim))).contiguous().permute(*reversed(range(x.ndim)))
    elif layout == "strided":
        x = torch.stack([x, x], -1)[..., 0]
    wide = array.astype(np.float64)
    assert relative(x.sum(dim) if dim is not None else x.sum(), wide.sum(dim)) < 3e-6
    assert relative(x.mean(dim) if dim is not None else x.mean(), wide.mean(dim)) < 3e-6


def test_sums_of_any_layout():
    rng = np.random.default_rng()
    for _ in range(60):
        ndim = int(rng.integers(1, 5))
        array = rng.random(tuple(rng.integers(1, (30000, 250, 40, 12)[ndim - 1], ndim)), dtype=np.float32)
        array = array.transpose(rng.permutation(ndim))[tuple(slice(None, None, 1 + rng.integers(2)) for _ in range(ndim))]
        dims = tuple(int(d) - ndim * int(rng.integers(2)) for d in rng.permutation(ndim)[: rng.integers(1, ndim + 1)])
        got = torch.from_numpy(array).sum(dims, keepdim=bool(rng.integers(2))).numpy()
        wanted = array.astype(np.float64).sum(dims).reshape(got.shape)
        np.testing.assert_allclose(got, wanted, rtol=3e-6)


def test_gradients_of_what_was_broadcast_are_such_sums():
    bias, weight = torch.zeros(4, requires_grad=True), torch.full((1 << 16, 4), 0.1)
    ((bias + weight) * weight).sum().backward()
    assert relative(bias.grad, 6553.6) < 3e-6


def test_variance_of_values_far_from_zero():
    array = (np.random.default_rng(0).standard_normal((1 << 16, 4)) + 1e4).astype(np.float32)
    wide = array.astype(np.float64)
    for dim in (0, 1, (0, 1)):  # if the mean of 1e4 were rounded to float32, the variance would lose digits
        assert relative(torch.tensor(array).var(dim), wide.var(dim, ddof=1)) < 1e-5
        assert relative(torch.tensor(array).std(dim, correction=0), wide.std(dim)) < 1e-5
    normal = F.batch_norm(torch.tensor(array), None, None, training=True)
    assert relative(normal.var(0, correction=0), 1) < 1e-3


def test_running_sums_and_products_do_not_drift():
    array = np.full(1 << 18, 0.1, np.float32)
    assert relative(torch.tensor(array).cumsum(0), array.astype(np.float64).cumsum()) < 1e-7
    factors = (1 + 1e-6 * np.random.default_rng(0).uniform(-1, 1, 1 << 16)).astype(np.float32)
    wide = factors.astype(np.float64)
    assert relative(torch.tensor(factors).cumprod(0), wide.cumprod()) < 1e-7
    assert relative(torch.tensor(factors).prod(), wide.prod()) < 1e-7


# --- half precision -------------------------------------------------------------------------------------------------

HALVES = [torch.float16, torch.bfloat16]


@pytest.mark.skipif(torch.get_default_device().type != "cpu", reason="a library's own conversion may round once")
def test_doubles_are_rounded_to_half_precision_by_way_of_single() -> None:
    rng = np.random.default_rng(0)
    near = rng.standard_normal((7, 30)).astype(np.float16).astype(np.float64)
    ties = near + np.spacing(near.astype(np.float16)) / 2
    for array in (ties * (1 + 1e-10), ties * (1 - 1e-10), ties, rng.standard_normal((3, 0)), np.float64(1 + 2**-11 + 2**-40)):
        wanted = array.astype(np.float32).astype(np.float16)
        x = torch.asarray(array)
        for half in (
            x.half(),
            x.mT.half().mT if x.ndim else x.to(torch.float16),
            torch.asarray(array, dtype=torch.float16),
            torch.tensor(array.tolist(), dtype=torch.float16),
            torch.empty(x.shape, dtype=torch.float16).copy_(x),
        ):
            np.testing.assert_array_equal(half.numpy(), wanted)
    assert torch.zeros(2, dtype=torch.float16).fill_(1 + 2**-11 + 2**-40).tolist() == [1, 1]


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_half_precision_is_added_up_in_single(dtype):
    n = 8192
    x, zeros = torch.full((n,), 0.5, dtype=dtype), torch.zeros(n, dtype=torch.int64)
    one = torch.ones(1, dtype=dtype)
    sums = {
        "sum": x.sum(),
        "mean": x.mean() * n,
        "cumsum": x.cumsum(0)[-1],
        "dot": torch.dot(x, x) * 2,
        "mm": (x[None] @ x[:, None]).squeeze() * 2,
        "einsum": torch.einsum("i,i", x, x) * 2,
        "norm": x.norm() ** 2 * 2,
        "index_add": (one * 0).index_add(0, zeros, x)[0],
        "scatter_add": (one * 0).scatter_add(0, zeros, x)[0],
        "index_put": (one * 0).index_put((zeros,), x, accumulate=True)[0],
        "nansum": x.nansum(),
        "trapezoid": torch.trapezoid(x) + 0.5,
    }
    for name, result in sums.items():
        assert result.dtype is dtype, name
        assert abs(result.float().item() / (n / 2) - 1) < 8e-3, name
    table = torch.ones(1, 1, dtype=dtype, requires_grad=True)
    F.embedding(zeros, table).sum().backward()
    assert table.grad.item() == n
    scale = torch.ones((), dtype=dtype, requires_grad=True)
    (x * scale).sum().backward()
    assert scale.grad.item() == n / 2


# --- sums by position, for libraries that cannot scatter ------------------------------------------------------------------


def sums_by_position(values, positions, size):
    return sum_at(np, np.asarray(values), np.asarray(positions), size)


def test_sums_by_position_do_not_cancel():
    values = np.array([1e8, 1.0, -3.0, 1e8, 0.25], np.float32)
    assert sums_by_position(values, [0, 1, 2, 0, 1], 4).tolist() == [2e8, 1.25, -3.0, 0.0]
    assert sums_by_position([math.inf, 1.0, 2.0, -math.inf], [0, 2, 2, 3], 4).tolist() == [math.inf, 0.0, 3.0, -math.inf]
    assert np.isnan(sums_by_position([math.nan, 1.0], [1, 0], 2)).tolist() == [False, True]


@pytest.mark.parametrize("count", [0, 1, 2, 7, 1000])
def test_sums_by_position(count):
    rng = np.random.default_rng(count)
    values, positions = rng.uniform(0.05, 0.15, count).astype(np.float32), rng.integers(0, 5, count)
    wanted = np.bincount(positions, values, 6)
    np.testing.assert_allclose(sums_by_position(values, positions, 6), wanted, rtol=1e-6)


def test_sums_by_position_form_a_tree():
    values = np.full(1 << 16, 0.1, np.float32)
    np.testing.assert_allclose(sums_by_position(values, np.zeros(1 << 16, int), 1), 6553.6, rtol=1e-6)


# --- formulas -------------------------------------------------------------------------------------------------------

LINE = np.concatenate([-np.logspace(-30, 4, 200), np.logspace(-30, 4, 200)])
FORMULAS = {
    "logsigmoid": (F.logsigmoid, lambda x: -np.logaddexp(0, -x)), "softplus": (lambda x: F.softplus(x, threshold=1e9), lambda x: np.logaddexp(0, x)),
    "sigmoid": (torch.sigmoid, lambda x: np.exp(-np.logaddexp(0, -x))), "log1p": (torch.log1p, np.log1p), "expm1": (torch.expm1, np.expm1),
    "logaddexp": (lambda x: torch.logaddexp(x, -x), lambda x: np.logaddexp(x, -x)), "asinh": (torch.asinh, np.arcsinh),
    "silu": (F.silu, lambda x: x * np.exp(-np.logaddexp(0, -x))), "mish": (F.mish, lambda x: x * np.tanh(np.logaddexp(0, x))),
    "tanh": (torch.tanh, np.tanh), "elu": (F.elu, lambda x: np.where(x > 0, x, np.expm1(x))),
    "logsumexp": (lambda x: torch.logsumexp(torch.stack([x, 2 * x, 3 * x]), 0), lambda x: np.logaddexp(np.logaddexp(x, 2 * x), 3 * x)),
    "hypot": (lambda x: torch.hypot(x * 1e30, x * 1e30), lambda x: np.sqrt(2) * abs(x) * 1e30),
    "log_softmax": (lambda x: torch.log_softmax(torch.stack([x, 0 * x]), 0)[0], lambda x: -np.logaddexp(0, -x)),
}  # fmt: skip


def _absolute_tolerance(name, single):
    """Return the absolute tolerance, which allows for subnormal results, or in log_softmax for rounded differences of logits."""
    if name == "log_softmax":
        return 1e-7 if single else 1e-15
    return 1e-36 if single else 1e-300


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_formulas_over_the_whole_line(name, dtype):
    function, reference = FORMULAS[name]
    x = LINE.astype(dtype)
    with np.errstate(all="ignore"):
        wanted = reference(x.astype(np.longdouble)).astype(np.float64)
    seen = np.abs(wanted) < np.finfo(dtype).max
    got = function(torch.tensor(x)).numpy()
    single = dtype is np.float32
    np.testing.assert_allclose(got[seen], wanted[seen], rtol=1e-6 if single else 1e-13, atol=_absolute_tolerance(name, single))


def test_losses_of_extreme_logits():
    x, y = torch.tensor([200.0, -200.0, 1e4, -1e4]), torch.tensor([0.0, 1.0, 0.0, 1.0])
    assert F.binary_cross_entropy_with_logits(x, y, reduction="none").tolist() == [200.0, 200.0, 1e4, 1e4]
    assert F.cross_entropy(torch.tensor([[1e4, 0.0, -1e4]]), torch.tensor([2])).item() == 2e4
    assert torch.logsumexp(torch.tensor([-math.inf, -math.inf]), 0).item() == -math.inf
    assert torch.logsumexp(torch.tensor([1000.0, 1000.0]), 0).item() == pytest.approx(1000 + math.log(2))
    assert torch.softmax(torch.tensor([1e4, 0.0]), 0).tolist() == [1.0, 0.0]


def test_norms_of_large_and_small_numbers():
    for scale in (1e-30, 1.0, 1e30):
        x = torch.tensor([3.0, 4.0], dtype=torch.float64) * scale
        assert relative(x.norm(), 5 * scale) < 1e-14
        assert relative(torch.linalg.vector_norm(x, 3), 91 ** (1 / 3) * scale) < 1e-14


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(), (1,), (40,), (2, 3)])
def test_powers_of_one_half(shape, dtype):
    """With a Python number, `x ** 0.5` is a square root: -inf gives NaN and -0.0 gives -0.0. With a tensor, it is a power."""
    for base, root, power in ((-math.inf, math.nan, math.inf), (-0.0, -0.0, 0.0), (4.0, 2.0, 2.0)):
        x = torch.full(shape, base, dtype=dtype)
        exponents = [torch.tensor(0.5, dtype=dtype), torch.full((1,), 0.5, dtype=dtype), torch.full(shape, 0.5, dtype=dtype)]
        if shape:
            exponents.append(torch.full((shape[0], *(1 for _ in shape[1:])), 0.5, dtype=dtype))
        for exponent, wanted in [(0.5, root), *((exponent, power) for exponent in exponents)]:
            for sign in (1, -1):
                expected = (
                    np.divide(1, wanted) if sign < 0 and wanted else wanted if sign > 0 else math.copysign(math.inf, wanted)
                )
                result = (x ** (sign * exponent)).numpy()
                np.testing.assert_array_equal(result, np.full(result.shape, expected))
                assert math.isnan(expected) or (np.signbit(result) == np.signbit(expected)).all()


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_complex_powers_of_one_half_are_roots(dtype):
    z = torch.tensor([-1 + 0j, -4 - 0j, complex(math.inf, 0), 3 - 4j], dtype=dtype)
    assert (z**0.5).tolist() == [1j, 2j, complex(math.inf, 0), 2 - 1j]
    assert (z**-0.5)[:2].tolist() == [-1j, -0.5j] and (z**-1)[2].item() == 0


@pytest.mark.parametrize("dtypes", [
    (torch.float32, torch.bfloat16, torch.float32), (torch.float32, torch.bfloat16, torch.float16),
    (torch.float64, torch.int64, torch.float32), (torch.float16, torch.float32, torch.int8),
])  # fmt: skip
def test_products_of_several_dtypes_are_added_in_the_common_dtype(dtypes):
    a, b, c = ((torch.rand(50) * 9 + 1).to(dtype) for dtype in dtypes)
    for value in (1, 3.7):
        for function, other in ((torch.addcmul, c.double()), (torch.addcdiv, 1 / c.double())):
            result = function(a, b, c, value=value)
            assert result.dtype is torch.promote_types(torch.promote_types(*dtypes[:2]), dtypes[2])
            assert relative(result, (a.double() + value * b.double() * other).numpy()) < 1e-6
        result = torch.addr(a, b, c, alpha=value)
        assert relative(result, (a.double() + value * torch.outer(b.double(), c.double())).numpy()) < 1e-6


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64])
def test_integers_whose_difference_overflows_are_not_close(dtype):
    low, high = torch.iinfo(dtype).min, torch.iinfo(dtype).max
    a, b = torch.tensor([low, high, low, 5], dtype=dtype), torch.tensor([high, low, 1, 5], dtype=dtype)
    assert torch.isclose(a, b).tolist() == [False, False, False, True]
    assert not torch.allclose(a[:1], b[:1], atol=2) and torch.allclose(a, a + a.ne(high), rtol=0, atol=1)


# --- gradients where values are equal -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["max", "min", "median", "nanmedian"])
def test_equal_elements_share_the_gradient_of_what_they_are_all_equal_to(name):
    """Equal minima, maxima and medians share the gradient equally, also if they are NaN."""
    x = torch.tensor([[2.0, 1.0, 2.0], [2.0, 2.0, 2.0]], requires_grad=True)
    (grad,) = torch.autograd.grad(getattr(x, name)() * 10, x)
    value = 1.0 if name == "min" else 2.0
    assert grad.tolist() == [[10 / (x == value).sum().item() * (element == value) for element in row] for row in x.tolist()]
    y = torch.tensor([1.0, math.nan, 1.0, math.nan], requires_grad=True)
    (grad,) = torch.autograd.grad(getattr(y, name)(), y)
    assert grad.tolist() == ([0.5, 0, 0.5, 0] if name == "nanmedian" else [0, 0.5, 0, 0.5])


def test_clamp_between_tensors():
    """In clamp's backward, an element equal to a bound receives the gradient. Where min > max, max receives it."""
    x, low, high = (
        torch.tensor(values, requires_grad=True) for values in ([0.0, 1, 2, 3, 4, 5], [1.0, 1, 1, 1, 1, 7], [3.0, 3, 3, 3, 3, 6])
    )
    result = x.clamp(low, high)
    assert result.tolist() == [1, 1, 2, 3, 3, 6]
    grads = torch.autograd.grad(result.sum(), [x, low, high])
    assert [g.tolist() for g in grads] == [[0, 1, 1, 1, 0, 0], [1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 1, 1]]
    assert [g.tolist() for g in torch.autograd.grad(x.clamp(min=low).sum(), [x, low])] == [
        [0, 1, 1, 1, 1, 0],
        [1, 0, 0, 0, 0, 1],
    ]
    assert torch.ones(2, dtype=torch.int64).clamp(max=torch.tensor([0.5, 2])).tolist() == [0.5, 1]
    with pytest.raises(TypeError, match="invalid combination of arguments"):
        x.clamp(low, 1)


def test_denormal_numbers_are_flushed_where_asked_for() -> None:
    small = torch.tensor([1e-310], dtype=torch.float64)
    try:
        if torch.set_flush_denormal(True):
            assert not (small * 1).any()
    finally:
        torch.set_flush_denormal(False)
    assert (small * 1).all()
    with pytest.raises(RuntimeError, match="flush_denormal expects a bool, but got int"):
        torch.set_flush_denormal(1)  # type: ignore[arg-type]  # on purpose


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_nan_has_no_sign(dtype):
    x = torch.tensor([math.nan, 2.0, -3.0, 0.0], dtype=dtype)
    for result in (x.sign(), x.sgn(), x.clone().sign_(), x.clone().sgn_(), torch.sign(x, out=torch.empty_like(x))):
        assert result.tolist() == [0, 1, -1, 0]
    x.requires_grad_()
    assert torch.autograd.grad(x.abs().sum(), x)[0].tolist() == [0, 1, -1, 0]


# --- order --------------------------------------------------------------------------------------------------------


def test_mode_of_many_elements():
    """`mode` sorts, instead of comparing all pairs, which would need too much memory."""
    array = np.random.default_rng(0).integers(0, 1000, 200_000)
    values, counts = np.unique(array, return_counts=True)
    mode, place = torch.mode(torch.tensor(array))
    assert mode == values[counts.argmax()] and place == np.flatnonzero(array == mode.item())[-1]
    with pytest.raises(IndexError, match=r"mode\(\): Expected reduction dim 1 to have non-zero size"):
        torch.mode(torch.empty(3, 0))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("right", [False, True])
def test_search_with_nans(dtype, right):
    numbers, values = [-1.0, 0.0, 0.5, 2.0, 3.0], [-2.0, -1.0, 0.25, 0.5, 3.0, 4.0]
    wanted = [*np.searchsorted(numbers, values, "right" if right else "left").tolist(), 5]
    given = torch.tensor([*values, math.nan], dtype=dtype)
    rows = torch.tensor([numbers] * 2, dtype=dtype)
    assert torch.searchsorted(rows[0], given, right=right).tolist() == wanted
    assert torch.searchsorted(rows, given.expand(2, 7), right=right).tolist() == [wanted] * 2
    # binary search treats NaN as smaller than every value
    assert torch.searchsorted(
        torch.tensor([0.0, 1.0, math.nan], dtype=dtype), torch.tensor([0.0, 1.0], dtype=dtype)
    ).tolist() == [0, 1]
    assert torch.searchsorted(
        torch.tensor([0.0, math.nan, math.nan], dtype=dtype), torch.tensor([0.0], dtype=dtype)
    ).tolist() == [3]


def test_search_in_long_rows_takes_no_memory_of_all_pairs():
    rows = torch.arange(100_000.0).expand(2, -1) * torch.tensor([[1.0], [2.0]])
    found = torch.searchsorted(rows, rows.flip(0))
    assert found[1].tolist() == [(n + 1) // 2 for n in range(100_000)] and found[0, 49_999] == 99_998


# --- complex numbers ----------------------------------------------------------------------------------------------


def test_parts_of_complex_numbers_that_are_not_finite():
    parts = np.array([[x, y] for x in (0.0, -1.0, math.inf, math.nan) for y in (0.0, 1.0, math.inf, -math.inf, math.nan)])
    for dtype in (torch.float32, torch.float64):
        result = torch.complex(*torch.tensor(parts, dtype=dtype).unbind(1))
        np.testing.assert_array_equal(torch.view_as_real(result).numpy(), parts)


def test_complex_numbers_of_halves_keep_their_digits():
    """float16 parts give complex64, because not every backend has complex32."""
    half = torch.tensor([0.1, 3.0], dtype=torch.float16)
    result = torch.complex(half, -half)
    assert result.dtype is torch.complex64 and result.real.equal(half.float()) and result.imag.equal(-half.float())
    assert torch.result_type(half, 1j) is torch.complex64 is torch.float16.to_complex()
    with pytest.raises(NotImplementedError, match="polar"):
        torch.polar(half, half)
    with pytest.raises(RuntimeError, match="Unknown Complex ScalarType for Long"):
        torch.int64.to_complex()


def derivatives(function, *values):
    """Return the first and second derivatives of a function at the given values."""
    x = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    (first,) = torch.autograd.grad(function(x).sum(), x, create_graph=True)
    return first.tolist(), torch.autograd.grad(first.sum(), x)[0].tolist()


@pytest.mark.parametrize(
    "name", ["mse_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits"]
)
def test_the_mean_of_no_losses_has_a_gradient(name):
    x = torch.zeros(0, 3, requires_grad=True)
    loss = getattr(F, name)(x, torch.zeros(0, 3))
    assert loss.isnan() and torch.autograd.grad(loss, x)[0].shape == (0, 3)


def test_the_mean_of_no_cross_entropies_is_not_a_number():
    assert F.cross_entropy(torch.zeros(0, 3), torch.zeros(0, 3)).isnan()


def test_second_derivative_of_binary_cross_entropy_where_it_is_certain():
    target = torch.tensor([0.0, 1.0, 0.0, 0.25], dtype=torch.float64)
    _, second = derivatives(lambda x: F.binary_cross_entropy(x, target, reduction="sum"), 0.0, 0.0, 1.0, 0.5)
    np.testing.assert_allclose(second, [0, 1e24, 1e24, 4], 1e-3)


@pytest.mark.parametrize("name", ["round", "floor", "ceil", "trunc", "sign", "sgn"])
def test_steps_pass_nothing_on(name):
    x = torch.tensor([1.5, 2.5], requires_grad=True)
    (slopes,) = torch.autograd.grad(getattr(torch, name)(x), x, torch.tensor([math.nan, math.inf]))
    assert slopes.tolist() == [0, 0]


@pytest.mark.parametrize("name", ["elu", "celu", "selu"])
def test_slope_of_elu_at_zero_does_not_bend(name):
    assert derivatives(getattr(F, name), 0.0)[1] == [0]


@pytest.mark.parametrize("function", [
    lambda x: F.threshold(x, 0.5, 7.0), lambda x: torch.maximum(x, x.detach() * 0), lambda x: torch.minimum(x, x.detach() * 0),
])  # fmt: skip
def test_nan_passes_through_and_so_does_its_gradient(function):
    x = torch.tensor([math.nan], requires_grad=True)
    result = function(x)
    assert result.isnan() and torch.autograd.grad(result.sum(), x)[0].tolist() == [1]


def test_renorm_leaves_what_has_no_norm():
    result = torch.tensor([[1.0, math.nan], [3.0, 4.0]]).renorm(2, 0, 1.0)
    np.testing.assert_allclose(result.numpy(), [[1, math.nan], [0.6, 0.8]], 1e-6)


def test_inverse_of_an_empty_tensor_and_condition_of_one_that_is_not_square():
    assert torch.linalg.tensorinv(torch.zeros(0, 0), 1).shape == (0, 0)
    with pytest.raises(RuntimeError, match="must be batches of square matrices"):
        torch.linalg.cond(torch.zeros(0, 3), "fro")


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_probability_of_a_class_with_all_of_it_is_1(dtype, dim):
    scores = torch.randn(300, 5, dtype=dtype)
    scores[:, 1:] = -1000.0
    expected = torch.zeros(300, 5, dtype=dtype)
    expected[:, 0] = 1.0
    assert torch.equal(torch.softmax(scores if dim else scores.t().contiguous(), dim), expected if dim else expected.t())


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64, torch.int64, torch.complex64])
def test_evenly_spaced_numbers_may_be_none_or_one(dtype: torch.dtype) -> None:
    for start, end in ((-2.0, -3), (0, 1), (1e300, 2e300)):
        empty = torch.linspace(start, end, 0, dtype=dtype)
        assert empty.shape == (0,) and empty.dtype is dtype
    assert torch.linspace(5, 9, 1, dtype=dtype).tolist() == [5]


def test_histc_uses_the_range_of_the_elements_if_the_bounds_are_equal():
    assert torch.histc(torch.tensor([1.0, 4.0]), 2, 1, 1).tolist() == [1, 1]
    assert torch.histc(torch.tensor([2.0, 2.0]), 4, 3, 3).tolist() == [0, 0, 2, 0]


def test_histc_refuses_ranges_that_are_not_finite():
    for values in ([1.0, math.nan], [1.0, math.inf]):
        with pytest.raises(RuntimeError, match="is not finite"):
            torch.histc(torch.tensor(values), 3)
    with pytest.raises(RuntimeError, match="bins must be > 0, but got 0"):
        torch.histc(torch.ones(2), 0)


@pytest.mark.parametrize(
    ("values", "bounds", "message"),
    [
        ([1.0, math.inf], None, r"dimension 0's range \[1, inf\] is not finite"),
        ([1.0, 2.0], (0.0, math.nan), r"dimension 0's range \[0, nan\] is not finite"),
        ([1.0, 2.0], (2.0, 1.0), "min should not exceed max, but got min 2 max 1 for dimension 0"),
    ],
)
def test_histogram_refuses_impossible_ranges(values, bounds, message):
    values = torch.tensor(values)
    with pytest.raises(RuntimeError, match=message):
        torch.histogram(values, 3, range=bounds)
    with pytest.raises(RuntimeError, match=message):
        torch.histogramdd(values.reshape(-1, 1), [3], range=bounds)


@pytest.mark.parametrize("function", [torch.quantile, torch.nanquantile])
def test_gradient_of_a_quantile_that_is_nan(function):
    """The gradient of NaN reaches the NaN element from which it comes."""
    x = torch.tensor([[1.0, math.nan, 2.0], [math.nan] * 3, [3.0, 1.0, 2.0]], requires_grad=True)
    result = function(x, 0.5, dim=1)
    result.sum().backward()
    expected = {"quantile": [0, 1, 0], "nanquantile": [0.5, 0, 0.5]}[function.__name__]
    assert result.isnan().tolist() == [function is torch.quantile, True, False]
    assert x.grad[0].tolist() == expected and x.grad[1].sum() == 1 and x.grad[2].tolist() == [0, 0, 1]


def test_gradient_at_coordinates_of_float64_loses_no_digits():
    torch.manual_seed(0)
    x, coordinates = torch.randn(500), torch.randn(500, dtype=torch.float64)
    for edge_order in (1, 2):
        (result,) = torch.gradient(x, spacing=[coordinates], edge_order=edge_order)
        expected = np.gradient(x.double().numpy(), coordinates.numpy(), edge_order=edge_order)
        assert np.allclose(result.numpy(), expected, rtol=1e-9, atol=1e-9)


def test_the_absolute_value_of_complex_numbers_is_written_to_complex_and_real_tensors():
    z = torch.tensor([3 + 4j, 1 + 0j])
    assert torch.abs(z, out=torch.empty_like(z)).tolist() == [5, 1]
    assert torch.abs(z, out=torch.empty(2, dtype=torch.float64)).tolist() == [5, 1]
    with pytest.raises(RuntimeError, match="float32"):
        torch.abs(z.real, out=torch.empty(2, dtype=torch.float64))
    with pytest.raises(RuntimeError, match="out tensor to have dtype"):
        torch.abs(z, out=torch.empty(2, dtype=torch.complex128))


@pytest.mark.parametrize("function", [torch.trapezoid, torch.cumulative_trapezoid])
@pytest.mark.parametrize("x", [None, torch.arange(3.0)])
def test_integration_along_missing_dimensions(function, x):
    with pytest.raises(IndexError, match="Dimension out of range"):
        function(torch.ones(3, 3), x, dim=5)


def test_histograms_in_a_space_without_dimensions():
    for shape in ((3, 0), (2, 3, 0), (0, 0)):
        counts, edges = torch.histogramdd(torch.rand(shape), bins=[], weight=torch.ones(shape[:-1]))
        assert counts.tolist() == 0 and edges == ()
        assert torch.histogramdd(torch.rand(shape), bins=2, density=True).hist.isnan()
    assert torch.histogramdd(torch.rand(0, 2), bins=2).hist.tolist() == [[0, 0], [0, 0]]
