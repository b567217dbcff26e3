"""Sums, products, quotients, powers, remainders."""

from __future__ import annotations

from typing import Any

from .sample import COMPLEX, FLOATS, INTEGERS, NUMBERS, REALS, Bad, Sample, elementwise, fixed, positive, real

__all__ = ["BAD", "SAMPLES"]


def _trunc_remainder(np: Any, x: Any, y: Any) -> Any:
    return np.fmod(x, y)


SAMPLES = [
    elementwise("add", lambda np, x, y: x + y, real, real, dtypes=NUMBERS),
    Sample("add", lambda torch, x, y: torch.add(x, y, alpha=3), [real(2, 3), real(3)], lambda np, x, y: x + 3 * y, NUMBERS),
    Sample("add", lambda torch, x: torch.add(x, 2), [real(2, 3)], lambda np, x: x + 2, NUMBERS),
    elementwise("sub", lambda np, x, y: x - y, real, real, dtypes=(*FLOATS, "int64", "complex128")),
    Sample("sub", lambda torch, x, y: torch.sub(x, y, alpha=0.5), [real(2, 3), real(2, 1)], lambda np, x, y: x - y / 2),
    Sample("subtract", lambda torch, x: torch.subtract(x, 1), [positive(4)], lambda np, x: x - 1, REALS),
    Sample("rsub", lambda torch, x: torch.rsub(x, 3), [real(4)], lambda np, x: 3 - x, (*FLOATS, "int64")),
    elementwise("mul", lambda np, x, y: x * y, real, real, dtypes=NUMBERS),
    elementwise("multiply", lambda np, x, y: x * y, real, real, dtypes=NUMBERS),
    Sample("mul", lambda torch, x: torch.mul(x, 3), [real(4)], lambda np, x: 3 * x, NUMBERS),
    elementwise("div", lambda np, x, y: x / y, real, positive, dtypes=NUMBERS, result="float"),
    elementwise("divide", lambda np, x, y: x / y, real, positive, dtypes=NUMBERS, result="float"),
    elementwise("true_divide", lambda np, x, y: x / y, real, positive, dtypes=NUMBERS, result="float"),
    Sample("div", lambda torch, x, y: torch.div(x, y, rounding_mode="floor"), [real(3, 4, low=-9, high=9), positive(4)],
           lambda np, x, y: np.floor_divide(x, y), REALS),
    Sample("div", lambda torch, x, y: torch.div(x, y, rounding_mode="trunc"), [real(3, 4, low=-9, high=9), positive(4)],
           lambda np, x, y: np.trunc(x / y), REALS),
    elementwise("floor_divide", lambda np, x, y: np.floor_divide(x, y), real, positive, dtypes=REALS),
    elementwise("remainder", lambda np, x, y: np.remainder(x, y), real, positive, dtypes=REALS),
    Sample("remainder", lambda torch, x: torch.remainder(x, -3), [real(8, low=-9, high=9)], lambda np, x: np.remainder(x, -3),
           (*FLOATS, "int64")),
    elementwise("fmod", _trunc_remainder, real, positive, dtypes=REALS),
    Sample("fmod", lambda torch, x: torch.fmod(x, 3), [real(8, low=-9, high=9)], lambda np, x: np.fmod(x, 3), REALS),
    elementwise("pow", lambda np, x, y: x**y, positive, real, dtypes=(*FLOATS, "complex128")),
    elementwise("pow", lambda np, x, y: x**y, positive, positive, dtypes=INTEGERS, grad=False),
    Sample("pow", lambda torch, x: torch.pow(x, 3), [real(2, 3)], lambda np, x: x**3, (*FLOATS, "int64", "complex128")),
    Sample("pow", lambda torch, x: torch.pow(x, 0.5), [positive(2, 3)], lambda np, x: x**0.5, REALS, "float", inplace=False),
    Sample("pow", lambda torch, x: torch.pow(x, -2), [positive(2, 3)], lambda np, x: x**-2),
    Sample("pow", lambda torch, x: torch.pow(2, x), [real(2, 3)], lambda np, x: 2**x, inplace=False),
    Sample("float_power", lambda torch, x: torch.float_power(x, 2), [real(2, 3)], lambda np, x: x**2,
           ("float64", "float32", "int64"),
           "float64", inplace=False),
    Sample("addcmul", lambda torch, x, y, z: torch.addcmul(x, y, z, value=2), [real(2, 3), real(3), real(2, 1)],
           lambda np, x, y, z: x + 2 * y * z, (*FLOATS, "int64")),
    Sample("addcdiv", lambda torch, x, y, z: torch.addcdiv(x, y, z, value=0.5), [real(2, 3), real(3), positive(2, 1)],
           lambda np, x, y, z: x + 0.5 * y / z),
    Sample("lerp", lambda torch, x, y: torch.lerp(x, y, 0.25), [real(2, 3), real(2, 3)], lambda np, x, y: x + 0.25 * (y - x)),
    Sample("lerp", lambda torch, x, y: torch.lerp(x, y, 0.6 + 0.3j), [real(2, 3), real(2, 3)],
           lambda np, x, y: x + (0.6 + 0.3j) * (y - x), COMPLEX),
    elementwise("lerp", lambda np, x, y, w: x + w * (y - x), real, real, real, promotes=False),
]  # fmt: skip


BAD = [
    Bad("add", lambda torch, x, y: torch.add(x, y), [real(2, 3), real(4)], "RuntimeError"),
    Bad("add", lambda torch, x: torch.add(x, "1"), [real(2)], "TypeError"),
    Bad("add", lambda torch, x: torch.add(x, x, alpha=0.5), [fixed([1, 2], "int64")], "RuntimeError"),
    Bad("sub", lambda torch, x: torch.sub(x, x), [fixed([True], "bool")], "RuntimeError"),
    Bad("div", lambda torch, x: torch.div(x, x, rounding_mode="up"), [real(2)], "RuntimeError"),
    Bad("pow", lambda torch, x: torch.pow(x, -1), [fixed([1, 2], "int64")], "RuntimeError"),
    Bad("lerp", lambda torch, x, y: torch.lerp(x, y, 0.5), [real(2), fixed([1.0, 2.0], "float64")], "RuntimeError"),
    Bad("addcdiv", lambda torch, x: torch.addcdiv(x, x, x), [fixed([1, 2], "int64")], "RuntimeError"),
]  # fmt: skip
