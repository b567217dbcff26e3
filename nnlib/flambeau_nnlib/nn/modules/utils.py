"""Arguments that are one value for all dimensions, and prefixes of the keys of a `state_dict`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from flambeau.extension import private_names

__all__ = ["consume_prefix_in_state_dict_if_present"]

__getattr__ = private_names(__name__)


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    """A function that repeats a number n times, and makes a tuple of anything iterable."""

    def parse(value: Any) -> tuple[Any, ...]:
        return tuple(value) if isinstance(value, Iterable) else (value,) * n

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(values: tuple[Any, ...], n: int) -> tuple[Any, ...]:
    """`values` from last to first, each n times: the order in which `F.pad` takes the padding of each side."""
    return tuple(value for value in reversed(values) for _ in range(n))


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Take a prefix off the keys of a `state_dict`, in place: `"module."` where a `DataParallel` wrapped the model.

    >>> state = torch.nn.DataParallel(torch.nn.Linear(2, 1)).state_dict()
    >>> consume_prefix_in_state_dict_if_present(state, "module."); list(state)
    ['weight', 'bias']
    """
    for key in [key for key in state_dict if key.startswith(prefix)]:
        state_dict[key[len(prefix) :]] = state_dict.pop(key)
    versions = getattr(state_dict, "_metadata", {})  # its keys are names of modules, without the dot at the end
    for key in [key for key in versions if f"{key}.".startswith(prefix)]:
        versions[key[len(prefix) :]] = versions.pop(key)
