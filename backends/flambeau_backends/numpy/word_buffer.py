"""A buffer of the words of MT19937 (Matsumoto & Nishimura 1998), drawn ahead of use.

A NumPy call costs as much as drawing hundreds of words, so small requests are served from a buffer (the window) that is drawn in
one call.  Uniform and normal values are also computed for the whole window on the first request, for every possible start of a
block.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from flambeau.engine.values.forking import new_lock

from . import box_muller

__all__ = ["MANY", "WordBuffer", "singles"]

MANY = 1 << 10  # number of words above which a request is drawn directly
_LEAST, _MOST = 1 << 8, 1 << 14  # number of words in a window: initially, and at most, after continued use
_MASK, _SCALE, _ZERO = np.array(2**24 - 1, np.uint32), np.array(2.0**-24, np.float32), np.array(0, np.float32)


def singles(words: Any) -> Any:
    """Return uniform float32 on [0, 1) from the low 24 bits of each word."""
    values = np.bitwise_and(words, _MASK).view(np.int32).astype(np.float32)
    values *= _SCALE
    return values


def _normal_pairs(unit: Any) -> Any:
    """Return two normal values per uniform value except the last 8: its radius times cos and sin of the angle 8 values later."""
    radius, directions = box_muller.radii(unit[:-8].copy()), box_muller.directions(unit[8:].copy())
    values = np.empty((len(radius), 2), np.float32)
    for part, direction in enumerate(directions):
        np.multiply(radius, direction, values[:, part])
    values += _ZERO  # turns -0 into 0
    return values.reshape(-1)


@lru_cache(64)
def _places_of_blocks(shape: tuple[int, ...]) -> Any:
    """Return the indices, in `_normal_pairs`, of the values of an array: blocks of 16 have 8 cosines, then 8 sines."""
    count = math.prod(shape)
    value = np.arange(count)
    block = value // 16
    if count % 16:  # the last 16 values are drawn again
        value[-16:], block[-16:] = np.arange(16), 0
    place = 2 * (block * 16 + value % 8) + value % 16 // 8
    if count % 16:
        place[-16:] += 2 * count
    return place.reshape(shape)


def _set_state(bits: np.random.MT19937, key: Any, pos: int) -> None:
    bits.state = {"bit_generator": "MT19937", "state": {"key": key.tolist(), "pos": pos}}  # NumPy copies a list faster


class WordBuffer:
    """The random engine of a stream, with a buffer of words drawn ahead."""

    def __init__(self) -> None:
        self._bits = np.random.MT19937(0)
        self._scout = np.random.MT19937(0)  # a second engine that computes the state at the current position in the window
        self._seeder = np.random.RandomState(self._bits)
        self._wide = np.random.Generator(self._bits)
        self._lock = new_lock()  # threads may share a stream, and one of them may fork
        self._restart()

    def _restart(self) -> None:
        self._size = _LEAST  # number of words in the next window
        self._forget()

    def _forget(self) -> None:
        self._window = np.empty(0, np.uint32)
        self._at = 0  # number of words of the window that have been used
        self._starts: list[tuple[int, Any]] = []  # positions in the window, with the engine's state there
        self._uniform: Any = None  # the window's words as uniform values, or None
        self._normal: Any = None  # the window's normal values, or None

    def seed(self, seed: int) -> None:
        """Restart from a 32-bit seed."""
        with self._lock:
            self._seeder.seed(seed)
            self._restart()

    @property
    def state(self) -> tuple[Any, int]:
        """The engine's key of 624 words, and the number of words of it that have been used."""
        with self._lock:
            return self._engine()

    @state.setter
    def state(self, state: tuple[Any, int]) -> None:
        with self._lock:
            _set_state(self._bits, *state)
            self._restart()

    def _engine(self) -> tuple[Any, int]:
        bits = self._bits
        if self._at < len(self._window):
            start, state = [entry for entry in self._starts if entry[0] <= self._at][-1]
            bits = self._scout
            _set_state(bits, **state["state"])
            bits.random_raw(self._at - start, output=False)
        state = bits.state["state"]
        return state["key"], state["pos"]

    def advance(self, fill: Callable[[Any, int], int]) -> None:
        """Call `fill(key, position)`, which consumes words: it modifies the key and returns the new position."""
        with self._lock:
            key, position = self._engine()
            _set_state(self._bits, key, fill(key, position))
            self._restart()

    def take(self, count: int) -> Any:
        """Return the next `count` 32-bit words; do not write to them."""
        with self._lock:
            at = self._at
            if at + count > len(self._window):
                if count > MANY:
                    rest = self._window[at:]
                    self._forget()
                    drawn = self._bits.random_raw(count - len(rest)).astype(np.uint32)
                    return np.concatenate([rest, drawn]) if len(rest) else drawn
                at = self._draw_ahead(count)
            self._at = at + count
            return self._window[at : at + count]

    def take_wide(self, count: int) -> Any:
        """Return the next `count` 64-bit words, each made of two 32-bit words, the high one first."""
        if 2 * count > MANY:
            with self._lock:
                if self._at == len(self._window):  # an empty window: NumPy's 64-bit words have more call overhead, but are faster
                    self._forget()
                    return self._wide.integers(0, 2**64, count, np.uint64)
        return self.take(2 * count).astype(">u4").view(">u8").astype(np.uint64)

    def uniform(self, count: int) -> Any:
        """Return `count` uniform float32 values on [0, 1), at most `MANY`."""
        with self._lock:
            at = self._at
            if at + count > len(self._window):
                at = self._draw_ahead(count)
            if self._uniform is None:
                self._uniform = singles(self._window)
            self._at = at + count
            return self._uniform[at : at + count].copy()

    def normal(self, shape: tuple[int, ...], count: int) -> Any:
        """Return `count` standard normal float32 values, at least 16 and at most `MANY`."""
        words = count + 16 if count % 16 else count
        with self._lock:
            at = self._at
            if at + words > len(self._window):
                at = self._draw_ahead(words)
            if self._normal is None:
                self._normal = _normal_pairs(singles(self._window))
            self._at = at + words
            return self._normal[2 * at :][_places_of_blocks(shape)]

    def _draw_ahead(self, count: int) -> int:
        """Extend the rest of the window to at least `count` words; return the position in the new window, 0."""
        at, rest = self._at, self._window[self._at :]
        starts = [(place - at, state) for place, state in self._starts]
        passed = [entry for entry in starts if entry[0] <= 0][-1:]
        self._starts = [*passed, *(entry for entry in starts if entry[0] > 0), (len(rest), self._bits.state)]
        self._window = np.concatenate([rest, self._bits.random_raw(max(count, self._size)).astype(np.uint32)])
        self._window.flags.writeable = False
        self._size = min(2 * self._size, _MOST)
        self._at, self._uniform, self._normal = 0, None, None
        return 0
