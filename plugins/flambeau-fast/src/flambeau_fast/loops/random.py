"""The words of an MT19937 (Matsumoto & Nishimura 1998, "Mersenne Twister"), and dropout by them.

`key` are the engine's 624 words, of which `used` have been given out.
"""

from __future__ import annotations

import numpy as np

from . import loop
from .scalar import f32

u32 = np.uint32
_CHUNK = 2048  # elements at a time


@loop
def _mixed(word, following):
    """What the next state takes of two words of this one."""
    both = (word & u32(0x80000000)) | (following & u32(0x7FFFFFFF))
    return (both >> u32(1)) ^ (u32(0x9908B0DF) if both & u32(1) else u32(0))


@loop
def _renew(key):
    for i in range(227):
        key[i] = key[i + 397] ^ _mixed(key[i], key[i + 1])
    for i in range(227, 623):
        key[i] = key[i - 227] ^ _mixed(key[i], key[i + 1])
    key[623] = key[396] ^ _mixed(key[623], key[0])


@loop
def words(out, key, used):
    """Fill an array; returns how many of the key have been used then."""
    filled = 0
    while filled < len(out):
        if used == 624:
            _renew(key)
            used = 0
        count = min(624 - used, len(out) - filled)
        given, made = key[used : used + count], out[filled : filled + count]
        for i in range(count):
            word = given[i]
            word ^= word >> u32(11)
            word ^= (word << u32(7)) & u32(0x9D2C5680)
            word ^= (word << u32(15)) & u32(0xEFC60000)
            made[i] = word ^ (word >> u32(18))
        used += count
        filled += count
    return used


@loop
def dropout(out, noise, x, key, used, high, low, scale):
    """Keep, and scale, where 53 bits of two words are less than `high * 2**32 + low`."""
    drawn = np.empty(2 * _CHUNK, np.uint32)
    for start in range(0, x.size, _CHUNK):
        made, given, share = out[start : start + _CHUNK], x[start : start + _CHUNK], noise[start : start + _CHUNK]
        used = words(drawn[: 2 * given.size], key, used)
        for i in range(given.size):
            first, second = drawn[2 * i] & u32(0x1FFFFF), drawn[2 * i + 1]
            kept = first < high or (first == high and second < low)
            share[i] = scale if kept else f32(0)
            made[i] = given[i] * share[i]
    return used
