"""The words of an MT19937 (Matsumoto & Nishimura 1998, "Mersenne Twister"), and dropout from them.

`key` is the engine's state of 624 words, of which `used` have been consumed.
"""

from __future__ import annotations

import numpy as np

from . import loop
from .scalar import f32

u32 = np.uint32
_CHUNK = 2048  # elements at a time


@loop
def _mixed(word, following):
    """The term of the recurrence that depends on two consecutive words of the state."""
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
    """Fill an array; returns the new `used`."""
    filled = 0
    while filled < len(out):
        if used == 624:
            _renew(key)
            used = 0
        count = min(624 - used, len(out) - filled)
        source, target = key[used : used + count], out[filled : filled + count]
        for i in range(count):
            word = source[i]
            word ^= word >> u32(11)
            word ^= (word << u32(7)) & u32(0x9D2C5680)
            word ^= (word << u32(15)) & u32(0xEFC60000)
            target[i] = word ^ (word >> u32(18))
        used += count
        filled += count
    return used


@loop
def dropout(out, noise, x, key, used, high, low, scale):
    """Keep and scale the elements for which 53 bits of two words are less than `high * 2**32 + low`."""
    drawn = np.empty(2 * _CHUNK, np.uint32)
    for start in range(0, x.size, _CHUNK):
        target, source, mask = out[start : start + _CHUNK], x[start : start + _CHUNK], noise[start : start + _CHUNK]
        used = words(drawn[: 2 * source.size], key, used)
        for i in range(source.size):
            first, second = drawn[2 * i] & u32(0x1FFFFF), drawn[2 * i + 1]
            keep = first < high or (first == high and second < low)
            mask[i] = scale if keep else f32(0)
            target[i] = source[i] * mask[i]
    return used
