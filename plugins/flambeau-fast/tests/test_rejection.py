"""Gamma, Poisson and binomial values of the compiled loops are those of the NumPy backend's, bit by bit."""

import os
import subprocess
import sys

import numpy as np
import pytest
from flambeau_fast import rejection as pack

from flambeau_backends.numpy.packs import Generator, rejection

DTYPES = (np.float32, np.float64)
VARIANTS = ("plain", "avx2", "avx512", "avx512_bf16", "amx")


def gamma_shapes(random, n):
    return np.exp(random.uniform(np.log(1e-3), np.log(1e4), n))


def rates(random, n):
    return np.exp(random.uniform(np.log(1e-2), np.log(1e6), n))


def trials(random, n):
    return np.floor(np.exp(random.uniform(0, np.log(1e5), n)))


def alternating(*values):
    return lambda random, n: np.resize(np.array(values), n)


CALLS = {
    "gamma": lambda draw, x, random: draw.gamma(x),
    "dirichlet": lambda draw, x, random: draw.dirichlet(x),
    "poisson": lambda draw, x, random: draw.poisson(x),
    "binomial": lambda draw, x, random: draw.binomial(x, random.random(x.shape).astype(x.dtype)),
    "binomial-edges": lambda draw, x, random: draw.binomial(x, random.choice([0, 1e-6, 0.5, 0.9, 1], x.shape).astype(x.dtype)),
}
PARAMETERS = [
    *((name, shapes) for name in ("gamma", "dirichlet") for shapes in (gamma_shapes, alternating(1, 0.5, 3, 1e-3))),
    ("gamma", alternating(0, np.nan, 1, np.inf, 0.25)),
    ("gamma", alternating(0, 0.25, 1)),
    ("poisson", rates),
    ("poisson", alternating(0, 1e-3, 9.99, 10, 10.01, 300)),
    ("binomial", trials),
    ("binomial-edges", trials),
    ("binomial", alternating(0, 1, 5, 19, 20, 21, 1e6)),
]
SPARE, NO_SPARE = 1, 2  # the number of normal values drawn in pairs before the call


def both(monkeypatch, function):
    """Return the results of a function of a generator, with and without the compiled loops; assert that the states are equal."""
    results, states = [], []
    for draw in (pack.draw, None):
        monkeypatch.setattr(rejection, "draw", draw)
        generator = Generator(5)
        results.append(function(generator))
        states.append(generator.get_state())
    np.testing.assert_array_equal(*states)
    return results


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name, parameters", PARAMETERS)
@pytest.mark.parametrize("pairs", [0, SPARE, NO_SPARE])
def test_values_and_state(name, parameters, pairs, dtype, monkeypatch):
    def run(generator):
        random, results = np.random.default_rng(3), []
        for n in (1, 2, 33, 700, 3000, 0):
            x = parameters(random, n).astype(dtype)
            results.append(generator.normal((pairs,), dtype))
            results.append(CALLS[name](generator, x, random))
            results.append(generator.uniform((3,), np.dtype(np.float32)))  # from the buffer of words
        return results

    for ours, theirs in zip(*both(monkeypatch, run), strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("name, parameter", [("gamma", 2.5), ("dirichlet", 0.5), ("poisson", 4.0), ("binomial", 30.0)])
def test_many_values_are_drawn_by_the_compiled_loops(name, parameter, monkeypatch):
    drawn = []

    def draw(sampler, values, *others):
        drawn.append((sampler, len(values)))
        return pack.draw(sampler, values, *others)

    monkeypatch.setattr(rejection, "draw", draw)
    CALLS[name](Generator(1), np.full(500, parameter), np.random.default_rng(0))
    assert drawn == [("gamma" if name == "dirichlet" else name, 500)]


def test_shapes(monkeypatch):
    def run(generator):
        one = np.asarray(2.5, np.float32)
        table = np.full((3, 4, 5), 0.5, np.float32).transpose(2, 0, 1)
        return [generator.gamma(one), generator.poisson(one), generator.dirichlet(table), generator.gamma(table)]

    for ours, theirs in zip(*both(monkeypatch, run), strict=True):
        assert ours.shape == theirs.shape
        np.testing.assert_array_equal(ours, theirs)


def test_infinite_parameters(monkeypatch):
    def run(generator):
        rates, chances = np.full(200, 3.0), np.full(200, 0.5)
        rates[[0, 150]] = np.inf
        return [generator.poisson(rates), generator.binomial(rates, chances)]

    for ours, theirs in zip(*both(monkeypatch, run), strict=True):
        np.testing.assert_array_equal(ours, theirs)
        assert np.flatnonzero(np.isinf(ours)).tolist() == [0, 150]


def test_all_variants_draw_the_same_values():
    code = """
from flambeau_fast import rejection
import numpy as np, hashlib
from flambeau_backends.numpy.packs import Generator
draw = Generator(1)
x = np.geomspace(1e-3, 1e4, 5000)
for values in (draw.gamma(x), draw.poisson(x), draw.binomial(np.ceil(x), x % 1), draw.get_state()):
    print(hashlib.sha256(values.tobytes()).hexdigest())
"""
    outputs = set()
    for variant in VARIANTS:
        environment = os.environ | {"FLAMBEAU_FAST_CPU": variant}
        command = [sys.executable, "-c", code]
        outputs.add(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
    assert len(outputs) == 1
