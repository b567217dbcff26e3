"""Comparisons, choices, logic and bits."""

from __future__ import annotations

import math
from typing import Any

from .sample import FLOATS, NUMBERS, REALS, Bad, Sample, distinct, elementwise, fixed, mask, positive, real

__all__ = ["BAD", "SAMPLES"]

_ORDER = {
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "less": "less",
    "less_equal": "less_equal",
    "greater": "greater",
    "greater_equal": "greater_equal",
}


def _few(*shape: int) -> Any:
    return real(*shape, low=-1, high=1)


def _compare(name: str, formula: str, dtypes: Any) -> Sample:
    return elementwise(
        name, lambda np, x, y: getattr(np, formula)(x, y), _few, _few, dtypes=dtypes, result="bool", grad=False, inplace=False
    )


def _bits(name: str, formula: str, dtypes: Any = ("int64", "uint8", "bool")) -> Sample:
    return elementwise(
        name,
        lambda np, x, y: getattr(np, formula)(x, y),
        lambda *shape: real(*shape, low=0, high=9),
        positive,
        dtypes=dtypes,
        grad=False,
    )


SAMPLES = [
    *(_compare(name, formula, (*REALS, "bool")) for name, formula in _ORDER.items()),
    _compare("eq", "equal", (*NUMBERS, "bool")),
    _compare("ne", "not_equal", (*NUMBERS, "bool")),
    _compare("not_equal", "not_equal", REALS),
    Sample("lt", lambda torch, x: torch.lt(x, 0.5), [real(5)], lambda np, x: x < 0.5, REALS, "bool", grad=False, inplace=False),
    elementwise("maximum", lambda np, x, y: np.maximum(x, y), real, real, dtypes=REALS),
    elementwise("minimum", lambda np, x, y: np.minimum(x, y), real, real, dtypes=REALS),
    Sample("where", lambda torch, c, x, y: torch.where(c, x, y), [mask(2, 3), real(3), real(2, 1)],
           lambda np, c, x, y: np.where(c, x, y), NUMBERS, method=False),
    Sample("where", lambda torch, c, x: torch.where(c, x, 2.0), [mask(2, 3), real(3)], lambda np, c, x: np.where(c, x, 2.0),
           method=False),
    Sample("clamp", lambda torch, x: torch.clamp(x, -1, 1), [real(2, 4)], lambda np, x: np.clip(x, -1, 1), (*FLOATS, "int64")),
    Sample("clamp", lambda torch, x: torch.clamp(x, min=1), [positive(2, 4)], lambda np, x: np.maximum(x, 1), REALS),
    Sample("clip", lambda torch, x: torch.clip(x, max=1), [real(2, 4)], lambda np, x: np.minimum(x, 1), REALS),
    Sample("clamp", lambda torch, x, a, b: torch.clamp(x, a, b), [real(2, 4), real(4, low=-2, high=0), real(2, 1, low=0)],
           lambda np, x, a, b: np.minimum(np.maximum(x, a), b)),
    Sample("clamp_min", lambda torch, x: torch.clamp_min(x, 1), [real(5)], lambda np, x: np.maximum(x, 1), REALS),
    Sample("clamp_max", lambda torch, x: torch.clamp_max(x, 1), [real(5)], lambda np, x: np.minimum(x, 1), REALS),
    *(elementwise(f"logical_{word}", lambda np, x, y, word=word: getattr(np, f"logical_{word}")(x, y), _few, _few,
                  dtypes=(*NUMBERS, "bool"), result="bool", grad=False, inplace=False) for word in ("and", "or", "xor")),
    elementwise("logical_not", lambda np, x: np.logical_not(x), _few, dtypes=(*NUMBERS, "bool"), result="bool", grad=False,
                inplace=False),
    _bits("bitwise_and", "bitwise_and"),
    _bits("bitwise_or", "bitwise_or"),
    _bits("bitwise_xor", "bitwise_xor"),
    _bits("bitwise_left_shift", "left_shift", ("int64", "uint8")),
    _bits("bitwise_right_shift", "right_shift", ("int64", "uint8")),
    elementwise("bitwise_not", lambda np, x: ~x, dtypes=("int64", "uint8", "bool"), grad=False),
    Sample("equal", lambda torch, x: torch.equal(x, x + 0), [real(3)], lambda np, x: True, REALS, "bool", grad=False),
    Sample("equal", lambda torch, x: torch.equal(x, x[:2]), [real(3)], lambda np, x: False, REALS, "bool", grad=False),
    elementwise("isclose", lambda np, x, y: np.isclose(x, y), _few, _few, dtypes=(*FLOATS, "int64"), result="bool", grad=False,
                promotes=False),
    Sample("isclose", lambda torch, x: torch.isclose(x, x.flip(0), equal_nan=True),
           [fixed([1.0, float("nan"), float("nan"), 1 + 1e-7])],
           lambda np, x: np.array([True] * 4), ("float64",), "bool", grad=False),
    Sample("allclose", lambda torch, x: torch.allclose(x, x + 1e-9), [real(3)], lambda np, x: True, ("float64", "float32"),
           "bool", grad=False),
    Sample("allclose", lambda torch, x: torch.allclose(x, x + 1), [distinct(3)], lambda np, x: False, FLOATS, "bool", grad=False),
    Sample("fmax", lambda torch, x, y: torch.fmax(x, y), [fixed([math.nan, 1.0, 3.0]), fixed([1.0, math.nan, 2.0])],
           lambda np, x, y: np.fmax(x, y), grad=False),
    Sample("fmin", lambda torch, x, y: torch.fmin(x, y), [fixed([math.nan, 1.0, 3.0]), fixed([1.0, math.nan, 2.0])],
           lambda np, x, y: np.fmin(x, y), grad=False),
    elementwise("fmax", lambda np, x, y: np.fmax(x, y), real, real),
    elementwise("fmin", lambda np, x, y: np.fmin(x, y), real, real),
]  # fmt: skip


BAD = [
    Bad("lt", lambda torch, x, y: torch.lt(x, y), [real(2), real(3)], "RuntimeError"),
    Bad("clamp", lambda torch, x: torch.clamp(x), [real(2)], "RuntimeError"),
    Bad("where", lambda torch, x, y: torch.where(x, y, y), [fixed([1.0, 0.0]), real(2)], "RuntimeError"),
    Bad("bitwise_and", lambda torch, x: torch.bitwise_and(x, x), [real(2)], "NotImplementedError"),
    Bad("isclose", lambda torch, x: torch.isclose(x, x, rtol=-1), [real(2)], "RuntimeError"),
]  # fmt: skip
