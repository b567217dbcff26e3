"""Conversion between nested state dicts and flat dictionaries with dotted keys."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from flambeau import Tensor

__all__ = ["flatten_state_dict", "set_element", "unflatten_state_dict"]

Path = tuple[str | int, ...]


def _visit(value: Any, path: Path, visitor: Callable[[Path, Any], None]) -> None:
    if isinstance(value, dict):
        for key, member in value.items():
            _visit(member, (*path, key), visitor)
    elif isinstance(value, (list, tuple)) and any(isinstance(member, (Tensor, dict, list, tuple)) for member in value):
        for index, member in enumerate(value):
            _visit(member, (*path, index), visitor)
    else:
        visitor(path, value)


def flatten_state_dict(state: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Path]]:
    """Return the leaves by dotted key, and the path of each key. Raise ValueError if two leaves have the same key.

    >>> flatten_state_dict({"a": {"b": 1}})
    ({'a.b': 1}, {'a.b': ('a', 'b')})
    """
    flat: dict[str, Any] = {}
    paths: dict[str, Path] = {}

    def visit(path: Path, value: Any) -> None:
        name = ".".join(map(str, path))
        if name in flat:
            raise ValueError(f"duplicated flatten key {name}")
        flat[name], paths[name] = value, path

    for key, value in state.items():
        _visit(value, (key,), visit)
    return flat, paths


def set_element(root: Any, path: Path, value: Any) -> None:
    """Set a value in nested dictionaries and lists; create missing dictionaries and lists on the path."""
    current = root
    for key, following in pairwise(path):
        empty: Any = {} if isinstance(following, str) else []
        if isinstance(current, list):
            current.extend([None] * (int(key) + 1 - len(current)))
            if current[int(key)] is None:
                current[int(key)] = empty
        elif key not in current:
            current[key] = empty
        current = current[key]
    last = path[-1]
    if isinstance(current, list):
        current.extend([None] * (int(last) + 1 - len(current)))
    current[last] = value


def unflatten_state_dict(flat: dict[str, Any], paths: dict[str, Path]) -> dict[str, Any]:
    """Return the nested state dict of flat entries; `paths` is the second result of `flatten_state_dict`.

    >>> unflatten_state_dict({"a.0": 1}, {"a.0": ("a", 0)})
    {'a': [1]}
    """
    nested: dict[str, Any] = {}
    for name, value in flat.items():
        set_element(nested, paths[name], value)
    return nested
