"""Call a function separately for each member of a batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...engine.tensors.tensor import Tensor
from ...engine.values.trees import flatten, unflatten
from ...operations.joining import stack
from .keys import add_level, drop_level
from .levels import levels_of

__all__ = ["loop"]


def loop(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call `function(*args, **kwargs)` for each member of the arguments' batches, and stack the results.

    The results of all members must have the same shape.
    """
    leaves, spec = flatten((args, kwargs))
    batched = [leaf for leaf in leaves if isinstance(leaf, Tensor) and levels_of(leaf._key)]
    if not batched:
        return function(*args, **kwargs)
    level = max((levels_of(leaf._key)[-1] for leaf in batched), key=lambda level: level.number)
    whole = [
        leaf if type(leaf) is not Tensor or level not in levels_of(leaf._key) else drop_level(leaf, level, 0) for leaf in leaves
    ]
    results, structure = [], spec
    for member in range(level.size):
        member_leaves = [batch if batch is leaf else batch[member] for batch, leaf in zip(whole, leaves, strict=True)]
        member_args, member_kwargs = unflatten(member_leaves, spec)
        outputs, structure = flatten(loop(function, member_args, member_kwargs))
        results.append(outputs)
    return unflatten([add_level(stack(members), level, 0) for members in zip(*results, strict=True)], structure)
