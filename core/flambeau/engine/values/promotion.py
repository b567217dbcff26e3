"""The dtype rules of operations: the dtypes that they accept and compute in, and the dtype of the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from . import dtypes
from .dtypes import BOOL, COMPLEX, FLOAT8, FLOATING, HALF, INTEGER, bool_, dtype, float32, int32, int64, uint8

__all__ = ["COMMON", "DTYPES", "ONE_KEY", "PROMOTIONS"]

Promotion = Callable[[dtype], tuple[dtype, dtype]]  # the dtype to compute in, and the dtype of the result


def _to_float(d: dtype) -> dtype:
    return d if d.category >= FLOATING else dtypes.get_default_dtype()


NARROW = HALF.union(FLOAT8)
PROMOTIONS: Mapping[str, Promotion] = {
    "same": lambda d: (d, d),  # arguments keep their dtypes; the result has the dtype of the first one
    "match": lambda d: (d, d),  # arguments must have the same dtype
    "product": lambda d: (float32 if d in NARROW else d, d),  # as "match"; 8-bit and 16-bit floats are accumulated in float32
    "arithmetic": lambda d: (d, d),  # arguments are promoted to a common dtype
    "wide arithmetic": lambda d: (float32 if d in HALF else d, d),  # as "arithmetic", but half precision is computed in float32
    "float": lambda d: (_to_float(d), _to_float(d)),  # integers become the default floating-point dtype
    "accumulate": lambda d: (float32 if d in NARROW else d, d),  # 8-bit and 16-bit floats are summed in float32
    "float_accumulate": lambda d: (float32 if d in HALF else _to_float(d), _to_float(d)),
    "real_accumulate": lambda d: (float32 if d in HALF else _to_float(d), _to_float(d).to_real()),
    "sum": lambda d: (int64, int64) if d.category <= INTEGER else (float32 if d in HALF else d, d),  # integers: int64
    "number": lambda d: (int64, int64) if d is bool_ else (d, d),  # bool becomes int64
    "truth": lambda d: (d, d if d is uint8 else bool_),  # the result is bool, except for uint8, which PyTorch keeps
    "compare": lambda d: (d, bool_),  # arguments are promoted to a common dtype; the result is bool
    "position": lambda d: (d, int64),  # arguments are promoted to a common dtype; the result is int64
    "bool": lambda d: (d, bool_),  # arguments keep their dtypes; the result is bool
    "index": lambda d: (d, int64),  # the result is int64
    "int32": lambda d: (d, int32),  # the result is int32
    "real": lambda d: (d, d.to_real()),
    "complex": lambda d: (d, d.to_complex()),
}  # fmt: skip
DTYPES: Mapping[str, frozenset[int]] = {
    "all": frozenset({BOOL, INTEGER, FLOATING, COMPLEX}),
    "numbers": frozenset({INTEGER, FLOATING, COMPLEX}),
    "real": frozenset({BOOL, INTEGER, FLOATING}),
    "real numbers": frozenset({INTEGER, FLOATING}),
    "whole": frozenset({BOOL, INTEGER}),
    "integers": frozenset({INTEGER}),
    "inexact": frozenset({FLOATING, COMPLEX}),
    "floating": frozenset({FLOATING}),
}
COMMON = frozenset({"arithmetic", "wide arithmetic", "float", "compare", "position"})  # promote arguments to a common dtype
ONE_KEY = COMMON | {"match", "product"}  # after these, all arguments have the same dispatch key
