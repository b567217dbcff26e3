"""Reductions of consecutive segments: `segment_reduce`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .sample import FLOATS, Bad, Sample, distinct, fixed, real, torch_function

__all__ = ["BAD", "SAMPLES"]


def _segment_reduce(name: str) -> list[Sample]:
    def of_rows(np: Any, x: Any) -> Any:
        return np.stack([getattr(x[:1], name)(0), getattr(x[1:4], name)(0)])

    return [
        Sample("segment_reduce", lambda torch, x: torch.segment_reduce(x, name, lengths=_at(torch, x, [1, 3])), [distinct(4, 2)],
               of_rows, FLOATS),
        Sample("segment_reduce", lambda torch, x: torch.segment_reduce(x, name, offsets=_at(torch, x, [[0, 1, 4]] * 2), axis=1),
               [distinct(2, 4)], lambda np, x: of_rows(np, x.T).T, FLOATS),
        Sample("segment_reduce", lambda torch, x: torch.segment_reduce(x, name, offsets=_at(torch, x, [0, 0, 2]), initial=0.5),
               [distinct(3)],
               lambda np, x: np.stack([0.5 + 0 * x[0], getattr(np.append(x[:2], 0.5), name)() * (1.5 if name == "mean" else 1)])),
    ]  # fmt: skip


def _at(torch: Any, x: Any, values: Any) -> Any:
    return torch.tensor(values, device=x.device)


def _segments(combine: Callable[..., Any], empty: float) -> Callable[..., Any]:
    return lambda np, x, n: np.stack([combine(np, x[0:2]), np.full(x.shape[1:], empty), combine(np, x[2:5])])


SAMPLES = [
    *(torch_function("segment_reduce", lambda f, x, n, how=how, start=start: f(x, how, lengths=n, initial=start),
          _segments(combine, start), distinct(5, 2), fixed([2, 0, 3], "int64")) for how, start, combine in (
        ("sum", 0.0, lambda np, x: x.sum(0)), ("prod", 1.0, lambda np, x: x.prod(0)), ("max", -9.0, lambda np, x: x.max(0)),
        ("min", 9.0, lambda np, x: x.min(0)), ("mean", 0.0, lambda np, x: x.mean(0)))),
    *(sample for name in ("sum", "mean", "max", "min", "prod") for sample in _segment_reduce(name)),
]  # fmt: skip


BAD = [
    Bad("segment_reduce", lambda torch, x: torch.segment_reduce(x, "sum", lengths=_at(torch, x, [3])), [real(2)], "RuntimeError"),
    Bad("segment_reduce", lambda torch, x: torch.segment_reduce(x, "sum"), [real(2)], "RuntimeError"),
]  # fmt: skip
