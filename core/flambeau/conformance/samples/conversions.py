"""Queries and conversions of tensors, filling, and tensors from data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .sample import COMPLEX, FLOATS, NUMBERS, REALS, Sample, find, fixed, real

__all__ = ["SAMPLES"]

_CASTS = {
    "bool": "bool", "byte": "uint8", "char": "int8", "short": "int16", "int": "int32", "long": "int64", "half": "float16",
    "float": "float32", "double": "float64", "cfloat": "complex64", "cdouble": "complex128",
}  # fmt: skip
_SMALL = fixed([[0, 1, 2], [3, 4, 5]])


def _method(
    name: str,
    formula: Callable[..., Any],
    *args: Any,
    dtypes: Any = NUMBERS,
    inputs: Any = (),
    result: str = "same",
    grad: bool = True,
    **fields: Any,
) -> Sample:
    """`x.name(*args, other inputs)`, called on a copy of `x` if it writes to it."""
    writes = name.endswith("_")

    def call(torch: Any, x: Any, *others: Any) -> Any:
        return find(torch, f"Tensor.{name}")(x.clone() if writes else x, *args, *others)

    return Sample(f"Tensor.{name}", call, [real(2, 3), *inputs], formula, dtypes, result, grad=grad, method=False, **fields)


def _asked(name: str, formula: Callable[..., Any], dtypes: Any = (*NUMBERS, "bool"), result: str = "bool") -> Sample:
    return Sample(name, lambda torch, x: find(torch, name)(x), [real(2, 3)], formula, dtypes, result, grad=False, vmap=False)


def _key(np: Any, x: Any) -> str:
    return x.dtype.kind  # type: ignore[no-any-return]  # arrays are untyped


def _new(name: str, formula: Callable[..., Any], *args: Any) -> Sample:
    return _method(name, formula, *args, grad=False)


def _filled_diagonal(np: Any, x: Any) -> Any:
    x = x.copy()
    np.fill_diagonal(x, 7)
    return x


SAMPLES = [
    *(Sample(f"Tensor.{name}", lambda torch, x, name=name: find(torch, f"Tensor.{name}")(x), [_SMALL],
             lambda np, x, dtype=dtype: x.astype(dtype), ("float16",) if name == "half" else FLOATS, dtype,
             grad=dtype == "float64", method=False) for name, dtype in _CASTS.items()),
    *(Sample("Tensor.to", lambda torch, x, dtype=dtype: torch.Tensor.to(x, getattr(torch, dtype)), [_SMALL],
             lambda np, x, dtype=dtype: x.astype(dtype), (*REALS, "bool"), dtype, grad=False, method=False)
      for dtype in ("float64", "int64", "complex128")),
    Sample("Tensor.type", lambda torch, x: torch.Tensor.type(x, torch.float64), [_SMALL], lambda np, x: x, REALS, "float64",
           grad=False, method=False),
    Sample("Tensor.type_as", lambda torch, x, y: torch.Tensor.type_as(x, y), [_SMALL, fixed([1], "float64")], lambda np, x, y: x,
           REALS,
           "float64", grad=False, method=False),
    _method("contiguous", lambda np, x: x), _method("cpu", lambda np, x: x), _method("detach", lambda np, x: x, grad=False),
    _method("copy_", lambda np, x, y: y + 0 * x, inputs=(real(3),)),
    _method("fill_", lambda np, x: 0 * x + 3, 3), _method("zero_", lambda np, x: 0 * x),
    _method("fill_diagonal_", _filled_diagonal, 7), _method("resize_", lambda np, x: x.reshape(3, 2), (3, 2), grad=False,
            vmap=False, layouts=False),
    _method("resize_as_", lambda np, x, y: x.reshape(6), inputs=(fixed([0] * 6),), grad=False, vmap=False, layouts=False),
    _new("new_zeros", lambda np, x: np.zeros((2, 1)), (2, 1)), _new("new_ones", lambda np, x: np.ones((2, 1)), (2, 1)),
    _new("new_full", lambda np, x: np.full((2, 1), 5), (2, 1), 5), _new("new_tensor", lambda np, x: np.array([1, 2]), [1, 2]),
    _asked("is_complex", lambda np, x: _key(np, x) == "c"), _asked("is_floating_point", lambda np, x: _key(np, x) == "f",
           FLOATS),
    _asked("is_conj", lambda np, x: False), _asked("is_neg", lambda np, x: False), _asked("is_inference", lambda np, x: False),
    _asked("Tensor.is_signed", lambda np, x: _key(np, x) in "fci", (*FLOATS, *COMPLEX, "int64")),
    _asked("numel", lambda np, x: 6, result="int64"),
    Sample("Tensor.is_same_size", lambda torch, x, y: torch.Tensor.is_same_size(x, y), [real(2, 3), real(2, 3)],
           lambda np, x, y: True,
           NUMBERS, "bool", grad=False, method=False, vmap=False),
    Sample("Tensor.is_contiguous", lambda torch, x: torch.Tensor.is_contiguous(x), [real(2, 3)], lambda np, x: True, NUMBERS,
           "bool", grad=False, method=False, vmap=False, layouts=False),
    Sample("is_nonzero", lambda torch, x: torch.is_nonzero(x), [fixed([0])], lambda np, x: False, REALS, "bool", grad=False,
           vmap=False),
    *(_asked(f"Tensor.{name}", lambda np, x: 2, result="int64") for name in ("dim", "ndimension")),
    _asked("Tensor.nelement", lambda np, x: 6, result="int64"),
    *(Sample(name, lambda torch, name=name: find(torch, name)([[1.5, 2.0], [3.0, 4.0]]), [],
             lambda np: np.array([[1.5, 2.0], [3.0, 4.0]]),
             ("float32",), grad=False) for name in ("tensor", "as_tensor", "asarray")),
    Sample("range", lambda torch: torch.range(1, 3, 0.5), [], lambda np: np.arange(1, 3.5, 0.5), ("float32",), grad=False),
]  # fmt: skip
