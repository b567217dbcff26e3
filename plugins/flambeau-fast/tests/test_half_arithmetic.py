"""Arithmetic of float16 and bfloat16 arrays that broadcast or are not contiguous: float32 results, rounded once."""

import ml_dtypes
import numpy as np
import pytest
from flambeau_fast import halves as fast_halves
from flambeau_fast.kernels import kernels

import flambeau as torch
from flambeau_backends.numpy.packs import halves

HALVES = [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)]
SHAPES = [
    ((2, 3, 70, 64), (70, 64)), ((70, 64), (2, 3, 70, 64)), ((2, 3, 5, 700), (3, 1, 700)), ((90, 50), (90, 1)),
    ((1, 300), (50, 1)), ((40, 1025), ()), ((), (40, 1025)), ((1, 600), (7, 600)), ((5, 1, 3, 1, 33), (2, 1, 4, 33)),
]  # fmt: skip
FUNCTIONS = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}


def expected(function, half, *arrays):
    with np.errstate(all="ignore"):
        return function(*(array.astype(np.float32) for array in arrays)).astype(half)


def assert_same(ours, theirs):
    """Compare bits, except that any NaN equals any other."""
    assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
    is_nan = np.isnan(theirs.astype(np.float32))
    np.testing.assert_array_equal(is_nan, np.isnan(ours.astype(np.float32)))
    np.testing.assert_array_equal(np.where(is_nan, 0, ours.view(np.uint16)), np.where(is_nan, 0, theirs.view(np.uint16)))


@pytest.mark.parametrize("half", HALVES, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_broadcasting(name, half, shapes):
    random = np.random.default_rng(0)
    x, y = (np.asarray(random.standard_normal(shape)).astype(half) for shape in shapes)
    assert_same(halves.LOOPS[name](x, y), expected(FUNCTIONS[name], half, x, y))


@pytest.mark.parametrize("half", HALVES, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_arrays_that_are_not_contiguous(name, half):
    random = np.random.default_rng(0)
    whole = random.standard_normal((2, 37, 6, 128)).astype(half).swapaxes(1, 2)
    x, y, row = whole[..., :64], whole[..., 64:], random.standard_normal((37, 64)).astype(half)
    for left, right in ((x, row), (row, y), (x[:, ::-1], y), (x, y)):
        assert_same(halves.LOOPS[name](left, right), expected(FUNCTIONS[name], half, left, right))
    result = halves.LOOPS[name](x, y)
    assert np.argsort(result.strides).tolist() == np.argsort(x.strides).tolist()  # the memory order of both operands


@pytest.mark.parametrize("half", HALVES, ids=str)
def test_all_numbers(half):
    numbers = np.arange(1 << 16, dtype=np.uint16).view(half).reshape(256, 256)
    others = [np.asarray(number, half) for number in (1.5, -0.0, np.inf, np.nan, 6e-8, 300)]
    for name, function in FUNCTIONS.items():
        for other in others:
            assert_same(halves.LOOPS[name](numbers, other), expected(function, half, numbers, other))
            assert_same(halves.LOOPS[name](other, numbers), expected(function, half, other, numbers))
    np.testing.assert_array_equal(halves.LOOPS["neg"](numbers).view(np.uint16), numbers.view(np.uint16) ^ 0x8000)
    np.testing.assert_array_equal(
        halves.LOOPS["neg"](numbers[:, 100:]).view(np.uint16), numbers[:, 100:].view(np.uint16) ^ 0x8000
    )


def is_left(kernel, *arrays):
    """Whether the kernel leaves arrays to the NumPy backend: it returns None or declines."""
    try:
        return kernel(*arrays) is None
    except BufferError:
        return True


@pytest.mark.parametrize("half", HALVES, ids=str)
def test_arrays_that_are_left_to_the_numpy_backend(half):
    x = np.ones((40, 50), half)
    for other in (x.T.copy().T, x[:, ::-1], np.ones(50, np.float32), np.ones((40, 100), half)[:, ::2], np.ones(3, half)):
        assert is_left(halves.LOOPS["mul"], x, other)
    assert not is_left(halves.LOOPS["mul"], x, np.ones((40, 1), half))
    assert is_left(fast_halves._by_rows, fast_halves.SUM, np.ones((), half), np.ones((), half))
    assert is_left(halves.LOOPS["neg"], x.T)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_rotary_embedding(dtype):
    """The query is a view of packed projections, and the angles broadcast over its heads."""
    torch.manual_seed(0)
    packed, angles = torch.randn(2, 40, 3 * 8 * 32).to(dtype), torch.randn(40, 32)
    cos, sin = angles.cos().to(dtype), angles.sin().to(dtype)
    query = packed.split(8 * 32, -1)[1].view(2, 40, 8, 32).transpose(1, 2)
    first, second = query.chunk(2, -1)
    result = query * cos + torch.cat([-second, first], -1) * sin
    rotated = np.concatenate([-second.float().numpy(), first.float().numpy()], -1)
    singles = [torch.from_numpy(query.float().numpy() * cos.float().numpy()), torch.from_numpy(rotated * sin.float().numpy())]
    assert torch.equal(result, (singles[0].to(dtype).float() + singles[1].to(dtype).float()).to(dtype))


def test_results_do_not_depend_on_the_number_of_threads():
    random = np.random.default_rng(0)
    x, y = random.standard_normal((200, 700)).astype(np.float16), random.standard_normal(700).astype(np.float16)
    before, results = kernels.thread_count(), []
    for count in (1, 3):
        kernels.set_thread_count(count)
        results.append(halves.LOOPS["div"](x, y).tobytes())
    kernels.set_thread_count(before)
    assert results[0] == results[1]


def test_sigmoid_of_large_numbers():
    """The exponential of `-x` overflows below -88.7, where the result is 0; it is normal before."""
    x = np.array([-np.inf, -1e30, -89, -88.7229, -88.7, -88, -87.5, -40, 0, 40, 87.5, 1e30, np.inf, np.nan] * 3, np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        exact = 1 / (1 + np.exp(-x.astype(np.float64)))
    ours = np.empty_like(x)
    kernels.sigmoid(ours, x)
    np.testing.assert_allclose(ours, exact, rtol=3e-7, atol=3e-39)
    assert ours[0] == ours[1] == ours[2] == 0 and ours[12] == 1
    kernels.silu(ours, np.array([-1e30] * len(x), np.float32))
    assert (ours == 0).all()
