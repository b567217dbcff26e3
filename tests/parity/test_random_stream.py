"""The NumPy backend's random stream compared with PyTorch's: values and generator states."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

torch = pytest.importorskip("torch")

from flambeau.backend import memory_order  # noqa: E402
from flambeau_backends.numpy.random import Generator  # noqa: E402

SEED = 20240229
SHAPES = [(), (0,), (1,), (2, 0, 3), (7,), (15,), (16,), (17,), (3, 5), (4, 4, 4), (33, 3), (100_003,)]
FLOATS = ["float32", "float64", "float16", "bfloat16"]
COMPLEX = ["complex64", "complex128"]
INTEGERS = ["bool", "uint8", "int8", "int16", "int32", "int64"]


def numpy_dtype(name):
    return np.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else np.dtype(name)


def to_numpy(tensor):
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return tensor.numpy()


def pair(seed=SEED, drawn=0):
    """Return a PyTorch and a flambeau generator with the same seed, after drawing `drawn` normal numbers from each."""
    theirs, ours = torch.Generator().manual_seed(seed), Generator(seed)
    torch.randn(drawn, generator=theirs, dtype=torch.float64)
    ours.normal((drawn,), np.float64)
    return theirs, ours


def assert_same_state(theirs, ours):
    """Assert equal generator states, including the cached second normal value."""
    expected, state = theirs.get_state().numpy(), ours.get_state()
    spare = slice(5024, 5032)
    np.testing.assert_allclose(state[spare].view(float), expected[spare].view(float), rtol=1e-13)
    expected[spare] = state[spare]
    np.testing.assert_array_equal(state, expected)


def assert_equal(actual, expected):
    expected = to_numpy(expected)
    assert actual.dtype == expected.dtype
    np.testing.assert_array_equal(actual, expected, strict=True)


def assert_close(actual, expected, scale=0.1):
    """Assert closeness with a relative tolerance for the dtype (by default 1e-6), and `scale` times it as absolute tolerance."""
    expected = to_numpy(expected)
    assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape)
    digits = {"float16": 2e-3, "bfloat16": 1.6e-2, "float64": 1e-13, "complex128": 1e-13}
    rtol = digits.get(str(actual.dtype), 1e-6)
    wide = complex if actual.dtype.kind == "c" else float
    np.testing.assert_allclose(actual.astype(wide), expected.astype(wide), rtol=rtol, atol=rtol * scale)


@pytest.fixture(params=[0, 3], ids=["fresh", "used"])
def streams(request):
    return pair(drawn=request.param)


# --- seed and state ---


@pytest.mark.parametrize("seed", [0, 1, -1, -(2**63), 2**32, 2**32 - 1, 2**64 - 1, 67280421310721])
def test_seeds(seed):
    theirs, ours = pair(seed)
    assert ours.initial_seed() == theirs.initial_seed()
    assert_same_state(theirs, ours)
    assert_equal(ours.uniform((5,), np.float32), torch.rand(5, generator=theirs))


def test_default_seed():
    assert_same_state(torch.Generator(), Generator())


@pytest.mark.parametrize("seed", [2**64, -(2**63) - 1])
def test_seeds_out_of_range(seed):
    with pytest.raises(ValueError) as expected:
        torch.Generator().manual_seed(seed)
    with pytest.raises(ValueError, match=str(expected.value)):
        Generator(seed)


@pytest.mark.parametrize("words", [0, 1, 623, 624, 625, 1248, 3000])
@pytest.mark.parametrize("normals", [0, 1, 2])
def test_a_state_carries_over_both_ways(words, normals):
    theirs, ours = pair()
    torch.randint(9, (words,), generator=theirs)
    torch.randn(normals, generator=theirs)
    ours.set_state(theirs.get_state().numpy())
    assert_same_state(theirs, ours)
    assert_close(ours.normal((700,), np.float32), torch.randn(700, generator=theirs))
    assert_same_state(theirs, ours)

    ours.normal((3,), np.float32)
    theirs.set_state(torch.from_numpy(ours.get_state()))
    assert_close(ours.normal((9,), np.float64), torch.randn(9, generator=theirs, dtype=torch.float64))
    assert_same_state(theirs, ours.clone())


@pytest.mark.parametrize("size", [50, 5056])
def test_invalid_states(size):
    with pytest.raises(RuntimeError) as expected:
        torch.Generator().set_state(torch.zeros(size, dtype=torch.uint8))
    with pytest.raises(RuntimeError, match=str(expected.value)):
        Generator().set_state(np.zeros(size, np.uint8))


# --- uniform and integer values: bit for bit ---


@pytest.mark.parametrize("dtype", FLOATS + COMPLEX)
@pytest.mark.parametrize("shape", SHAPES)
def test_rand(shape, dtype, streams):
    theirs, ours = streams
    expected = torch.rand(shape, generator=theirs, dtype=getattr(torch, dtype))
    assert_equal(ours.uniform(shape, numpy_dtype(dtype)), expected)
    assert_same_state(theirs, ours)


@pytest.mark.parametrize("dtype", FLOATS + COMPLEX)
@pytest.mark.parametrize(("low", "high"), [(-1, 1), (0, 1 / 3), (-0.3, 0.7), (2.1, 9.7), (5, 5), (1, 1.001), (-1e4, 3)])
def test_uniform(low, high, dtype, streams):
    theirs, ours = streams
    expected = torch.empty(5000, dtype=getattr(torch, dtype)).uniform_(low, high, generator=theirs)
    assert_equal(ours.uniform((5000,), numpy_dtype(dtype), low, high), expected)
    assert_same_state(theirs, ours)


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
@pytest.mark.parametrize("shape", SHAPES)
def test_random(shape, dtype, streams):
    theirs, ours = streams
    expected = torch.empty(shape, dtype=getattr(torch, dtype)).random_(generator=theirs)
    assert_equal(ours.integers(shape, numpy_dtype(dtype)), expected)
    assert_same_state(theirs, ours)


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [
        ("int64", 0, 10), ("int64", -7, 3), ("int64", 0, 1), ("int64", 0, 2**28 - 1), ("int64", 0, 2**28),
        ("int64", -5, 2**32), ("int64", -(2**62), 2**62), ("int64", -(2**63), 2**63 - 1), ("int64", 7, None),
        ("int64", -(2**63), None), ("int32", -(2**31), 2**31 - 1), ("int32", 5, None), ("int16", -300, 300),
        ("int8", -128, 127), ("uint8", 0, 256), ("uint8", 3, None), ("bool", 0, 2), ("bool", 0, 1),
        ("uint16", 0, 60000), ("uint32", 3, None), ("uint64", 5, 2**50), ("float32", 0, 10),
        ("float32", -(2**24), 2**24), ("float32", -3, None), ("float32", 2**24 + 1, 2**24 + 101),
        ("float32", 0, 2**40 + 1), ("float32", -(2**24) - 3, -(2**24) + 3), ("float32", -(2**63), None),
        ("float64", 0, 2**53), ("float64", 9, None), ("float64", -(2**63), None),
        ("float64", 2**53 + 1, 2**53 + 31), ("float16", 0, 65504), ("float16", -5, None),
        ("float16", 2049, 2101), ("bfloat16", 0, 1000), ("bfloat16", -2, None), ("bfloat16", 257, 1001),
        ("bfloat16", -1000, -257), ("bfloat16", -(2**63), None),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:.* out of bounds")
def test_integers(dtype, low, high, streams):
    theirs, ours = streams
    expected = torch.empty(999, dtype=getattr(torch, dtype)).random_(low, high, generator=theirs)
    assert_equal(ours.integers((999,), numpy_dtype(dtype), low, high), expected)
    assert_same_state(theirs, ours)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 10, 255, 1000, 70_000])
@pytest.mark.parametrize("dtype", ["int64", "int32", "float64"])
def test_randperm(n, dtype, streams):
    theirs, ours = streams
    expected = torch.randperm(n, generator=theirs, dtype=getattr(torch, dtype))
    assert_equal(ours.permutation(n, numpy_dtype(dtype)), expected)
    assert_same_state(theirs, ours)


# --- choices: bit for bit ---


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
@pytest.mark.parametrize("p", [0, 0.5, 0.3, 1, 1e-9, 0.9999])
def test_bernoulli(p, dtype, streams):
    theirs, ours = streams
    for shape in [(), (0,), (5, 7), (100_003,)]:
        expected = torch.empty(shape, dtype=getattr(torch, dtype)).bernoulli_(p, generator=theirs)
        assert_equal(ours.bernoulli(shape, numpy_dtype(dtype), p), expected)
        assert_same_state(theirs, ours)


@pytest.mark.parametrize("p_dtype", FLOATS)
@pytest.mark.parametrize("shape", SHAPES)
def test_bernoulli_of_probabilities(shape, p_dtype, streams):
    theirs, ours = streams
    p = torch.rand(shape, generator=torch.Generator().manual_seed(1)).to(getattr(torch, p_dtype))
    assert_equal(ours.bernoulli(shape, numpy_dtype(p_dtype), to_numpy(p)), torch.bernoulli(p, generator=theirs))
    assert_same_state(theirs, ours)


def test_bernoulli_broadcasts_probabilities(streams):
    theirs, ours = streams
    p = torch.tensor([0.1, 0.5, 0.9])
    assert_equal(ours.bernoulli((9, 3), np.int64, p.numpy()), torch.empty(9, 3).long().bernoulli_(p, generator=theirs))


@pytest.mark.parametrize("p", [0.1, 0.5, 0.75])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_dropout_keeps_by_bernoulli(p, dtype):
    torch.manual_seed(SEED)
    ours = Generator(SEED)
    ones = torch.ones(40, 50, dtype=getattr(torch, dtype))
    for drop in (torch.nn.functional.dropout, lambda x, p: torch.native_dropout(x, p, True)[0]):
        kept = (drop(ones, p) != 0).numpy()
        np.testing.assert_array_equal(ours.bernoulli((40, 50), bool, 1 - p), kept)
    assert_same_state(torch.default_generator, ours)


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(1,), (5,), (1000,), (4, 30), (0, 3)])
@pytest.mark.parametrize("share", [0, 0.4, 1])
def test_multinomial(shape, dtype, replacement, share, streams):
    theirs, ours = streams
    weights = torch.rand(shape, generator=torch.Generator().manual_seed(2), dtype=getattr(torch, dtype)) * 3
    samples = max(1, int(share * shape[-1]))
    expected = torch.multinomial(weights, samples, replacement, generator=theirs)
    assert_equal(ours.multinomial(weights.numpy(), samples, replacement), expected)
    assert_same_state(theirs, ours)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_multinomial_of_half_floats(dtype, streams):
    theirs, ours = streams
    weights = torch.rand(6, 20, generator=torch.Generator().manual_seed(2)).to(getattr(torch, dtype))
    for samples, replacement in [(9, True), (1, False)]:
        expected = torch.multinomial(weights, samples, replacement, generator=theirs)
        assert_equal(ours.multinomial(to_numpy(weights), samples, replacement), expected)
    assert_same_state(theirs, ours)


# --- normal values, bit for bit ---


@pytest.mark.skipif(
    torch.backends.cpu.get_cpu_capability() not in ("AVX2", "AVX512"), reason="PyTorch has other polynomials on other processors"
)
@pytest.mark.parametrize("dtype", FLOATS + COMPLEX)
@pytest.mark.parametrize("parameters", [(0.0, 1.0), (0.0, 0.02), (-1.3, 1.0), (0.3, 1.7)])
def test_normal_in_every_bit(dtype, parameters, streams):
    theirs, ours = streams
    for shape in SHAPES:
        expected = torch.empty(shape, dtype=getattr(torch, dtype)).normal_(*parameters, generator=theirs)
        assert_equal(ours.normal(shape, numpy_dtype(dtype), *parameters), expected)
        expected = torch.empty((*shape, 3), dtype=getattr(torch, dtype))[..., 0].normal_(*parameters, generator=theirs)
        assert_equal(ours.normal(shape, numpy_dtype(dtype), *parameters, contiguous=expected.is_contiguous()), expected)
    assert_same_state(theirs, ours)


@pytest.mark.parametrize("name", ["exponential", "cauchy"])
def test_doubles_in_every_bit(name, streams):
    theirs, ours = streams
    expected = getattr(torch.empty(40_001, dtype=torch.float64), f"{name}_")(generator=theirs)
    assert_equal(getattr(ours, name)((40_001,), np.dtype(float)), expected)


# --- transformed values: the same draws, to the last digits ---

TRANSFORMED = {
    "exponential": ("exponential_", [(), (0.3,), (7,)]),
    "geometric": ("geometric_", [(0.3,), (0.001,), (0.999,)]),
    "cauchy": ("cauchy_", [(), (2, 0.5)]),
    "log_normal": ("log_normal_", [(), (0, 0.1)]),
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", TRANSFORMED)
def test_transformed(name, dtype, streams):
    theirs, ours = streams
    method, parameters = TRANSFORMED[name]
    for args in parameters:
        for shape in [(), (0,), (7,), (16,), (3, 6), (40_001,)]:
            target = torch.empty(shape, dtype=getattr(torch, dtype))
            expected = getattr(target, method)(*args, generator=theirs)
            assert_close(getattr(ours, name)(shape, numpy_dtype(dtype), *args), expected)
            assert_same_state(theirs, ours)


@pytest.mark.parametrize("dtype", ["int64", "uint8", "int16"])
def test_geometric_integers(dtype, streams):
    theirs, ours = streams
    expected = torch.empty(500, dtype=getattr(torch, dtype)).geometric_(0.2, generator=theirs)
    assert_equal(ours.geometric((500,), numpy_dtype(dtype), 0.2), expected)


@pytest.mark.parametrize("dtype", FLOATS + COMPLEX)
@pytest.mark.parametrize("shape", SHAPES)
def test_randn(shape, dtype, streams):
    theirs, ours = streams
    expected = torch.randn(shape, generator=theirs, dtype=getattr(torch, dtype))
    assert_close(ours.normal(shape, numpy_dtype(dtype)), expected)
    assert_same_state(theirs, ours)


@pytest.mark.parametrize("dtype", FLOATS + COMPLEX)
@pytest.mark.parametrize(("mean", "std"), [(0, 0.02), (3, 2.5), (-1, 0)])
@pytest.mark.parametrize("n", [5, 16, 1000])
def test_normal(n, mean, std, dtype, streams):
    theirs, ours = streams
    expected = torch.empty(n, dtype=getattr(torch, dtype)).normal_(mean, std, generator=theirs)
    assert_close(ours.normal((n,), numpy_dtype(dtype), mean, std), expected, scale=abs(mean) + std)
    assert_same_state(theirs, ours)


@pytest.mark.parametrize("n", [3, 20])
def test_normal_of_tensors(n, streams):
    theirs, ours = streams
    mean, std = torch.linspace(-5, 5, n), torch.linspace(0, 2, 2)[:, None]
    array_mean, array_std = mean.numpy(), std.numpy()
    assert_close(ours.normal((2, n), np.float32, array_mean, array_std), torch.normal(mean, std, generator=theirs))
    assert_close(ours.normal((n,), np.float32, array_mean, 0.5), torch.normal(mean, 0.5, generator=theirs))
    assert_close(ours.normal((2, 1), np.float32, 4.0, array_std), torch.normal(4.0, std, generator=theirs))
    assert_close(
        ours.normal((n,), np.float32, array_mean, np.ones(n)),
        torch.normal(mean, torch.ones(n, dtype=torch.float64), generator=theirs),
    )
    assert_same_state(theirs, ours)


# --- rejection ---


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(), (0,), (9,), (40, 50)])
def test_poisson(shape, dtype, streams):
    theirs, ours = streams
    spread = torch.randn(shape, generator=torch.Generator().manual_seed(3)) * 2 + 1
    rates = (spread.exp() * (spread > -1)).to(getattr(torch, dtype))
    assert_equal(ours.poisson(to_numpy(rates)), torch.poisson(rates, generator=theirs))
    assert_same_state(theirs, ours)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("trials", [1, 12, 300, 1_000_000])
def test_binomial(trials, dtype, streams):
    theirs, ours = streams
    prob = torch.rand(1500, generator=torch.Generator().manual_seed(4), dtype=getattr(torch, dtype))
    prob[:4] = torch.tensor([0, 1, 0.5, float("nan")])
    count = torch.full_like(prob, trials)
    count[5:8] = torch.tensor([-1, 0, 2])
    expected = torch.binomial(count, prob, generator=theirs)
    np.testing.assert_array_equal(ours.binomial(count.numpy(), prob.numpy()), expected.numpy())
    assert_same_state(theirs, ours)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(), (0,), (9,), (40, 50)])
def test_gamma(shape, dtype, streams):
    theirs, ours = streams
    alpha = torch.randn(shape, generator=torch.Generator().manual_seed(5), dtype=getattr(torch, dtype)).exp()
    alpha = alpha * (alpha > 0.1)
    assert_close(ours.gamma(alpha.numpy()), torch._standard_gamma(alpha, generator=theirs))
    assert_same_state(theirs, ours)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(), (3,), (50, 4), (0, 3)])
def test_dirichlet(shape, dtype, streams):
    theirs, ours = streams
    alpha = torch.rand(shape, generator=torch.Generator().manual_seed(6), dtype=getattr(torch, dtype)) * 2
    assert_close(ours.dirichlet(alpha.numpy()), torch._sample_dirichlet(alpha, generator=theirs))
    assert_same_state(theirs, ours)


# --- targets that are not contiguous ---

VIEWS = {
    "transposed": lambda dtype: torch.empty(6, 7, dtype=dtype).t(),
    "sliced": lambda dtype: torch.empty(6, 14, dtype=dtype)[:, ::2],
    "channels last": lambda dtype: torch.empty(2, 3, 4, 5, dtype=dtype).to(memory_format=torch.channels_last),
    "permuted and sliced": lambda dtype: torch.empty(3, 8, 5, dtype=dtype).permute(2, 0, 1)[1:, :, ::3],
    "one row": lambda dtype: torch.empty(6, 7, dtype=dtype).t()[:, :1],
    "small": lambda dtype: torch.empty(3, 2, dtype=dtype).t(),
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_in_place_fills_follow_memory(view, dtype, streams):
    theirs, ours = streams
    target = VIEWS[view](getattr(torch, dtype))
    order = memory_order(target.shape, target.stride())
    shape = target.permute(order).shape

    expected = target.uniform_(-1, 2, generator=theirs).permute(order)
    assert_equal(ours.uniform(shape, numpy_dtype(dtype), -1, 2), expected)
    expected = target.normal_(generator=theirs).permute(order)
    assert_close(ours.normal(shape, numpy_dtype(dtype), contiguous=target.is_contiguous()), expected)
    assert_same_state(theirs, ours)


# --- errors ---


@pytest.mark.parametrize(
    ("name", "args", "method", "theirs"),
    [
        ("uniform", (2.5, 1), "uniform_", (2.5, 1)),
        ("integers", (5, 3), "random_", (5, 3)),
        ("bernoulli", (1.5,), "bernoulli_", (1.5,)),
        ("bernoulli", (float("nan"),), "bernoulli_", (float("nan"),)),
        ("bernoulli", (np.array([0.5, 2, 0]),), "bernoulli_", (torch.tensor([0.5, 2, 0]),)),
        ("normal", (0, -1e-9), "normal_", (0, -1e-9)),
        ("log_normal", (0, 0), "log_normal_", (0, 0)),
        ("exponential", (-1.5,), "exponential_", (-1.5,)),
        ("geometric", (1,), "geometric_", (1,)),
        ("cauchy", (0, -1), "cauchy_", (0, -1)),
    ],
)
def test_bad_parameters(name, args, method, theirs):
    with pytest.raises(RuntimeError) as expected:
        getattr(torch.empty(3), method)(*theirs)
    with pytest.raises(RuntimeError) as actual:
        getattr(Generator(), name)((3,), np.float32, *args)
    assert str(actual.value) == str(expected.value).split("  (Could this")[0]


@pytest.mark.parametrize(
    ("weights", "args"),
    [
        ([0.0, 0.0], (1, False)), ([[1.0, 1.0], [0.0, 0.0]], (1, True)), ([-1.0, 2.0], (1, True)),
        ([float("inf"), 1.0], (1, False)), ([float("nan"), 1.0], (1, True)), ([1.0, 2.0], (3, False)),
        ([1.0, 2.0], (0, True)), ([[[1.0]]], (1, True)), (1.0, (1, True)),
    ],
)  # fmt: skip
def test_bad_weights(weights, args):
    weights = torch.tensor(weights)
    with pytest.raises(RuntimeError) as expected:
        torch.multinomial(weights, *args)
    with pytest.raises(RuntimeError) as actual:
        Generator().multinomial(weights.numpy(), *args)
    assert str(actual.value) == str(expected.value)


@pytest.mark.parametrize("mean_std", [(0.0, [-1.0]), ([0.0], -1.0), (0.0, [1j])])
def test_bad_deviations(mean_std):
    tensors = [torch.tensor(x) if isinstance(x, list) else x for x in mean_std]
    arrays = [x.numpy() if isinstance(x, torch.Tensor) else x for x in tensors]
    with pytest.raises(RuntimeError) as expected:
        torch.normal(*tensors)
    with pytest.raises(RuntimeError) as actual:
        Generator().normal((1,), np.float32, *arrays)
    assert str(actual.value) == str(expected.value)


@pytest.mark.parametrize("rate", [-1.0, float("nan")])
def test_bad_rates(rate):
    with pytest.raises(RuntimeError) as expected:
        torch.poisson(torch.tensor([rate]))
    with pytest.raises(RuntimeError) as actual:
        Generator().poisson(np.array([rate]))
    assert str(actual.value) == str(expected.value)
