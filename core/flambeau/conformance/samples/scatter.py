"""Writing by index: `scatter`, `index_*`, `put` and similar functions."""

from __future__ import annotations

from typing import Any

from .sample import NUMBERS, Bad, Sample, fixed, index, mask, real

__all__ = ["BAD", "SAMPLES", "columns", "written"]

_ROWS = fixed([2, 0], "int64")
_PLACES = fixed([[2, 0, 1, 0], [0, 1, 2, 1]], "int64")  # indices that are distinct within each column
_TIES = fixed([0, 2, 0], "int64")


def written(change: Any) -> Any:
    """Return a reference function that modifies a copy of its first argument."""

    def formula(np: Any, x: Any, *rest: Any) -> Any:
        x = x.copy()
        change(np, x, *rest)
        return x

    return formula


def columns(np: Any, i: Any) -> Any:
    return np.broadcast_to(np.arange(i.shape[1]), i.shape)


def _put_rows(np: Any, x: Any, i: Any, y: Any) -> None:
    np.put_along_axis(x, i, y, 0)


SAMPLES = [
    Sample("scatter", lambda torch, x, i, y: torch.scatter(x, 0, i, y), [real(3, 4), _PLACES, real(2, 4)], written(_put_rows),
           NUMBERS),
    Sample("scatter", lambda torch, x, i: torch.scatter(x, 0, i, 5), [real(3, 4), _PLACES],
           written(lambda np, x, i: np.put_along_axis(x, i, 5, 0)), NUMBERS),
    Sample("index_add", lambda torch, x, i, y: torch.index_add(x, 0, i, y, alpha=2), [real(3, 2), _TIES, real(3, 2)],
           written(lambda np, x, i, y: np.add.at(x, i, 2 * y)), NUMBERS),
    Sample("index_copy", lambda torch, x, i, y: torch.index_copy(x, 0, i, y), [real(3, 2), _ROWS, real(2, 2)],
           written(lambda np, x, i, y: x.__setitem__(i, y)), NUMBERS),
    Sample("index_fill", lambda torch, x, i: torch.index_fill(x, 0, i, 4), [real(3, 2), _ROWS],
           written(lambda np, x, i: x.__setitem__(i, 4)), NUMBERS),
    Sample("index_put", lambda torch, x, i, y: torch.index_put(x, (i,), y), [real(3, 2), _ROWS, real(2)],
           written(lambda np, x, i, y: x.__setitem__(i, y)), NUMBERS),
    Sample("index_put", lambda torch, x, i, y: torch.index_put(x, (i,), y, accumulate=True), [real(3, 2), _TIES, real(2)],
           written(lambda np, x, i, y: np.add.at(x, i, y)), NUMBERS),
    Sample("take", lambda torch, x, i: torch.take(x, i), [real(3, 2), index(2, 2, high=6)], lambda np, x, i: x.reshape(-1)[i],
           NUMBERS),
    Sample("put", lambda torch, x, i, y: torch.put(x, i, y), [real(3, 2), _ROWS, real(2)],
           written(lambda np, x, i, y: np.put(x, i.astype(np.intp), y)), NUMBERS),
    Sample("put", lambda torch, x, i, y: torch.put(x, i, y, True), [real(3, 2), _TIES, real(3)],
           written(lambda np, x, i, y: np.add.at(x.reshape(-1), i, y)), NUMBERS),
    Sample("take_along_dim", lambda torch, x, i: torch.take_along_dim(x, i, 1), [real(3, 4), index(3, 2, high=4)],
           lambda np, x, i: np.take_along_axis(x, i, 1), NUMBERS),
    Sample("masked_scatter", lambda torch, x, m, y: torch.masked_scatter(x, m, y), [real(3, 4), mask(3, 4), real(12)],
           written(lambda np, x, m, y: x.__setitem__(m, y[: m.sum()])), NUMBERS),
    Sample("select_scatter", lambda torch, x, y: torch.select_scatter(x, y, 1, 2), [real(3, 4), real(3)],
           written(lambda np, x, y: x.__setitem__((slice(None), 2), y)), NUMBERS),
    Sample("slice_scatter", lambda torch, x, y: torch.slice_scatter(x, y, 1, 0, 4, 2), [real(3, 4), real(3, 2)],
           written(lambda np, x, y: x.__setitem__((slice(None), slice(0, 4, 2)), y)), NUMBERS),
    Sample("diagonal_scatter", lambda torch, x, y: torch.diagonal_scatter(x, y, 1), [real(3, 4), real(3)],
           written(lambda np, x, y: x.__setitem__((np.arange(3), np.arange(1, 4)), y)), NUMBERS),
    Sample("as_strided_scatter", lambda torch, x, y: torch.as_strided_scatter(x, y, (2,), (4,), 1), [real(3, 4), real(2)],
           written(lambda np, x, y: x.__setitem__((slice(0, 2), 1), y)), NUMBERS, layouts=False),
]  # fmt: skip


BAD = [
    Bad("scatter", lambda torch, x, i: torch.scatter(x, 0, i, x), [real(3, 4), fixed([[5]], "int64")], "RuntimeError"),
    Bad("index_add", lambda torch, x, i, y: torch.index_add(x, 0, i, y), [real(3, 2), _ROWS, real(3, 2)], "RuntimeError"),
    Bad("index_copy", lambda torch, x, i: torch.index_copy(x, 0, i, x), [real(3, 2), _ROWS], "IndexError"),
    Bad("take", lambda torch, x, i: torch.take(x, i), [real(3), fixed([7], "int64")], "IndexError"),
]  # fmt: skip
