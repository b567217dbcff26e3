"""Elements or channels set to zero, without randomness."""

from __future__ import annotations

from .activation import bad_activation
from .sample import FLOATS, functional, real, torch_function

__all__ = ["BAD", "SAMPLES"]

_DROPOUTS = ("dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout")
_IMAGE = real(2, 4, 3, 2)


SAMPLES = [
    functional("dropout", lambda F, x: F.dropout(x, 0.5, training=False), lambda np, x: x),
    functional("dropout", lambda F, x: F.dropout(x, 1.0), lambda np, x: x * 0),
    functional("alpha_dropout", lambda F, x: F.alpha_dropout(x, 0.0, training=True), lambda np, x: x),
    functional("feature_alpha_dropout", lambda F, x: F.feature_alpha_dropout(x, 0.4), lambda np, x: x),
    functional("dropout1d", lambda F, x: F.dropout1d(x, 0.0), lambda np, x: x),
    functional("dropout2d", lambda F, x: F.dropout2d(x, 1.0), lambda np, x: x * 0, real(2, 3, 2, 2)),
    functional("dropout3d", lambda F, x: F.dropout3d(x, 0.3, training=False), lambda np, x: x, real(2, 3, 2, 2)),
    *(torch_function(name, lambda f, x: f(x, 0.0, True), lambda np, x: x, _IMAGE, dtypes=FLOATS) for name in _DROPOUTS),
    *(torch_function(name, lambda f, x: f(x, 0.7, False), lambda np, x: x, _IMAGE, dtypes=FLOATS) for name in _DROPOUTS),
]  # fmt: skip


BAD = [
    bad_activation("dropout", lambda F, x: F.dropout(x, 1.5), "ValueError"),
    bad_activation("dropout1d", lambda F, x: F.dropout1d(x), "RuntimeError", real(3)),
]  # fmt: skip
