"""The NumPy backend's random stream: values recorded from PyTorch 2.13 (CPU, seed 42), and their distributions."""

from __future__ import annotations

import hashlib
import math
import threading
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flambeau_backends.numpy import random
from flambeau_backends.numpy.random import Generator

f32, f64, f16, i64 = np.float32, np.float64, np.float16, np.int64


def digest(generator):
    return hashlib.sha256(generator.get_state().tobytes()).hexdigest()


# --- recorded values ---

EXACT = {
    "uniform float32": (
        lambda g: g.uniform((4,), f32),
        [0.882269263, 0.915003955, 0.38286376, 0.959305644],
    ),
    "uniform float64": (
        lambda g: g.uniform((3,), f64),
        [0.05815448596142969, 0.06291016742457756, 0.12358607277440903],
    ),
    "uniform float16": (
        lambda g: g.uniform((4,), f16),
        [0.882324219, 0.915039062, 0.3828125, 0.959472656],
    ),
    "uniform complex64": (
        lambda g: g.uniform((2,), np.complex64),
        [0.882269263 + 0.915003955j, 0.38286376 + 0.959305644j],
    ),
    "uniform between, float32": (
        lambda g: g.uniform((4,), f32, -0.3, 0.7),
        [0.582269251, 0.615003943, 0.0828637481, 0.659305632],
    ),
    "uniform between, float64": (
        lambda g: g.uniform((3,), f64, 2.1, 9.7),
        [2.5419740933068655, 2.5781172724267893, 3.039254153085509],
    ),
    "integers": (lambda g: g.integers((8,), i64, 0, 10), [2, 7, 6, 4, 6, 5, 0, 4]),
    "integers int8": (lambda g: g.integers((6,), np.int8, -5, 5), [-3, 2, 1, -1, 1, 0]),
    "integers of two words": (
        lambda g: g.integers((3,), i64, 0, 2**40),
        [441507790259, 395924837646, 458615280711],
    ),
    "integers int64": (lambda g: g.integers((2,), i64), [6909045637428952499, 8314211556539077902]),
    "integers uint8": (lambda g: g.integers((4,), np.uint8), [102, 179, 92, 14]),
    "integers float32": (lambda g: g.integers((3,), f32), [14801927, 15351016, 6423145]),
    "integers of all bits": (
        lambda g: g.integers((2,), i64, -(2**63)),
        [6909045637428952499, -909160480315697906],
    ),
    "integers bool": (lambda g: g.integers((8,), bool), [0, 1, 0, 0, 0, 1, 0, 0]),
    "permutation": (lambda g: g.permutation(12, i64), [6, 8, 1, 7, 0, 2, 10, 11, 4, 3, 5, 9]),
    "bernoulli": (lambda g: g.bernoulli((12,), i64, 0.3), [1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 0]),
    "bernoulli of probabilities": (
        lambda g: g.bernoulli((12,), f32, np.full(12, 0.3, f32)),
        [0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0],
    ),
    "multinomial with replacement": (
        lambda g: g.multinomial(np.array([1, 2, 3, 4], f32), 8, True),
        [0, 0, 1, 0, 2, 2, 3, 3],
    ),
    "multinomial": (lambda g: g.multinomial(np.array([1, 2, 3, 4], f32), 3), [3, 1, 2]),
    "multinomial of rows": (
        lambda g: g.multinomial(np.array([[1, 2, 3], [3, 2, 1]], f32), 2),
        [[1, 2], [0, 1]],
    ),
    "geometric": (lambda g: g.geometric((6,), i64, 0.3), [8, 8, 6, 9, 2, 3]),
    "poisson": (lambda g: g.poisson(np.array([0, 0.5, 3, 20, 300], f32)), [0, 0, 1, 28, 278]),
    "binomial": (
        lambda g: g.binomial(
            np.array([10, 10, 100, 100, 1000], f32), np.array([0.2, 0.9, 0.3, 0.6, 0.001], f32)
        ),
        [0, 10, 24, 60, 2],
    ),
}  # fmt: skip

CLOSE = {
    "normal, few": (
        lambda g: g.normal((5,), f32),
        [0.336690366, 0.128809407, 0.234462366, 0.23033303, -1.12285638],
    ),
    "normal, in blocks": (
        lambda g: g.normal((20,), f32),
        [1.92691529, 1.48728406, 0.900717199, -2.10552096, -0.758131146, 1.07831764, 0.800800562,
         1.68062055, 0.355859905, -0.686622977, -0.493356347, 0.241487786, -0.23162432, 0.041759491,
         -0.251575291, 0.859858513, -0.309726775, -0.395710498, 0.803409338, -0.621595383],
    ),
    "normal float64": (
        lambda g: g.normal((17,), f64),
        [0.2995562877502637, 1.504572275678796, 1.2715909667771088, 0.618669993885617, -0.03720300727052493,
         1.0352472972512925, -0.010085521702337353, 0.08948016046560357, 0.038435238263354446,
         0.3900034836035703, -0.5798414554742108, 0.875893884648022, 0.39238484373268534, 1.108461181451433,
         0.8651734647119074, 0.855215961472287, 0.2494118796915765],
    ),
    "normal float16": (
        lambda g: g.normal((17,), f16),
        [1.92675781, 1.64257812, -0.159545898, -0.497314453, 0.439697266, -0.758300781, 1.078125,
         0.80078125, 1.68066406, 1.27929688, 1.296875, 0.610351562, 1.33496094, -0.231567383,
         0.0417480469, -0.251464844, 0.859863281],
    ),
    "normal complex64": (
        lambda g: g.normal((2,), np.complex64),
        [0.238076031 + 0.0910820067j, 0.165789932 + 0.162870049j],
    ),
    "normal, not contiguous": (
        lambda g: g.normal((16,), f32, contiguous=False),
        [0.336690366, 0.128809407, 0.234462366, 0.23033303, -1.12285638, -0.186328292, 2.20820141,
         -0.637997031, 0.461657226, 0.267350882, 0.534904659, 0.809357226, 1.11029029, -1.68979895,
         -0.988959908, 0.957971811],
    ),
    "normal around": (
        lambda g: g.normal((16,), f32, 3, 0.5),
        [3.96345758, 3.74364209, 3.45035863, 1.94723952, 3.33920932, 2.38272762, 2.97846627, 2.19766665,
         2.62393236, 3.82436156, 2.80376077, 2.29819632, 2.63605928, 2.72028494, 2.61558056, 3.38122272],
    ),
    "exponential": (
        lambda g: g.exponential((4,), f32, 2.0),
        [0.0299570076, 0.032488063, 0.0659583881, 0.0270064753],
    ),
    "cauchy": (lambda g: g.cauchy((4,), f32, 1, 2), [-9.82497501, -8.98740196, -3.88974857, -10.9972792]),
    "log_normal": (
        lambda g: g.log_normal((4,), f32, 0, 0.5),
        [1.18334496, 1.06652391, 1.12437928, 1.1220603],
    ),
    "gamma": (
        lambda g: g.gamma(np.array([0.1, 0.5, 1, 5, 50], f32)),
        [0.692726076, 0.312882721, 0.269644499, 5.92019081, 55.5917168],
    ),
    "dirichlet": (
        lambda g: g.dirichlet(np.array([0.5, 1, 2], f32)),
        [0.628486872, 0.339300185, 0.0322129317],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EXACT)
def test_recorded_values(name):
    draw, expected = EXACT[name]
    actual = draw(Generator(42))
    np.testing.assert_array_equal(actual, np.array(expected, actual.dtype), strict=True)


@pytest.mark.parametrize("name", CLOSE)
def test_recorded_transformed_values(name):
    draw, expected = CLOSE[name]
    actual = draw(Generator(42))
    rtol = {"float16": 1e-3, "float64": 1e-13}.get(str(actual.dtype), 1e-6)
    np.testing.assert_allclose(actual, np.array(expected, actual.dtype), rtol=rtol, strict=True)


def test_recorded_bfloat16():
    actual = Generator(42).uniform((4,), ml_dtypes.bfloat16)
    assert actual.dtype == ml_dtypes.bfloat16
    assert actual.tolist() == [0.8828125, 0.9140625, 0.3828125, 0.9609375]


def test_recorded_normal_values_in_every_bit():
    """Recorded on AVX2. float32 values use only arithmetic, sqrt and casts, so they are the same on every processor."""
    values = Generator(42).normal((100_003,), f32)
    assert hashlib.sha256(values.tobytes()).hexdigest() == "fa6d3f1cca1f8ba319c9731c6816c1e716c4d2d6b07411f1d8d48ed6a3c08169"
    generator = Generator(42)
    values = np.concatenate([generator.normal((n,), f32, 0.3, 1.7) for n in range(16, 1100, 7)])
    assert hashlib.sha256(values.tobytes()).hexdigest() == "3a996f395570bd6c87f4b23239133409ae46152e2e1c05d77fa7355cfa56ca0f"


# --- seed and state ---


def test_recorded_states():
    generator = Generator(42)
    assert digest(generator) == "5feb54a46230d321d888e9b43cf5a57492665f199e4377408d79ee460e36679c"
    generator.uniform((1000,), f32)
    assert digest(generator) == "75ddb2bd810e03fd2cbb743ee21c9754eafd6975827bb3508be7dd07169d33ea"


def test_a_waiting_normal_value_is_part_of_the_state():
    generator = Generator(42)
    third = generator.normal((3,), f64)[2]
    state = generator.get_state()
    assert state[5024:5032].view(f64)[0] == pytest.approx(0.23033303, rel=1e-6)
    assert state[5040] == 1
    fourth = generator.normal((1,), f64)[0]
    assert fourth == state[5024:5032].view(f64)[0] != third
    assert generator.get_state()[5040] == 0


@pytest.mark.parametrize("seed", [0, 1, -1, 2**32 + 1, 2**64 - 1])
def test_seeding_restarts_the_stream(seed):
    generator = Generator(seed)
    first = generator.normal((33,), f32)
    generator.normal((3,), f32)
    assert generator.manual_seed(seed) is generator
    np.testing.assert_array_equal(generator.normal((33,), f32), first)
    assert generator.initial_seed() == seed % 2**64


def test_the_engine_takes_32_bits_of_the_seed():
    a, b = Generator(5), Generator(5 + 2**32)
    np.testing.assert_array_equal(a.uniform((9,), f32), b.uniform((9,), f32))
    assert a.initial_seed() != b.initial_seed()


def test_a_seed_of_the_system():
    generator = Generator()
    seed = generator.seed()
    assert generator.initial_seed() == seed != generator.seed()


@pytest.mark.parametrize("seed", [2**64, -(2**63) - 1])
def test_seed_out_of_range(seed):
    with pytest.raises(ValueError, match="Overflow when unpacking long long"):
        Generator().manual_seed(seed)


@given(words=st.integers(0, 1500), normals=st.integers(0, 20))
@settings(max_examples=30, deadline=None)
def test_a_state_continues_the_stream(words, normals):
    generator = Generator(7)
    generator.uniform((words,), f32)
    generator.normal((normals,), f32)
    state, copy = generator.get_state(), generator.clone()
    np.testing.assert_array_equal(copy.get_state(), state)
    values = generator.normal((70,), f64)
    np.testing.assert_array_equal(copy.normal((70,), f64), values)
    generator.set_state(state)
    np.testing.assert_array_equal(generator.normal((70,), f64), values)


@given(counts=st.lists(st.sampled_from([1, 5, 40, 255, 700, 1025, 3000]), max_size=30))
@settings(max_examples=30, deadline=None)
def test_words_drawn_ahead_do_not_show(counts):
    """Draws of any size match NumPy's MT19937, and the state does not reveal buffered draws."""
    generator, engine = Generator(7), np.random.MT19937()
    np.random.RandomState(engine).seed(7)
    for count in counts:
        np.testing.assert_array_equal(generator.integers((count,), i64, 0, 2**20), engine.random_raw(count) % 2**20)
        key = generator.get_state()[24:5016].view(np.uint64)
        np.testing.assert_array_equal(key, engine.state["state"]["key"])
        assert generator.get_state()[8:12].view(np.int32) == 625 - engine.state["state"]["pos"]


def test_threads_share_a_stream():
    generator, drawn = Generator(7), []

    def draw():
        for _ in range(200):
            drawn.extend(generator.uniform((5,), f64).tolist())

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(drawn) == sorted(Generator(7).uniform((4000,), f64).tolist())


def test_a_clone_is_independent():
    generator = Generator(7)
    before = digest(generator)
    generator.clone().uniform((700,), f32)
    assert digest(generator) == before


@pytest.mark.parametrize(("size", "message"), [(50, "of size 5056 but found .* 50"), (5056, "Invalid mt19937 state")])
def test_bad_states(size, message):
    with pytest.raises(RuntimeError, match=message):
        Generator().set_state(np.zeros(size, np.uint8))


# --- independent references ---


def test_uniform_against_numpys_own_engine():
    words = np.random.RandomState(9).randint(0, 2**32, 100_000, dtype=np.uint32).astype(np.uint64)
    np.testing.assert_array_equal(Generator(9).uniform((100_000,), f32), (words % 2**24) / 2**24)
    doubles = (words[::2] << 32 | words[1::2]) % 2**53 / 2**53
    np.testing.assert_array_equal(Generator(9).uniform((50, 1000), f64).ravel(), doubles)
    np.testing.assert_array_equal(Generator(9).bernoulli((50_000,), bool, 0.7), doubles < 0.7)
    np.testing.assert_array_equal(Generator(9).integers((100_000,), i64, -3, 1000), words.astype(i64) % 1003 - 3)


@pytest.mark.parametrize("dtype", [f32, f64])
def test_uniform_rounds_once(dtype):
    """`low + u * (high - low)` is rounded once, like a fused multiply-add. The reference uses exact fractions."""
    low, high = dtype(-1.7), dtype(123.1)
    span = Fraction(float(high - low))
    unit = Generator(3).uniform((500,), dtype)
    exact = [Fraction(float(x)) * span + Fraction(float(low)) for x in unit]
    expected = [f32(float(x)) if dtype is f32 else float(x) for x in exact]
    np.testing.assert_array_equal(Generator(3).uniform((500,), dtype, low, high), expected)


@given(n=st.integers(0, 300), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=50, deadline=None)
def test_permutation_against_swaps_one_by_one(n, seed):
    words = np.random.RandomState(seed).randint(0, 2**32, max(n - 1, 0), dtype=np.uint32).tolist()
    places = list(range(n))
    for i, word in enumerate(words):
        j = i + word % (n - i)
        places[i], places[j] = places[j], places[i]
    assert Generator(seed).permutation(n, i64).tolist() == places


@pytest.mark.parametrize("name", ["uniform", "normal", "exponential", "cauchy", "log_normal", "integers", "bernoulli"])
@pytest.mark.parametrize("dtype", [f32, f64])
def test_chunks_do_not_show(name, dtype, monkeypatch):
    n = 5003
    whole = getattr(Generator(1), name)((n,), dtype)
    monkeypatch.setattr(random, "_CHUNK", 64)
    np.testing.assert_allclose(getattr(Generator(1), name)((n,), dtype), whole, rtol=1e-6)


def test_rejection_draws_nothing_in_vain():
    """Drawing element by element and drawing in one call end in the same generator state."""
    parameters = np.exp(np.linspace(-3, 6, 200))
    chances = np.linspace(0, 1, 200)
    one, all_ = Generator(8), Generator(8)
    gammas = [one.gamma(x) for x in parameters[:, None]]
    poissons = [one.poisson(x) for x in parameters[:, None]]
    hits = [one.binomial(n, p) for n, p in zip(np.floor(parameters)[:, None], chances[:, None], strict=True)]
    np.testing.assert_array_equal(all_.gamma(parameters), np.ravel(gammas))
    np.testing.assert_array_equal(all_.poisson(parameters), np.ravel(poissons))
    np.testing.assert_array_equal(all_.binomial(np.floor(parameters), chances), np.ravel(hits))
    assert digest(one) == digest(all_)


# --- laws ---

LAWS = {
    "uniform": (lambda g, n: g.uniform((n,), f32, -1, 3), 1, 16 / 12),
    "integers": (lambda g, n: g.integers((n,), i64, 0, 6), 2.5, 35 / 12),
    "normal": (lambda g, n: g.normal((n,), f32, 2, 3), 2, 9),
    "normal, not contiguous": (lambda g, n: g.normal((n,), f64, 2, 3, contiguous=False), 2, 9),
    "bernoulli": (lambda g, n: g.bernoulli((n,), f32, 0.3), 0.3, 0.21),
    "exponential": (lambda g, n: g.exponential((n,), f64, 0.5), 2, 4),
    "geometric": (lambda g, n: g.geometric((n,), i64, 0.25), 4, 12),
    "log_normal": (lambda g, n: np.log(g.log_normal((n,), f64, 1, 2)), 1, 4),
    "small poisson": (lambda g, n: g.poisson(np.full(n, 3.0)), 3, 3),
    "large poisson": (lambda g, n: g.poisson(np.full(n, 40.0)), 40, 40),
    "small binomial": (lambda g, n: g.binomial(np.full(n, 20.0), np.full(n, 0.2)), 4, 3.2),
    "large binomial": (lambda g, n: g.binomial(np.full(n, 100.0), np.full(n, 0.7)), 70, 21),
    "small gamma": (lambda g, n: g.gamma(np.full(n, 0.5)), 0.5, 0.5),
    "large gamma": (lambda g, n: g.gamma(np.full(n, 7.0)), 7, 7),
    "dirichlet": (lambda g, n: g.dirichlet(np.tile([1.0, 2.0, 3.0], (n, 1)))[:, 0], 1 / 6, 5 / 252),
    "multinomial": (lambda g, n: g.multinomial(np.array([1.0, 0.0, 3.0]), n, True), 1.5, 0.75),
}  # fmt: skip


@pytest.mark.parametrize("name", LAWS)
def test_mean_and_variance(name):
    draw, mean, variance = LAWS[name]
    n = 20_000
    values = np.asarray(draw(Generator(123), n), float)
    kurtosis = np.mean((values - mean) ** 4) / variance**2
    assert abs(values.mean() - mean) < 4.5 * math.sqrt(variance / n)
    assert abs(values.var() / variance - 1) < 4.5 * math.sqrt(kurtosis / n)


def test_cauchy_quartiles():
    values = Generator(5).cauchy((20_000,), f64, 3, 2)
    np.testing.assert_allclose(np.quantile(values, [0.25, 0.5, 0.75]), [1, 3, 5], atol=0.15)


def test_permutations_are_even():
    generator = Generator(6)
    places = np.array([generator.permutation(5, i64) for _ in range(4000)])
    counts = np.stack([(places == value).sum(0) for value in range(5)])
    assert abs(counts - 800).max() < 4.5 * math.sqrt(4000 * 0.2 * 0.8)


def test_multinomial_draws_distinct_categories():
    weights = np.random.default_rng(0).random((50, 9))
    picks = Generator(4).multinomial(weights, 9)
    np.testing.assert_array_equal(np.sort(picks, axis=1), np.tile(np.arange(9), (50, 1)))
    first = Generator(4).multinomial(np.tile([1.0, 3.0], (20_000, 1)), 1)
    assert abs(first.mean() - 0.75) < 0.015


def test_multinomial_never_picks_weight_zero():
    weights = np.array([0.0, 1.0, 0.0, 2.0, 0.0], f32)
    assert set(Generator(4).multinomial(weights, 500, True).tolist()) == {1, 3}
    assert set(Generator(4).multinomial(weights, 2).tolist()) == {1, 3}


# --- shapes, dtypes, bounds ---


@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 0, 3), (3, 5), (4, 4, 2)])
def test_shapes_and_dtypes(shape):
    generator = Generator(2)
    for dtype in (f16, f32, f64):
        for name in ("uniform", "normal", "exponential", "cauchy", "log_normal", "integers", "bernoulli"):
            values = getattr(generator, name)(shape, dtype)
            assert isinstance(values, np.ndarray)
            assert (values.shape, values.dtype) == (shape, dtype)
            assert values.flags.c_contiguous and values.flags.writeable
    for dtype in (np.complex64, np.complex128):
        for name in ("uniform", "normal"):
            values = getattr(generator, name)(shape, dtype)
            assert (values.shape, values.dtype) == (shape, dtype)
    ones = np.ones(shape, f32)
    for values in (generator.poisson(ones), generator.gamma(ones), generator.binomial(ones, ones / 2)):
        assert (values.shape, values.dtype) == (shape, f32)


@pytest.mark.parametrize("dtype", [f16, f32, f64])
def test_uniform_leaves_the_upper_end_open(dtype):
    values = Generator(1).uniform((200_000,), dtype)
    assert values.min() >= 0 and values.max() < 1
    values = Generator(1).uniform((200_000,), dtype, 1, 1 + 4 * np.finfo(dtype).eps)
    assert values.min() == 1 and values.max() < 1 + 4 * np.finfo(dtype).eps


@given(low=st.integers(-(2**63), 2**63 - 2), width=st.integers(1, 2**64), seed=st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_integers_stay_within_bounds(low, width, seed):
    high = min(low + width, 2**63 - 1)
    values = Generator(seed).integers((50,), i64, low, high).tolist()
    assert all(low <= value < high for value in values)


def test_degenerate_parameters():
    generator = Generator(3)
    assert not generator.bernoulli((99,), bool, 0).any()
    assert generator.bernoulli((99,), bool, 1).all()
    assert (generator.normal((99,), f32, 5, 0) == 5).all()
    assert (generator.uniform((99,), f32, 2, 2) == 2).all()
    before = digest(generator)
    assert generator.poisson(np.zeros(3)).tolist() == [0, 0, 0]
    assert generator.binomial(np.array([5.0, 5, 0, -1]), np.array([0.0, 1, 0.5, 0.5])).tolist() == [
        0,
        5,
        0,
        0,
    ]
    assert (generator.gamma(np.zeros(3)) == np.finfo(f64).tiny).all()
    assert np.isnan(generator.gamma(np.array([np.nan]))).all()
    assert np.isnan(generator.binomial(np.array([5.0]), np.array([np.nan]))).all()
    assert digest(generator) == before


def test_infinities_come_without_a_warning(recwarn):
    assert np.isinf(Generator().cauchy((1000,), f16, 0, 1e6)).any()
    assert np.isinf(Generator().log_normal((1000,), f32, 100, 9)).any()
    assert np.isinf(Generator().normal((1000,), f16, 0, 1e5)).any()
    assert not recwarn.list


def test_normal_around_arrays():
    mean, std = np.array([10.0, -10.0], f32), np.array([[0.0], [1.0]], f32)
    values = Generator(5).normal((2, 2), f32, mean, std)
    np.testing.assert_array_equal(values[0], mean)
    np.testing.assert_allclose(values[1], mean + Generator(5).normal((2, 2), f32)[1], rtol=1e-6)


# --- errors ---


@pytest.mark.parametrize(
    ("name", "args", "message"),
    [
        ("uniform", (2.5, 1), "uniform_ expects to return a [from, to) range, but found from=2.5 > to=1"),
        ("integers", (5, 3), "random_ expects 'from' to be less than 'to', but got from=5 >= to=3"),
        ("bernoulli", (1.5,), "bernoulli_ expects p to be in [0, 1], but got p=1.5"),
        ("bernoulli", (np.array([2.0]),), "Expected p_in >= 0 && p_in <= 1 to be true, but got false."),
        ("normal", (0, -1), "normal expects std >= 0.0, but found std -1"),
        ("normal", (0, np.array([-1.0])), "normal expects all elements of std >= 0.0"),
        ("log_normal", (0, 0), "log_normal_ expects std > 0.0, but found std=0"),
        ("exponential", (-1.5,), "exponential_ expects lambda > 0.0, but found lambda=-1.5"),
        ("geometric", (1,), "geometric_ expects p to be in (0, 1), but got p=1"),
        ("cauchy", (0, -1), "cauchy_ expects sigma > 0.0, but found sigma=-1"),
    ],
)
def test_bad_parameters(name, args, message):
    with pytest.raises(RuntimeError) as error:
        getattr(Generator(), name)((1,), f32, *args)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("weights", "samples", "replacement", "message"),
    [
        ([0.0, 0.0], 1, False, "invalid multinomial distribution (sum of probabilities <= 0)"),
        ([[1.0, 1.0], [0.0, 0.0]], 2, True, "invalid multinomial distribution (sum of probabilities <= 0)"),
        ([-1.0, 2.0], 1, False, "probability tensor contains either `inf`, `nan` or element < 0"),
        ([np.inf, 2.0], 2, True, "probability tensor contains either `inf`, `nan` or element < 0"),
        ([1.0, 2.0], 3, False, "cannot sample n_sample > prob_dist.size(-1) samples without replacement"),
        ([1.0, 2.0], 0, True, "cannot sample n_sample <= 0 samples"),
        (1.0, 1, True, "prob_dist must be 1 or 2 dim"),
    ],
)
def test_bad_weights(weights, samples, replacement, message):
    with pytest.raises(RuntimeError) as error:
        Generator().multinomial(np.array(weights), samples, replacement)
    assert str(error.value) == message


def test_bad_rate():
    with pytest.raises(RuntimeError, match="invalid Poisson rate, expected rate to be non-negative"):
        Generator().poisson(np.array([1.0, -1.0]))
