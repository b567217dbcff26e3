"""The few operations that are called for each member of a batch in turn, because their steps depend on the values."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from .._tensor import Tensor
from ..tree import flatten, unflatten
from .levels import levels_of

__all__ = ["LOOPED", "one_by_one"]

LOOPED: list[str] = []  # their names
C = TypeVar("C", bound=Callable[..., Any])


def one_by_one(function: C) -> C:
    """Call ``function`` for each member of a batch, where ``vmap`` gives it one; the results have to be of one shape."""
    LOOPED.append(function.__name__)

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        leaves, spec = flatten((args, kwargs))
        batched = [each for each in leaves if isinstance(each, Tensor) and levels_of(each._kind)]
        if not batched:
            return function(*args, **kwargs)
        from .kinds import add_level, drop_level

        level = max((levels_of(each._kind)[-1] for each in batched), key=lambda each: each.number)
        whole = [each if type(each) is not Tensor or level not in levels_of(each._kind) else drop_level(each, level, 0)
                 for each in leaves]  # fmt: skip
        results, structure = [], spec
        for member in range(level.size):
            given = [each if each is leaf else each[member] for each, leaf in zip(whole, leaves, strict=True)]
            member_args, member_kwargs = unflatten(given, spec)
            made, structure = flatten(called(*member_args, **member_kwargs))
            results.append(made)
        from ..ops.joining import stack

        return unflatten([add_level(stack(each), level, 0) for each in zip(*results, strict=True)], structure)

    return called  # type: ignore[return-value]  # it has the function's signature
