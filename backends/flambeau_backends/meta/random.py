"""The random generator of meta tensors: samplers draw nothing and return arrays of the right shape and dtype."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .arrays import MetaArray, described, like

__all__ = ["Generator"]


class Generator:
    """A generator with the samplers of the CPU's generator; it stores a seed and never draws."""

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed

    def manual_seed(self, seed: int) -> Generator:
        self._seed = seed
        return self

    def seed(self) -> int:
        return self._seed

    initial_seed = seed

    def get_state(self) -> np.ndarray:
        return np.array([self._seed], np.int64).view(np.uint8)

    def set_state(self, state: np.ndarray) -> None:
        self._seed = int(state.view(np.int64)[0])

    def clone(self) -> Generator:
        return Generator(self._seed)

    def _drawn(self, shape: Sequence[int], dtype: Any, *_: Any, **__: Any) -> MetaArray:
        return described(shape, dtype)

    uniform = integers = bernoulli = exponential = geometric = cauchy = normal = log_normal = _drawn

    def permutation(self, n: int, dtype: Any) -> MetaArray:
        return described((n,), dtype)

    def multinomial(self, probs: MetaArray, num_samples: int, replacement: bool = False) -> MetaArray:
        return described((*probs.shape[:-1], num_samples), np.int64)

    def _drawn_for(self, parameter: MetaArray, *_: Any) -> MetaArray:
        return like(parameter)

    poisson = binomial = gamma = dirichlet = _drawn_for
