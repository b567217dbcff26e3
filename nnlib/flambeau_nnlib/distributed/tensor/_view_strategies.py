"""Strategies of operations that take the shape of their result or that join tensors."""

from __future__ import annotations

from collections.abc import Sequence

from ._dtensor_spec import DTensorSpec
from ._strategies import Call, P, R, Strategy, moved, partials, rule
from .placement_types import Placement, Shard

__all__ = ["SHAPED"]

_NEW = ("new_empty", "new_full", "new_ones", "new_zeros", "zeros_of")
SHAPED = frozenset({"view", "reshape", "expand", "_unsafe_view", *_NEW})  # their second argument is the shape of the result


@rule("view", "reshape", "_unsafe_view", "squeeze")
def reshaped(call: Call) -> list[Strategy]:
    return moved(call, kept_dimensions(call.tensors[0].shape, call.shapes[0], call))


def kept_dimensions(old: Sequence[int], new: Sequence[int], call: Call) -> dict[int, int]:
    """Map the dimensions of `old` that may be sharded to the corresponding dimensions of `new`.

    These are dimensions that stay unchanged, and, where dimensions are merged or one is split, the first of them.
    """
    places: dict[int, int] = {}
    i = j = 0
    while i < len(old) and j < len(new):
        first, second, a, b = i, j, old[i], new[j]
        while a != b:
            if a < b and i + 1 < len(old):
                i += 1
                a *= old[i]
            elif j + 1 < len(new):
                j += 1
                b *= new[j]
            else:
                return places
        outer = next((dim for dim in range(first, i + 1) if old[dim] != 1), first)
        inner = next((dim for dim in range(second, j + 1) if new[dim] != 1), second)
        parts = call.count(outer)
        if old[outer] == new[inner] or (old[outer] % parts == 0 and new[inner] % parts == 0):
            places[outer] = inner
        i, j = i + 1, j + 1
    return places


@rule("expand")
def expanded(call: Call) -> list[Strategy]:
    old, new = call.tensors[0].shape, call.shapes[0]
    ahead = len(new) - len(old)
    return moved(call, {dim: dim + ahead for dim, length in enumerate(old) if length == new[dim + ahead]})


@rule("cat")
def joined(call: Call) -> list[Strategy]:
    rank = len(call.shapes[0])
    (used,) = call.dims(call.argument("dim", 0), rank)
    alike = all(len(spec.shape) == rank for spec in call.tensors)  # `cat` skips legacy empty tensors of shape (0,)
    return [*(_all(call, Shard(dim), Shard(dim)) for dim in range(rank) if dim != used and alike), _all(call, P, P)]


def _all(call: Call, placement: Placement, output: Placement) -> Strategy:
    return Strategy((placement,) * len(call.tensors), output)


@rule("stack")
def stacked(call: Call) -> list[Strategy]:
    rank = len(call.tensors[0].shape)
    (used,) = call.dims(call.argument("dim", 0), rank + 1)
    return [*(_all(call, Shard(dim), Shard(dim + (dim >= used))) for dim in range(rank)), _all(call, P, P)]


@rule("gather_along", "gather", "scatter_add_along", "scatter_along")
def gathered(call: Call) -> list[Strategy]:
    shapes = [spec.shape for spec in call.tensors]
    given = [value for value in call.args if isinstance(value, int) and not isinstance(value, DTensorSpec)]
    (used,) = call.dims(call.kwargs.get("dim", given[0] if given else 0))
    return [
        _all(call, Shard(dim), Shard(dim))
        for dim in range(len(shapes[0]))
        if dim != used and len({shape[dim] for shape in shapes}) == 1
    ]


@rule("constant_pad_nd")
def padded(call: Call) -> list[Strategy]:
    pad = call.argument("pad")
    rank = len(call.tensors[0].shape)
    untouched = [dim for dim in range(rank) if not any(pad[2 * (rank - 1 - dim) :][:2])]
    return [Strategy((Shard(dim),), Shard(dim)) for dim in untouched] if pad else [Strategy((R,), R)]


@rule(*_NEW)
def new(call: Call) -> list[Strategy]:
    """Rule for `new_zeros` and similar: a result of the argument's shape is sharded like the argument, and a result of
    another shape is replicated.
    """
    dims = range(len(call.tensors[0].shape))
    same = tuple(call.tensors[0].shape) == tuple(call.shapes[0])
    options = [Strategy((Shard(dim),), Shard(dim) if same else R) for dim in dims]
    return [*options, *(Strategy((placement,), R) for placement in partials(call))]
