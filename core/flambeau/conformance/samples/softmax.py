"""Exponentials scaled to sum to 1, and their logarithms."""

from __future__ import annotations

from typing import Any

from .activation import bad_activation
from .sample import WIDE, Sample, find, fixed, functional, real

__all__ = ["BAD", "SAMPLES", "softmax"]


def softmax(np: Any, x: Any, axis: int) -> Any:
    exps = np.exp(x - x.max(axis, keepdims=True)) if x.size else x
    return exps / exps.sum(axis, keepdims=True)


def _softmax(np: Any, x: Any) -> Any:
    exps = np.exp(x - x.max(1, keepdims=True))
    return exps / exps.sum(1, keepdims=True)


SAMPLES = [
    functional("softmax", lambda F, x: F.softmax(x, 1), lambda np, x: softmax(np, x, 1)),
    functional("softmax", lambda F, x: F.softmax(x, 0), lambda np, x: softmax(np, x, 0), real(3, 4, 2)),
    functional("softmax", lambda F, x: F.softmax(x, -1), lambda np, x: softmax(np, x, -1), real(0, 3)),
    functional("softmax", lambda F, x: F.softmax(x, 0), lambda np, x: np.ones_like(x), real()),
    functional("softmax", lambda F, x: F.softmax(x, 1), lambda np, x: softmax(np, x, 1),
          fixed([[1000.0, 0, -1000.0], [-900.0, -901.0, -950.0]]),
          dtypes=("float64", "float32"), grad=False),
    functional("softmin", lambda F, x: F.softmin(x, 1), lambda np, x: softmax(np, -x, 1)),
    functional("log_softmax", lambda F, x: F.log_softmax(x, 1), lambda np, x: np.log(softmax(np, x, 1)), real(3, 4, 2)),
    functional("log_softmax", lambda F, x: F.log_softmax(x, -1), lambda np, x: np.log(softmax(np, x, -1))),
    functional("log_softmax", lambda F, x: F.log_softmax(x, 0, dtype=None), lambda np, x: np.log(softmax(np, x, 0))),
    functional("log_softmax", lambda F, x: F.log_softmax(x, 1), lambda np, x: x - x.max(1,
        keepdims=True) - np.log(1 + np.exp(-1.0)),
          fixed([[1000.0, 999.0], [-5000.0, -5001.0]]), dtypes=("float64", "float32"), grad=False),
    *(Sample(name, lambda torch, x, name=name: find(torch, name)(x, 1), [real(3, 4)], _softmax, (*WIDE, "float16"))
      for name in ("softmax", "special.softmax")),
    *(Sample(name, lambda torch, x, name=name: find(torch, name)(x, 1), [real(3, 4)], lambda np, x: np.log(_softmax(np, x)),
             (*WIDE, "float16")) for name in ("log_softmax", "special.log_softmax")),
]  # fmt: skip


BAD = [
    bad_activation("softmax", lambda F, x: F.softmax(x, 2), "IndexError"),
    bad_activation("softmax", lambda F, x: F.softmax(x, 0), "NotImplementedError", dtype="int64"),
    bad_activation("log_softmax", lambda F, x: F.log_softmax(x, -3), "IndexError"),
]  # fmt: skip
