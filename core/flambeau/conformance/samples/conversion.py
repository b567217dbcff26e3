"""Conversions of tensors, and queries about them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .sample import COMPLEX, FLOATS, NUMBERS, REALS, Sample, find, fixed, real

__all__ = ["SAMPLES", "asked", "kind", "method"]

_CASTS = {
    "bool": "bool", "byte": "uint8", "char": "int8", "short": "int16", "int": "int32", "long": "int64", "half": "float16",
    "float": "float32", "double": "float64", "cfloat": "complex64", "cdouble": "complex128",
}  # fmt: skip
_SMALL = fixed([[0, 1, 2], [3, 4, 5]])


def method(
    name: str,
    formula: Callable[..., Any],
    *args: Any,
    dtypes: Any = NUMBERS,
    inputs: Any = (),
    result: str = "same",
    grad: bool = True,
    **fields: Any,
) -> Sample:
    """Return a sample of the method call `x.name(*args, *other_inputs)`, on a copy of `x` if the method writes to it."""
    writes = name.endswith("_")

    def call(torch: Any, x: Any, *others: Any) -> Any:
        return find(torch, f"Tensor.{name}")(x.clone() if writes else x, *args, *others)

    return Sample(f"Tensor.{name}", call, [real(2, 3), *inputs], formula, dtypes, result, grad=grad, method=False, **fields)


def asked(name: str, formula: Callable[..., Any], dtypes: Any = (*NUMBERS, "bool"), result: str = "bool") -> Sample:
    return Sample(name, lambda torch, x: find(torch, name)(x), [real(2, 3)], formula, dtypes, result, grad=False, vmap=False)


def kind(np: Any, x: Any) -> str:
    return x.dtype.kind  # type: ignore[no-any-return]  # arrays are untyped


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
    method("contiguous", lambda np, x: x),
    method("cpu", lambda np, x: x),
    method("detach", lambda np, x: x, grad=False),
    method("copy_", lambda np, x, y: y + 0 * x, inputs=(real(3),)),
    asked("Tensor.is_signed", lambda np, x: kind(np, x) in "fci", (*FLOATS, *COMPLEX, "int64")),
    Sample("Tensor.is_contiguous", lambda torch, x: torch.Tensor.is_contiguous(x), [real(2, 3)], lambda np, x: True, NUMBERS,
           "bool", grad=False, method=False, vmap=False, layouts=False),
    *(asked(f"Tensor.{name}", lambda np, x: 2, result="int64") for name in ("dim", "ndimension")),
    asked("Tensor.nelement", lambda np, x: 6, result="int64"),
]  # fmt: skip
