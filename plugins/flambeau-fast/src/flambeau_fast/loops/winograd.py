"""The transforms of Winograd's convolution F(4 x 4, 3 x 3), from and to images with channels last.

Up to 64 channels of a tile at a time are copied into a small buffer, where they are transformed along one dimension, then along
the other.  Offsets in the buffer are known to the compiler, so that it vectorizes the loops over channels.  If there are fewer
channels, the surplus results are ignored.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from . import compiled, inlined
from .scalar import f32

LANES = 64  # channels at a time
_TILE = 36 * LANES


@inlined
def _pass_input(into, start, step, source, source_start, source_step):
    for lane in range(LANES):
        i, o = source_start + lane, start + lane
        d0, d1, d2 = source[i], source[i + source_step], source[i + 2 * source_step]
        d3, d4, d5 = source[i + 3 * source_step], source[i + 4 * source_step], source[i + 5 * source_step]
        into[o] = f32(4) * d0 - f32(5) * d2 + d4
        into[o + step] = (d4 - f32(4) * d2) + (d3 - f32(4) * d1)
        into[o + 2 * step] = (d4 - f32(4) * d2) - (d3 - f32(4) * d1)
        into[o + 3 * step] = (d4 - d2) + f32(2) * (d3 - d1)
        into[o + 4 * step] = (d4 - d2) - f32(2) * (d3 - d1)
        into[o + 5 * step] = f32(4) * d1 - f32(5) * d3 + d5


@inlined
def _pass_result(into, start, step, source, source_start, source_step):
    for lane in range(LANES):
        i, o = source_start + lane, start + lane
        m0, m1, m2 = source[i], source[i + source_step], source[i + 2 * source_step]
        m3, m4, m5 = source[i + 3 * source_step], source[i + 4 * source_step], source[i + 5 * source_step]
        into[o] = m0 + (m1 + m2) + (m3 + m4)
        into[o + step] = (m1 - m2) + f32(2) * (m3 - m4)
        into[o + 2 * step] = (m1 + m2) + f32(4) * (m3 + m4)
        into[o + 3 * step] = (m1 - m2) + f32(8) * (m3 - m4) + m5


@inlined
def _pass_gradient(into, start, step, source, source_start, source_step):
    """The transpose of `_pass_result`."""
    for lane in range(LANES):
        i, o = source_start + lane, start + lane
        s0, s1 = source[i], source[i + source_step]
        s2, s3 = source[i + 2 * source_step], source[i + 3 * source_step]
        into[o] = s0
        into[o + step] = (s0 + s2) + (s1 + s3)
        into[o + 2 * step] = (s0 + s2) - (s1 + s3)
        into[o + 3 * step] = (s0 + f32(4) * s2) + (f32(2) * s1 + f32(8) * s3)
        into[o + 4 * step] = (s0 + f32(4) * s2) - (f32(2) * s1 + f32(8) * s3)
        into[o + 5 * step] = s3


@inlined
def _load(buffer, size, image, top, left, channel):
    """A square of an image, with zeros outside of the image."""
    for r in range(size):
        for s in range(size):
            place = (r * size + s) * LANES
            if 0 <= top + r < image.shape[0] and 0 <= left + s < image.shape[1]:
                source = image[top + r, left + s, channel : channel + LANES]
                for lane in range(len(source)):
                    buffer[place + lane] = source[lane]
            else:
                for lane in range(LANES):
                    buffer[place + lane] = f32(0)


@inlined
def _store(tiles, tile, channel, buffer):
    for place in range(36):
        target = tiles[place, tile, channel : channel + LANES]
        for lane in range(len(target)):
            target[lane] = buffer[place * LANES + lane]


@compiled
def input_tiles(tiles, images, down, right, top, left):
    """Transformed tiles of the images, `(36, tile, channel)`: `down x right` for each image; `top` and `left` are the padding."""
    for row in prange(len(images) * down):
        image, i = images[row // down], row % down
        source, half, whole = np.empty(_TILE, f32), np.empty(_TILE, f32), np.empty(_TILE, f32)
        for j in range(right):
            for channel in range(0, images.shape[3], LANES):
                _load(source, 6, image, 4 * i - top, 4 * j - left, channel)
                for s in range(6):
                    _pass_input(half, s * LANES, 6 * LANES, source, s * LANES, 6 * LANES)
                for r in range(6):
                    _pass_input(whole, r * 6 * LANES, LANES, half, r * 6 * LANES, LANES)
                _store(tiles, row * right + j, channel, whole)


@compiled
def gradient_tiles(tiles, grads, down, right):
    """Transformed 4 x 4 tiles of the result's gradient."""
    for row in prange(len(grads) * down):
        image, i = grads[row // down], row % down
        source, half, whole = np.empty(_TILE, f32), np.empty(_TILE, f32), np.empty(_TILE, f32)
        for j in range(right):
            for channel in range(0, grads.shape[3], LANES):
                _load(source, 4, image, 4 * i, 4 * j, channel)
                for s in range(4):
                    _pass_gradient(half, s * LANES, 4 * LANES, source, s * LANES, 4 * LANES)
                for r in range(6):
                    _pass_gradient(whole, r * 6 * LANES, LANES, half, r * 4 * LANES, LANES)
                _store(tiles, row * right + j, channel, whole)


@compiled
def results(images, tiles, bias, down, right):
    """The images, transformed back from the products `(36, tile, channel)`, plus the bias."""
    for row in prange(len(images) * down):
        image, i = images[row // down], row % down
        source, half, whole = np.empty(_TILE, f32), np.empty(_TILE, f32), np.empty(_TILE, f32)
        for j in range(right):
            for channel in range(0, images.shape[3], LANES):
                for place in range(36):
                    read = tiles[place, row * right + j, channel : channel + LANES]
                    for lane in range(len(read)):
                        source[place * LANES + lane] = read[lane]
                for s in range(6):
                    _pass_result(half, s * LANES, 6 * LANES, source, s * LANES, 6 * LANES)
                for r in range(4):
                    _pass_result(whole, r * 4 * LANES, LANES, half, r * 6 * LANES, LANES)
                for r in range(min(4, image.shape[0] - 4 * i)):
                    for s in range(min(4, image.shape[1] - 4 * j)):
                        target = image[4 * i + r, 4 * j + s, channel : channel + LANES]
                        offset = bias[channel : channel + LANES]
                        for lane in range(len(target)):
                            target[lane] = whole[(r * 4 + s) * LANES + lane] + offset[lane]
