"""MT19937's words (Matsumoto & Nishimura 1998), drawn ahead of where the stream is.

A call to NumPy costs as much as hundreds of words, so small requests are served from a window that is drawn at once. Uniform and
normal values are, too: they are computed for all words of the window when they are first asked for, wherever blocks may start.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from threading import Lock
from typing import Any

import numpy as np

from . import box_muller

__all__ = ["MANY", "Words", "singles"]

MANY = 1 << 10  # words of a request from which on it is drawn by itself
_LEAST, _MOST = 1 << 8, 1 << 14  # words of a window: at first, and in a program that goes on asking
_MASK, _SCALE, _ZERO = np.array(2**24 - 1, np.uint32), np.array(2.0**-24, np.float32), np.array(0, np.float32)


def singles(words: Any) -> Any:
    """Uniform float32 on [0, 1), of the low 24 bits of each word."""
    values = np.bitwise_and(words, _MASK).view(np.int32).astype(np.float32)
    values *= _SCALE
    return values


def _normal_pairs(unit: Any) -> Any:
    """For each uniform value but the last 8, the two normal values of its radius and the direction 8 places on, in turns."""
    radius, directions = box_muller.radii(unit[:-8].copy()), box_muller.directions(unit[8:].copy())
    values = np.empty((len(radius), 2), np.float32)
    for part, direction in enumerate(directions):
        np.multiply(radius, direction, values[:, part])
    values += _ZERO  # leaves no negative zeros
    return values.reshape(-1)


@lru_cache(64)
def _places_of_blocks(shape: tuple[int, ...]) -> Any:
    """Where in those pairs an array has its values from: blocks of 16 with 8 by cosines and 8 by sines."""
    count = math.prod(shape)
    value = np.arange(count)
    block = value // 16
    if count % 16:  # then the last 16 values are drawn anew
        value[-16:], block[-16:] = np.arange(16), 0
    place = 2 * (block * 16 + value % 8) + value % 16 // 8
    if count % 16:
        place[-16:] += 2 * count
    return place.reshape(shape)


class Words:
    """The engine of a random stream."""

    def __init__(self) -> None:
        self._bits = np.random.MT19937(0)
        self._scout = np.random.MT19937(0)  # goes to where in the window the stream is
        self._seeder = np.random.RandomState(self._bits)
        self._wide = np.random.Generator(self._bits)
        self._lock = Lock()  # threads may share a stream
        self._restart()

    def _restart(self) -> None:
        self._size = _LEAST  # of the next window
        self._forget()

    def _forget(self) -> None:
        self._window = np.empty(0, np.uint32)
        self._at = 0  # how many words of the window are used
        self._starts: list[tuple[int, Any]] = []  # places in the window, and the engine's state there
        self._uniform: Any = None  # the window's words as uniform values
        self._normal: Any = None  # and what these give as normal ones

    def seed(self, seed: int) -> None:
        """Restart from 32 bits."""
        with self._lock:
            self._seeder.seed(seed)
            self._restart()

    @property
    def state(self) -> tuple[Any, int]:
        """The engine's key of 624 words, and how many of the key's words have been used."""
        with self._lock:
            return self._engine()

    @state.setter
    def state(self, state: tuple[Any, int]) -> None:
        with self._lock:
            self._move(*state)
            self._restart()

    def _engine(self) -> tuple[Any, int]:
        bits = self._bits
        if self._at < len(self._window):
            start, state = [entry for entry in self._starts if entry[0] <= self._at][-1]
            bits = self._scout
            bits.state = state
            bits.random_raw(self._at - start, output=False)
        state = bits.state["state"]
        return state["key"], state["pos"]

    def _move(self, key: Any, position: int) -> None:
        self._bits.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": position}}

    def advance(self, fill: Callable[[Any, int], int]) -> None:
        """Let `fill(key, position)` consume words: it changes the key, and returns the new position."""
        with self._lock:
            key, position = self._engine()
            self._move(key, fill(key, position))
            self._forget()

    def take(self, count: int) -> Any:
        """The next `count` words of 32 bits, not to be written to."""
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
        """The next `count` words of 64 bits, made of two words each with the high one first."""
        if 2 * count > MANY:
            with self._lock:
                if self._at == len(self._window):  # NumPy's own way of joining words, which has more overhead
                    self._forget()
                    return self._wide.integers(0, 2**64, count, np.uint64)
        return self.take(2 * count).astype(">u4").view(">u8").astype(np.uint64)

    def uniform(self, count: int) -> Any:
        """At most `MANY` values of `singles`."""
        with self._lock:
            at = self._at
            if at + count > len(self._window):
                at = self._draw_ahead(count)
            if self._uniform is None:
                self._uniform = singles(self._window)
            self._at = at + count
            return self._uniform[at : at + count].copy()

    def normal(self, shape: tuple[int, ...], count: int) -> Any:
        """An array of `count` standard normal values, at least 16 and at most `MANY`, in float32."""
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
        """Extend what is left of the window to at least `count` words; returns 0, the place in the new one."""
        at, rest = self._at, self._window[self._at :]
        starts = [(place - at, state) for place, state in self._starts]
        passed = [entry for entry in starts if entry[0] <= 0][-1:]
        self._starts = [*passed, *(entry for entry in starts if entry[0] > 0), (len(rest), self._bits.state)]
        self._window = np.concatenate([rest, self._bits.random_raw(max(count, self._size)).astype(np.uint32)])
        self._window.flags.writeable = False
        self._size = min(2 * self._size, _MOST)
        self._at, self._uniform, self._normal = 0, None, None
        return 0
