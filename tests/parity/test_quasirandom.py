"""Sobol sequences equal PyTorch's bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

theirs = pytest.importorskip("torch")
pytest.importorskip("scipy.stats")

import flambeau as ours  # noqa: E402

STEPS = [
    lambda torch, engine: engine.draw(),
    lambda torch, engine: engine.draw(4),
    lambda torch, engine: engine.draw(1, dtype=torch.float64),
    lambda torch, engine: engine.fast_forward(9).draw(3),
    lambda torch, engine: engine.reset().draw(3),
    lambda torch, engine: engine.draw(5),
    lambda torch, engine: engine.draw_base2(3),
    lambda torch, engine: engine.reset().fast_forward(4).draw(),
    lambda torch, engine: engine.draw_base2(2) if engine.num_generated == 4 else engine.draw(1000),
]


@pytest.mark.parametrize("dimension", [1, 2, 7, 1111])
@pytest.mark.parametrize("seed", [None, 4])
@pytest.mark.parametrize("scramble", [False, True])
def test_sequence(dimension, seed, scramble):
    engines = []
    for torch in (theirs, ours):
        torch.manual_seed(0)
        engines.append(torch.quasirandom.SobolEngine(dimension, scramble, seed))
    for name in ("sobolstate", "shift", "quasi", "_first_point"):
        a, b = (getattr(engine, name) for engine in engines)
        np.testing.assert_array_equal(b.numpy(), a.numpy(), strict=True)
    for step in STEPS:
        a, b = (step(torch, engine) for torch, engine in zip((theirs, ours), engines, strict=True))
        np.testing.assert_array_equal(b.numpy(), a.numpy(), strict=True)
        assert engines[0].quasi.tolist() == engines[1].quasi.tolist()
        assert engines[0].num_generated == engines[1].num_generated


def test_all_direction_numbers():
    a, b = (torch.quasirandom.SobolEngine(21201).sobolstate for torch in (theirs, ours))
    np.testing.assert_array_equal(b.numpy(), a.numpy(), strict=True)
