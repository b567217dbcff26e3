"""Merging samples, including nested ones, into batches."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import flambeau as torch

__all__ = ["collate", "default_collate", "default_collate_fn_map", "default_convert"]

CollateMap = dict[type | tuple[type, ...], Callable[..., Any]]


def map_structure(function: Callable[[Any], Any], sample: Any, parts: Any, tuple_type: Callable[[list[Any]], Any] = list) -> Any:
    """Return a container of the same type as `sample`, whose elements are `function(part)` for each `part` in `parts`.

    `parts` is a mapping with the same keys if `sample` is a mapping, otherwise a sequence. Mutable containers are
    copied to preserve the attributes of subclasses. Named tuples keep their type; other tuples become a `tuple_type`.
    """
    if isinstance(sample, Mapping):
        items = {key: function(parts[key]) for key in sample}
        return _rebuild(sample, items, dict, MutableMapping, lambda clone: clone.update(items))
    if isinstance(sample, tuple) and hasattr(sample, "_fields"):
        return type(sample)(*map(function, parts))
    values = [function(part) for part in parts]
    if isinstance(sample, tuple):
        return tuple_type(values)
    return _rebuild(sample, values, list, MutableSequence, lambda clone: _assign(clone, values))


def _rebuild(sample: Any, content: Any, plain: type, mutable: type, fill: Callable[[Any], None]) -> Any:
    try:
        if not isinstance(sample, mutable):
            return type(sample)(content)
        clone = copy.copy(sample)
        fill(clone)
        return clone
    except TypeError:  # the container's type does not support this
        return plain(content)


def _assign(sequence: MutableSequence[Any], values: list[Any]) -> None:
    for i, value in enumerate(values):
        sequence[i] = value


def is_nested(data: Any) -> bool:
    """Whether `data` is a mapping or a sequence other than str and bytes."""
    return isinstance(data, Mapping) or (isinstance(data, Sequence) and not isinstance(data, str | bytes))


np_str_obj_array_pattern = re.compile("[SaUO]")  # type codes of text and object dtypes in `numpy.dtype.str`


class _NumPyTypeByName(type):
    name: str

    def __instancecheck__(cls, value: Any) -> bool:
        return any(base.__module__ == "numpy" and base.__name__ == cls.name for base in type(value).__mro__)


class NumPyArray(metaclass=_NumPyTypeByName):
    """Equivalent of `numpy.ndarray` in `isinstance` checks, without importing NumPy."""

    name = "ndarray"


class NumPyScalar(metaclass=_NumPyTypeByName):
    """Equivalent of `numpy.generic` in `isinstance` checks, without importing NumPy."""

    name = "generic"


def _is_numeric(array: Any) -> bool:
    return np_str_obj_array_pattern.search(array.dtype.str) is None


def default_convert(data: Any) -> Any:
    """Convert the NumPy arrays and scalars in `data`, which may be nested, to tensors. Other values are unchanged.

    A `DataLoader` without automatic batching applies this to each sample.

    Args:
        data: a sample: arrays, scalars, and nested lists, tuples and mappings of them. Tuples become lists. Arrays of text
            or objects are unchanged.

    Example:
        >>> import numpy
        >>> default_convert({"a": [numpy.array([1, 2]), "x"]})
        {'a': [tensor([1, 2]), 'x']}
    """
    if type(data).__module__ == "numpy" and isinstance(data, NumPyArray | NumPyScalar):
        return torch.as_tensor(data) if _is_numeric(data) else data
    if is_nested(data):
        return map_structure(default_convert, data, data)
    return data


def collate(batch: Sequence[Any], *, collate_fn_map: CollateMap | None = None) -> Any:
    """Merge the samples of `batch` by the functions in `collate_fn_map`. Containers are merged element by element.

    Args:
        batch: the samples, all of the same type.
        collate_fn_map: maps the type of a sample, or a tuple of types, to a function. The function is called as
            `function(batch, collate_fn_map=collate_fn_map)`.

    Raises:
        TypeError: a sample is not a container and its type is not in the map.
        RuntimeError: sequences have different lengths.

    Example:
        >>> collate([(1, "a"), (2, "b")], collate_fn_map={int: lambda batch, collate_fn_map: sum(batch),
        ...                                               str: lambda batch, collate_fn_map: "".join(batch)})
        [3, 'ab']
    """
    sample = batch[0]
    merge = _find(collate_fn_map or {}, sample)
    if merge is not None:
        return merge(batch, collate_fn_map=collate_fn_map)
    if not is_nested(sample):
        raise TypeError(_unsupported_message(type(sample)))

    def merge_part(part: Any) -> Any:
        return collate(part, collate_fn_map=collate_fn_map)

    if isinstance(sample, Mapping):
        return map_structure(merge_part, sample, {key: [item[key] for item in batch] for key in sample})
    if any(len(item) != len(sample) for item in batch):
        raise RuntimeError("each element in list of batch should be of equal size")
    return map_structure(merge_part, sample, list(zip(*batch, strict=True)))


def _find(functions: CollateMap, sample: Any) -> Callable[..., Any] | None:
    exact = functions.get(type(sample))
    if exact is not None:
        return exact
    return next((function for kind, function in functions.items() if isinstance(sample, kind)), None)


def _unsupported_message(kind: Any) -> str:
    return f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {kind}"


def _collate_tensors(batch: Sequence[torch.Tensor], *, collate_fn_map: CollateMap | None = None) -> torch.Tensor:
    return torch.stack(batch, 0)


def _collate_arrays(batch: Sequence[Any], *, collate_fn_map: CollateMap | None = None) -> torch.Tensor:
    if not _is_numeric(batch[0]):
        raise TypeError(_unsupported_message(batch[0].dtype))
    merged: torch.Tensor = collate([torch.as_tensor(array) for array in batch], collate_fn_map=collate_fn_map)
    return merged


def _collate_scalars(batch: Sequence[Any], *, collate_fn_map: CollateMap | None = None) -> torch.Tensor:
    return torch.as_tensor(batch)


def _collate_floats(batch: Sequence[float], *, collate_fn_map: CollateMap | None = None) -> torch.Tensor:
    return torch.tensor(batch, dtype=torch.float64)


def _collate_ints(batch: Sequence[int], *, collate_fn_map: CollateMap | None = None) -> torch.Tensor:
    return torch.tensor(batch)


def _keep_list(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    return batch


# The first type that matches is used, so the order matters: numpy.float64 is also a float, and numpy.str_ also a str.
default_collate_fn_map: CollateMap = {
    torch.Tensor: _collate_tensors,
    str: _keep_list,
    bytes: _keep_list,
    NumPyArray: _collate_arrays,
    NumPyScalar: _collate_scalars,
    float: _collate_floats,
    int: _collate_ints,
}


def default_collate(batch: Sequence[Any]) -> Any:
    """Merge samples into a batch. Tensors get a new first dimension.

    Tensors and NumPy arrays are stacked. Numbers become one tensor (float64 for floats). Text stays a list.
    Mappings, named tuples and sequences are merged element by element; tuples become lists.

    Args:
        batch: the samples: tensors of one shape, numbers, text, or containers of these with the same structure.

    Raises:
        TypeError: the type of a sample is not supported, or an array contains text or objects.
        RuntimeError: tensors have different shapes, or sequences have different lengths.

    Example:
        >>> default_collate([{"x": 1, "name": "a"}, {"x": 2, "name": "b"}])
        {'x': tensor([1, 2]), 'name': ['a', 'b']}
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)
