"""Sorting, ranks, searching and sets."""

from __future__ import annotations

from typing import Any

from .sample import FLOATS, INTEGERS, REALS, Bad, Sample, distinct, fixed, real

__all__ = ["BAD", "SAMPLES"]

_BOTH = ("same", "int64")
_TYPES = (*FLOATS, "int64")


def _sorted(np: Any, x: Any, axis: int, descending: bool = False) -> Any:
    order = np.argsort(-x if descending else x, axis, kind="stable")
    return np.take_along_axis(x, order, axis), order


def _at_rank(np: Any, x: Any, rank: int, axis: int = -1) -> Any:
    values, order = _sorted(np, x, axis)
    return values.take(rank, axis), order.take(rank, axis)


SAMPLES = [
    Sample("sort", lambda torch, x: torch.sort(x), [distinct(3, 4)], lambda np, x: _sorted(np, x, -1), _TYPES, _BOTH),
    Sample("sort", lambda torch, x: torch.sort(x, 0, True), [distinct(3, 4)], lambda np, x: _sorted(np, x, 0, True), _TYPES,
           _BOTH),
    Sample("sort", lambda torch, x: torch.sort(x, dim=0, stable=True, descending=True), [fixed([1, 2, 1, 2, 1])],
           lambda np, x: (np.array([2, 2, 1, 1, 1]), np.array([1, 3, 0, 2, 4])), REALS, _BOTH, grad=False),
    Sample("sort", lambda torch, x: torch.sort(x), [fixed([2.0, float("nan"), 1.0])],
           lambda np, x: (np.array([1, 2, np.nan]), np.array([2, 0, 1])), FLOATS, _BOTH, grad=False),
    Sample("argsort", lambda torch, x: torch.argsort(x, stable=True), [distinct(3, 4)], lambda np, x: np.argsort(x, -1), _TYPES,
           "int64", grad=False),
    Sample("argsort", lambda torch, x: torch.argsort(x, 1), [distinct(3, 4)], lambda np, x: np.argsort(x, 1), _TYPES, "int64",
           grad=False),
    Sample("msort", lambda torch, x: torch.msort(x), [distinct(3, 4)], lambda np, x: np.sort(x, 0), _TYPES),
    Sample("topk", lambda torch, x: torch.topk(x, 2), [distinct(3, 4)], lambda np, x: [e[:, :2] for e in _sorted(np, x, 1, True)],
           _TYPES, _BOTH),
    Sample("topk", lambda torch, x: torch.topk(x, 2, 0, largest=False), [distinct(3, 4)],
           lambda np, x: [e[:2] for e in _sorted(np, x, 0)],
           _TYPES, _BOTH),
    Sample("kthvalue", lambda torch, x: torch.kthvalue(x, 2, 1), [distinct(3, 4)], lambda np, x: _at_rank(np, x, 1), _TYPES,
           _BOTH),
    Sample("median", lambda torch, x: torch.median(x), [distinct(3, 4)], lambda np, x: np.sort(x.reshape(-1))[5], _TYPES),
    Sample("median", lambda torch, x: torch.median(x, 1), [distinct(3, 4)], lambda np, x: _at_rank(np, x, 1), _TYPES, _BOTH),
    Sample("nanmedian", lambda torch, x: torch.nanmedian(x), [fixed([3.0, float("nan"), 1.0, 2.0])],
           lambda np, x: np.asarray(2.0), grad=False),
    Sample("mode", lambda torch, x: torch.mode(x, 1), [fixed([[1, 2, 2, 3], [4, 4, 1, 1]])],
           lambda np, x: (np.array([2, 1]), np.array([2, 3])), REALS, _BOTH, grad=False),
    Sample("nanmedian", lambda torch, x: torch.nanmedian(x, 0), [distinct(3, 4)], lambda np, x: _at_rank(np, x, 1, 0), FLOATS,
           _BOTH),
    *(Sample("searchsorted", lambda torch, x, v, right=right: torch.searchsorted(x, v, right=right),
             [fixed([1, 3, 3, 5]), fixed([[0, 3], [4, 9]])],
             lambda np, x, v, right=right: np.searchsorted(x, v, "right" if right else "left"), _TYPES, "int64", grad=False)
      for right in (False, True)),
    Sample("bucketize", lambda torch, v, x: torch.bucketize(v, x), [fixed([[0, 3], [4, 9]]), fixed([1, 3, 5])],
           lambda np, v, x: np.searchsorted(x, v), _TYPES, "int64", grad=False),
    Sample("unique", lambda torch, x: torch.unique(x, return_inverse=True, return_counts=True), [fixed([3, 1, 3, 2, 1, 3])],
           lambda np, x: np.unique(x, return_inverse=True, return_counts=True), (*FLOATS, *INTEGERS), ("same", "int64", "int64"),
           grad=False, vmap=False),
    Sample("unique", lambda torch, x: torch.unique(x, dim=0), [fixed([[3, 1], [1, 2], [3, 1]])],
           lambda np, x: np.unique(x, axis=0), REALS, grad=False, vmap=False),
    Sample("unique_consecutive", lambda torch, x: torch.unique_consecutive(x, return_counts=True), [fixed([1, 1, 2, 2, 2, 1])],
           lambda np, x: (np.array([1, 2, 1]), np.array([2, 3, 1])), REALS, ("same", "int64"), grad=False, vmap=False),
    Sample("isin", lambda torch, x, y: torch.isin(x, y), [fixed([[1, 2], [3, 4]]), fixed([2, 4, 7])],
           lambda np, x, y: np.isin(x, y),
           REALS, "bool", grad=False),
]  # fmt: skip


BAD = [
    Bad("sort", lambda torch, x: torch.sort(x, 2), [real(2, 3)], "IndexError"),
    Bad("topk", lambda torch, x: torch.topk(x, 4), [real(2, 3)], "RuntimeError"),
    Bad("kthvalue", lambda torch, x: torch.kthvalue(x, 0), [real(3)], "RuntimeError"),
    Bad("median", lambda torch, x: torch.median(x, 1), [real(2, 0)], "IndexError"),
    Bad("searchsorted", lambda torch, x, v: torch.searchsorted(x, v), [real(2, 3), real(3, 2)], "RuntimeError"),
]  # fmt: skip
