"""Helpers for per-dimension arguments, and for prefixes of `state_dict` keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from flambeau.extension import private_names

__all__ = ["consume_prefix_in_state_dict_if_present"]

__getattr__ = private_names(__name__)


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that converts an iterable to a tuple, and a number to a tuple of n copies."""

    def parse(value: Any) -> tuple[Any, ...]:
        return tuple(value) if isinstance(value, Iterable) else (value,) * n

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(values: tuple[Any, ...], n: int) -> tuple[Any, ...]:
    """Return `values` from last to first, each n times: the order of padding in `F.pad`."""
    return tuple(value for value in reversed(values) for _ in range(n))


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Remove a prefix from the keys of a `state_dict`, in place, such as the `"module."` of a `DataParallel`.

    >>> state = torch.nn.DataParallel(torch.nn.Linear(2, 1)).state_dict()
    >>> consume_prefix_in_state_dict_if_present(state, "module."); list(state)
    ['weight', 'bias']
    """
    for key in [key for key in state_dict if key.startswith(prefix)]:
        state_dict[key[len(prefix) :]] = state_dict.pop(key)
    versions = getattr(state_dict, "_metadata", {})  # its keys are module names, which do not end in a dot
    for key in [key for key in versions if f"{key}.".startswith(prefix)]:
        versions[key[len(prefix) :]] = versions.pop(key)
