"""Gamma, Poisson and binomial values by compiled loops, bitwise equal to those of the NumPy backend."""

from __future__ import annotations

from typing import Any

import numpy as np

from flambeau_backends.numpy.packs import rejection

from .kernels import kernels

LOOPS = {"gamma": kernels.gamma_values, "poisson": kernels.poisson_values, "binomial": kernels.binomial_values}


def draw(sampler: str, values: Any, parameters: Any, key: Any, used: int, spare: float | None) -> tuple[int, float | None]:
    """Fill a vector, from word `used` of the generator's `key` on; return the new `used`, and the spare normal value or None."""
    position = np.array([used], np.int64)
    pair = np.array([0.0, 0.0] if spare is None else [1.0, spare])
    LOOPS[sampler](values, *parameters, key, position, pair)
    return position.item(), pair.item(1) if pair[0] else None


rejection.draw = draw
