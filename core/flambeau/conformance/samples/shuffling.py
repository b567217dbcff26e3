"""Elements moved between channels and space."""

from __future__ import annotations

from .normalization import bad_normalization, layer_function
from .sample import real

__all__ = ["BAD", "SAMPLES"]


SAMPLES = [
    layer_function("pixel_shuffle", lambda F, x: F.pixel_shuffle(x, 2),
        lambda np, x: x.reshape(2, 1, 2, 2, 3, 2).transpose(0, 1, 4, 2, 5, 3).reshape(2, 1, 6, 4), real(2, 4, 3, 2)),
    layer_function("pixel_unshuffle", lambda F, x: F.pixel_unshuffle(x, 2),
        lambda np, x: x.reshape(2, 2, 2, 3, 2).transpose(0, 2, 4, 1, 3).reshape(8, 2, 3), real(2, 4, 6)),
    layer_function("channel_shuffle", lambda F, x: F.channel_shuffle(x, 2), lambda np, x: x[:, [0, 2, 1, 3]], real(2, 4, 3)),
]  # fmt: skip


BAD = [
    bad_normalization("pixel_shuffle", lambda F, x: F.pixel_shuffle(x, 2), real(3, 2, 2)),
    bad_normalization("channel_shuffle", lambda F, x: F.channel_shuffle(x, 2)),
]  # fmt: skip
