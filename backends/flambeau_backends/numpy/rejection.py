"""Gamma, Poisson and binomial values by rejection: each value starts in the random stream where the previous one ended.

A sampler is a Python loop over float64 parameters.  It appends values to `Stream.values`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

__all__ = ["SAMPLERS", "Stream", "draw"]

Uniform = Callable[[], float]

# Set by a kernel pack: `draw(sampler, values, parameters, key, used, spare)` fills the vector `values` by the sampler of that
# name, from word `used` of the random engine's `key` on, and returns the new `used` and `spare`.  Values must be bitwise equal to
# those of the loops here.  All parameters are finite.
draw: Any = None


class Stream:
    """The random numbers of a sampler's `count` values: uniform values, and the spare normal value of a pair.

    Uniform values are drawn by `doubles(count)` in batches, one for each missing value.  Each value uses at least one, so none is
    wasted, and the engine ends in the same state as PyTorch's.
    """

    def __init__(self, count: int, doubles: Callable[[int], Any], spare: float | None) -> None:
        self.values: list[float] = []
        self.spare = spare

        def batches() -> Iterator[list[float]]:
            while True:
                yield doubles(count - len(self.values)).tolist()

        self.uniform: Uniform = chain.from_iterable(batches()).__next__


def _gamma(stream: Stream, shapes: list[float], boosts: list[float]) -> None:
    """Draw gamma values: Marsaglia & Tsang (2000), "A simple method for generating gamma variables".

    Normal values come from the same pairs as those of `Generator.normal`, written out here because calls take most of the time.
    """
    values, uniform, spare = stream.values, stream.uniform, stream.spare
    sqrt, log, log1p, cos, sin = math.sqrt, math.log, math.log1p, math.cos, math.sin
    for d, boost in zip(shapes, boosts, strict=True):
        scale = (1 - uniform()) ** boost * d if boost else d
        c = 1 / sqrt(9 * d)
        while True:
            y = 0.0
            while y <= 0:
                if spare is None:
                    angle = 2 * math.pi * uniform()
                    radius = sqrt(-2 * log1p(-uniform()))
                    x, spare = radius * cos(angle), radius * sin(angle)
                else:
                    x, spare = spare, None
                y = 1 + c * x
            v, u, square = y * y * y, 1 - uniform(), x * x
            if u < 1 - _SQUEEZE * square * square or log(u) < 0.5 * square + d * (1 - v + log(v)):
                values.append(scale * v)
                break
    stream.spare = spare


_SQUEEZE = 0.03310000151395798  # 0.0331, which PyTorch rounds to float32


def _one_by_one(sample: Callable[..., float]) -> Callable[..., None]:
    """Return a sampler that calls `sample(uniform, *parameters)` for each element of its parameters."""

    def sampler(stream: Stream, *parameters: list[float]) -> None:
        for scalars in zip(*parameters, strict=True):
            stream.values.append(sample(stream.uniform, *scalars))

    return sampler


def _poisson(uniform: Uniform, rate: float) -> float:
    """Draw from the Poisson distribution by transformed rejection: PTRS (Hörmann 1993).

    For small rates, count the uniform values whose product stays above `exp(-rate)`.
    """
    if rate < 10:
        limit, product, k = math.exp(-rate), uniform(), 0
        while product > limit:
            product, k = product * uniform(), k + 1
        return k
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    squeeze = 0.9277 - 3.6224 / (b - 2)
    while True:
        u, v = uniform() - 0.5, uniform()
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + rate + 0.43)
        if us >= 0.07 and v <= squeeze:
            return k
        if k < 0 or (us < 0.013 and v > us):
            continue
        accept = _log(v) + math.log(inverse_alpha) - math.log(a / (us * us) + b)
        if accept <= k * math.log(rate) - rate - math.lgamma(k + 1):
            return k


def _binomial(
    uniform: Uniform,
    n: float,
    p: float,
    mean: float,
    deviation: float,
    mode: float,
    odds: float,
    log_miss: float,
) -> float:
    """Draw from the binomial distribution by rejection: BTRS (Hörmann 1993).

    For small means, count the geometric waiting times that fit into `n` trials (Devroye 1986).
    """
    if mean < 10:
        hits, trials = -1, 0.0
        while trials <= n:
            wait = _log(uniform()) / log_miss
            trials += math.ceil(wait) if wait <= n else math.inf
            hits += 1
        return hits
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    squeeze = 0.92 - 4.2 / b
    alpha = (2.83 + 5.1 / b) * deviation
    while True:
        u, v = uniform() - 0.5, uniform()
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + (mean + 0.5))
        if k < 0 or k > n:
            continue
        if us >= 0.07 and v <= squeeze:
            return k
        bound = (
            (mode + 0.5) * math.log((mode + 1) / (odds * (n - mode + 1)))
            + (n + 1) * math.log((n - mode + 1) / (n - k + 1))
            + (k + 0.5) * math.log(odds * (n - k + 1) / (k + 1))
            + _stirling_tail(mode)
            + _stirling_tail(n - mode)
            - _stirling_tail(k)
            - _stirling_tail(n - k)
        )
        if _log(v * alpha / (a / (us * us) + b)) <= bound:
            return k


def _stirling_tail(k: float) -> float:
    """Return the remainder of Stirling's formula for `log(k!)`."""
    if k < 10:
        return _SMALL_TAILS[int(k)]
    square = (k + 1) * (k + 1)
    return (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (k + 1)


# `lgamma(k + 1) - (k + 0.5) * log(k + 1) + (k + 1) - 0.5 * log(2 * pi)` for k < 10
_SMALL_TAILS = (
    0.08106146679532733, 0.04134069595540946, 0.027677925684997717, 0.02079067210376584, 0.016644691189820815,
    0.013876128823072431, 0.01189670994589287, 0.010411265261973224, 0.009255462182709007, 0.008330563433359028,
)  # fmt: skip


def _log(x: float) -> float:
    return math.log(x) if x > 0 else -math.inf


SAMPLERS: dict[str, Callable[..., None]] = {
    "gamma": _gamma,
    "poisson": _one_by_one(_poisson),
    "binomial": _one_by_one(_binomial),
}
