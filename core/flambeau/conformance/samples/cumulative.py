"""Cumulative sums, products, extremes and log-sum-exp."""

from __future__ import annotations

from typing import Any

from .sample import COMPLEX, FLOATS, NUMBERS, Bad, Sample, distinct, fixed, positive, real, unit

__all__ = ["BAD", "SAMPLES"]


def _running(name: str) -> list[Sample]:
    return [
        Sample(
            name,
            lambda torch, x: getattr(torch, name)(x, 1),
            [positive(2, 4)],
            lambda np, x: getattr(np, name)(x, 1),
            NUMBERS,
            "sum",
            inplace=False,
        ),
        Sample(name, lambda torch, x: getattr(torch, name)(x, 0), [real()], lambda np, x: x),
        Sample(name, lambda torch, x: getattr(torch, name)(x, 0), [real(0, 2)], lambda np, x: x),
    ]


def _running_extreme(name: str, formula: str) -> Sample:
    def expected(np: Any, x: Any) -> Any:
        values = getattr(np, formula).accumulate(x, 1)
        return values, np.stack(
            [np.array([row.tolist().index(value) for value in reach]) for row, reach in zip(x, values, strict=True)]
        )

    return Sample(
        name, lambda torch, x: getattr(torch, name)(x, 1), [distinct(2, 5)], expected, (*FLOATS, "int64"), ("same", "int64")
    )


SAMPLES = [
    *_running("cumsum"),
    *_running("cumprod"),
    _running_extreme("cummax", "maximum"),
    _running_extreme("cummin", "minimum"),
    Sample("logcumsumexp", lambda torch, x: torch.logcumsumexp(x, 1), [real(2, 4)], lambda np, x: np.log(np.exp(x).cumsum(1))),
    Sample("logcumsumexp", lambda torch, x: torch.logcumsumexp(x, 1), [unit(2, 4)], lambda np, x: np.log(np.exp(x).cumsum(1)),
           COMPLEX),
    Sample("logcumsumexp", lambda torch, x: torch.logcumsumexp(x, 0), [fixed([0.0, 900.0, -900.0])],
           lambda np, x: np.logaddexp.accumulate(x), ("float64", "float32")),
]  # fmt: skip


BAD = [
    Bad("cumsum", lambda torch, x: torch.cumsum(x, 1), [real(3)], "IndexError"),
]
