"""Tensors from sizes, ranges and fill values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .conversion import method
from .sample import NUMBERS, Bad, Sample, find, real

__all__ = ["BAD", "SAMPLES"]


def _made(name: str, formula: Any, *args: Any, dtype: str = "float32", **kwargs: Any) -> Sample:
    return Sample(
        name, lambda torch: getattr(torch, name)(*args, **kwargs), [], lambda np: formula(np), (dtype,), dtype, grad=False
    )


def _like(name: str, formula: Any, *args: Any) -> Sample:
    return Sample(name, lambda torch, x: getattr(torch, name)(x, *args), [real(2, 3)], formula, (*NUMBERS, "bool"), grad=False)


def _new(name: str, formula: Callable[..., Any], *args: Any) -> Sample:
    return method(name, formula, *args, grad=False)


SAMPLES = [
    _made("zeros", lambda np: np.zeros((2, 3)), 2, 3),
    _made("ones", lambda np: np.ones((2, 0)), (2, 0)),
    _made("full", lambda np: np.full((2,), 7), (2,), 7, dtype="int64"),
    _made("full", lambda np: np.full((2,), 0.5), (2,), 0.5),
    _made("full", lambda np: np.full((2,), True), (2,), True, dtype="bool"),
    _made("scalar_tensor", lambda np: np.asarray(3.0), 3.0),
    _made("eye", lambda np: np.eye(2, 3), 2, 3),
    _made("arange", lambda np: np.arange(5), 5, dtype="int64"),
    _made("arange", lambda np: np.arange(1, 2, 0.25), 1, 2, 0.25),
    _made("arange", lambda np: np.arange(5, 0, -2), 5, 0, -2, dtype="int64"),
    _made("linspace", lambda np: np.linspace(-1, 1, 5), -1, 1, 5),
    _made("linspace", lambda np: np.array([3.0]), 3, 4, 1),
    _made("logspace", lambda np: np.logspace(0, 2, 3), 0, 2, 3),
    _made("logspace", lambda np: np.logspace(0, 3, 4, base=2), 0, 3, 4, base=2),
    _like("zeros_like", lambda np, x: np.zeros_like(x)),
    _like("ones_like", lambda np, x: np.ones_like(x)),
    _like("full_like", lambda np, x: np.full_like(x, 1), 1),
    _like("fill", lambda np, x: np.full_like(x, 1), 1),
    method("fill_", lambda np, x: 0 * x + 3, 3),
    method("zero_", lambda np, x: 0 * x),
    _new("new_zeros", lambda np, x: np.zeros((2, 1)), (2, 1)),
    _new("new_ones", lambda np, x: np.ones((2, 1)), (2, 1)),
    _new("new_full", lambda np, x: np.full((2, 1), 5), (2, 1), 5),
    _new("new_tensor", lambda np, x: np.array([1, 2]), [1, 2]),
    *(Sample(name, lambda torch, name=name: find(torch, name)([[1.5, 2.0], [3.0, 4.0]]), [],
             lambda np: np.array([[1.5, 2.0], [3.0, 4.0]]),
             ("float32",), grad=False) for name in ("tensor", "as_tensor", "asarray")),
    Sample("range", lambda torch: torch.range(1, 3, 0.5), [], lambda np: np.arange(1, 3.5, 0.5), ("float32",), grad=False),
]  # fmt: skip


BAD = [
    Bad("zeros", lambda torch: torch.zeros(-1), [], "RuntimeError"),
    Bad("arange", lambda torch: torch.arange(0, 1, 0), [], "RuntimeError"),
    Bad("arange", lambda torch: torch.arange(0, 1, -1), [], "RuntimeError"),
    Bad("linspace", lambda torch: torch.linspace(0, 1, -1), [], "RuntimeError"),
    Bad("full", lambda torch: torch.full((2,), "a"), [], "TypeError"),
]  # fmt: skip
