"""Sobol sequences: `torch.quasirandom.SobolEngine`."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import flambeau as torch

qmc = pytest.importorskip("scipy.stats").qmc
SobolEngine = torch.quasirandom.SobolEngine


@pytest.mark.parametrize("dimension", [1, 2, 7, 300])
@pytest.mark.filterwarnings("ignore:The balance properties")
def test_points_are_those_of_scipy(dimension):
    expected = qmc.Sobol(dimension, scramble=False, bits=30).random(37)
    np.testing.assert_array_equal(SobolEngine(dimension).draw(37, dtype=torch.float64).numpy(), expected)


@pytest.mark.parametrize("scramble", [False, True])
def test_a_sequence_in_pieces(scramble):
    whole = SobolEngine(3, scramble, seed=1).draw(64)
    engine = SobolEngine(3, scramble, seed=1)
    pieces, at = [], 0
    for count in (1, 1, 2, 5, 16, 3):
        pieces.append(engine.draw(count))
        at += count
        assert engine.num_generated == at
    assert torch.equal(torch.cat(pieces), whole[:at])
    assert torch.equal(engine.fast_forward(7).draw(4), whole[at + 7 : at + 11])
    assert engine.reset() is engine and torch.equal(engine.draw_base2(3), whole[:8])
    twin = pickle.loads(pickle.dumps(engine))
    assert torch.equal(twin.draw(2), engine.draw(2))


def test_scrambled_points_are_pytorchs():
    first = SobolEngine(3, scramble=True, seed=5).draw(3)
    expected = [[0.4803, 0.1173, 0.1240], [0.9115, 0.8687, 0.5391], [0.5351, 0.2715, 0.3079]]  # recorded from PyTorch 2.13
    np.testing.assert_allclose(first.numpy(), expected, atol=5e-5)


def test_the_first_point_is_in_the_default_dtype():
    """The first point is stored in the default dtype: in float32 it has 24 bits, while later points have 30, as in PyTorch."""
    engine = SobolEngine(40, scramble=True, seed=1)
    exact = engine.shift.numpy() / 2.0**30
    drawn = engine.draw(2, dtype=torch.float64).numpy()
    assert (exact != exact.astype(np.float32)).any()
    np.testing.assert_array_equal(drawn[0], exact.astype(np.float32))
    np.testing.assert_array_equal(drawn[1], engine.quasi.numpy() / 2.0**30)
    assert engine.reset().draw(dtype=torch.float64).tolist() == [drawn[0].tolist()]


def test_scrambled_points_are_balanced():
    """In each coordinate, 2**m points have exactly one point in each of 2**m equal intervals."""
    points = SobolEngine(20, scramble=True, seed=0).draw_base2(8)
    assert ((points * 256).long().sort(0).values == torch.arange(256).unsqueeze(1)).all()
    assert not torch.equal(points, SobolEngine(20, scramble=True, seed=1).draw_base2(8))


def test_what_the_seed_does():
    state = torch.get_rng_state()
    SobolEngine(2, scramble=True, seed=3)
    assert torch.equal(state, torch.get_rng_state())
    torch.manual_seed(0)
    first = SobolEngine(2, scramble=True).draw()
    assert not torch.equal(first, SobolEngine(2, scramble=True).draw())
    torch.manual_seed(0)
    assert torch.equal(first, SobolEngine(2, scramble=True).draw())


def test_dtype_and_out():
    assert SobolEngine(2).draw(2, dtype=torch.float64).dtype is torch.float64
    out = torch.empty(0)
    assert SobolEngine(2).draw(2, out=out) is out and out.tolist() == [[0, 0], [0.5, 0.5]]
    assert repr(SobolEngine(2, True, 3)) == "SobolEngine(dimension=2, scramble=True, seed=3)"
    assert repr(SobolEngine(2)) == "SobolEngine(dimension=2)"


def test_what_is_refused():
    for dimension in (0, 21202):
        with pytest.raises(ValueError, match=r"\[1, 21201\]"):
            SobolEngine(dimension)
    engine = SobolEngine(2)
    with pytest.raises(RuntimeError, match=r"negative dimension -1: \[-1, 2\]"):
        engine.draw(0)
    with pytest.raises(NotImplementedError, match="for 'Half'"):
        engine.draw(2, dtype=torch.half)
    engine.draw(3)
    with pytest.raises(ValueError, match=r"n=3\+2\*\*2=7"):
        engine.draw_base2(2)
    with pytest.raises(RuntimeError, match="1073741824 points"):
        engine.fast_forward(2**30 - 4).draw(2)
