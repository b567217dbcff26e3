"""Picking elements by index and by mask, and writing to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .sample import NUMBERS, Bad, Input, Sample, fixed, index, mask, real
from .views import view

__all__ = ["BAD", "SAMPLES"]


def _pick(item: Any, *inputs: Input) -> Sample:
    """Return a sample of reading `x[item(*other_inputs)]`."""
    return Sample(
        "Tensor.__getitem__",
        lambda torch, x, *rest: torch.Tensor.__getitem__(x, item(*rest)),
        [real(3, 4), *inputs],
        lambda np, x, *rest: x[item(*rest)],
        NUMBERS,
        vmap=not _has_mask(inputs),
    )


def _write(item: Any, value: Input, *inputs: Input) -> Sample:
    """Return a sample of writing `x[item(*other_inputs)] = value` on a clone of `x`."""

    def call(torch: Any, x: Any, value: Any, *rest: Any) -> Any:
        x = x.clone()
        torch.Tensor.__setitem__(x, item(*rest), value)
        return x

    def formula(np: Any, x: Any, value: Any, *rest: Any) -> Any:
        x = x.copy()
        x[item(*rest)] = value
        return x

    return Sample("Tensor.__setitem__", call, [real(3, 4), value, *inputs], formula, NUMBERS, vmap=not _has_mask(inputs))


def _has_mask(inputs: Sequence[Input]) -> bool:
    return any(input.dtype == "bool" for input in inputs)


def _through_view(torch: Any, x: Any, y: Any) -> Any:
    x = x.clone()
    x[1:].t()[0].mul_(y)
    return x


def _through_view_expected(np: Any, x: Any, y: Any) -> Any:
    x = x.copy()
    x[1:].T[0] *= y
    return x


def _added(np: Any, x: Any, i: Any, y: Any) -> Any:
    x = x.copy()
    np.add.at(x, (i, np.broadcast_to(np.arange(4), i.shape)), y)
    return x


SAMPLES = [
    _pick(lambda i: i, index(5, high=3)),
    _pick(lambda i: (slice(None), i), index(2, 2, high=4)),
    _pick(lambda i, j: (i, j), index(2, 1, high=3), index(3, high=4)),
    _pick(lambda i: (i, None, slice(1, 3)), index(2, high=3)),
    _pick(lambda i: (..., i), index(0, high=4)),
    _pick(lambda m: m, mask(3, 4)),
    _pick(lambda m: m, mask(3)),
    _pick(lambda m: (slice(None), m), mask(4)),
    _pick(lambda: [0, 2]),
    _pick(lambda: (slice(None), [[0], [3]])),
    _write(lambda: 1, real(4)),
    _write(lambda: (slice(None), slice(0, 4, 2)), real()),
    _write(lambda i: i, real(2, 4), fixed([2, 0], "int64")),
    _write(lambda m: m, real(), mask(3, 4)),
    _write(lambda: ([0, 1], [2, 3]), real(2)),
    Sample("Tensor.mul_", _through_view, [real(3, 4), real(2)], _through_view_expected, NUMBERS),
    Sample("index_select", lambda torch, x, i: torch.index_select(x, 1, i), [real(3, 4), index(3, high=4)],
           lambda np, x, i: x[:, i], NUMBERS),
    Sample("gather", lambda torch, x, i: torch.gather(x, 1, i), [real(3, 4), index(2, 5, high=4)],
           lambda np, x, i: np.take_along_axis(x[:2], i, 1), NUMBERS),
    Sample("scatter_add", lambda torch, x, i, y: torch.scatter_add(x, 0, i, y), [real(3, 4), index(2, 4, high=3), real(2, 4)],
           lambda np, x, i, y: _added(np, x, i, y), NUMBERS),
    Sample("masked_fill", lambda torch, x, m: torch.masked_fill(x, m, 7), [real(3, 4), mask(3, 4)],
           lambda np, x, m: np.where(m, 7, x), NUMBERS),
    Sample("masked_fill", lambda torch, x, m, v: torch.masked_fill(x, m, v), [real(3, 4), mask(4), real()],
           lambda np, x, m, v: np.where(m, v, x), NUMBERS),
    Sample("masked_select", lambda torch, x, m: torch.masked_select(x, m), [real(3, 4), mask(4)],
           lambda np, x, m: x[np.broadcast_to(m, x.shape)], NUMBERS, vmap=False),
    Sample("nonzero", lambda torch, x: torch.nonzero(x), [real(3, 4, low=-1, high=1)], lambda np, x: np.argwhere(x), NUMBERS,
           "int64", grad=False, vmap=False),
    Sample("nonzero", lambda torch, x: torch.nonzero(x, as_tuple=True), [real(3, 4)], lambda np, x: np.nonzero(x), NUMBERS,
           "int64", grad=False, vmap=False),
    view("Tensor.__getitem__", lambda torch, x: torch.Tensor.__getitem__(x, 1), lambda np, x: x[1]),
    view("Tensor.__getitem__", lambda torch, x: torch.Tensor.__getitem__(x, (slice(None), slice(0, 3, 2), None, -1)),
          lambda np, x: x[:, 0:3:2, None, -1]),
    view("Tensor.__getitem__", lambda torch, x: torch.Tensor.__getitem__(x, (..., slice(1, 3))), lambda np, x: x[..., 1:3]),
]  # fmt: skip


BAD = [
    Bad("Tensor.__getitem__", lambda torch, x: x[3], [real(3, 4)], "IndexError"),
    Bad("Tensor.__getitem__", lambda torch, x: x[0, 0, 0], [real(3, 4)], "IndexError"),
    Bad("Tensor.__getitem__", lambda torch, x: x[::-1], [real(3, 4)], "ValueError"),
    Bad("Tensor.__getitem__", lambda torch, x: x[x], [real(3, 4)], "IndexError"),
    Bad("Tensor.__getitem__", lambda torch, x, m: x[m], [real(3, 4), mask(4)], "IndexError"),
    Bad("Tensor.__setitem__", lambda torch, x, y: torch.Tensor.__setitem__(x, 0, y), [real(3, 4), real(3)], "RuntimeError"),
    Bad("index_select", lambda torch, x: torch.index_select(x, 0, x), [real(3)], "RuntimeError"),
    Bad("gather", lambda torch, x, i: torch.gather(x, 0, i), [real(3), fixed([3], "int64")], "RuntimeError"),
    Bad("gather", lambda torch, x, i: torch.gather(x, 0, i), [real(3, 4), fixed([1], "int64")], "RuntimeError"),
    Bad("masked_fill", lambda torch, x: torch.masked_fill(x, x, 1), [real(3)], "RuntimeError"),
]  # fmt: skip
