"""Writing by index with a reduction: `scatter_reduce` and `index_reduce`."""

from __future__ import annotations

from typing import Any

from .sample import FLOATS, Bad, Sample, distinct, fixed, index, real
from .scatter import columns, written

__all__ = ["BAD", "SAMPLES"]

_REDUCTIONS = {"sum": "add", "prod": "multiply", "amax": "maximum", "amin": "minimum"}


def _samples(name: str) -> list[Sample]:
    def scattered(np: Any, x: Any, i: Any, y: Any) -> None:
        getattr(np, _REDUCTIONS[name]).at(x, (i, columns(np, i)), y)

    return [
        Sample(
            "scatter_reduce",
            lambda torch, x, i, y: torch.scatter_reduce(x, 0, i, y, name),
            [distinct(3, 4), index(2, 4, high=3), real(2, 4)],
            written(scattered),
            (*FLOATS, "int64"),
        ),
        *(
            [
                Sample(
                    "index_reduce",
                    lambda torch, x, y: torch.index_reduce(x, 0, torch.tensor([0, 2, 0], device=x.device), y, name),
                    [distinct(3, 2), real(3, 2)],
                    written(lambda np, x, y: getattr(np, _REDUCTIONS[name]).at(x, np.array([0, 2, 0]), y)),
                )
            ]
            if name != "sum"
            else []
        ),
    ]


SAMPLES = [sample for name in _REDUCTIONS for sample in _samples(name)]

BAD = [
    Bad("scatter_reduce", lambda torch, x, i: torch.scatter_reduce(x, 0, i, x, "sum"), [real(3), fixed([3], "int64")],
        "RuntimeError"),
]  # fmt: skip
