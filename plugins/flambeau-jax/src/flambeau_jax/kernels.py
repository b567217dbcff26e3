"""Operations that JAX has something better for than the array API: indices, and writes by ``.at``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy

from .compiled import Compiled

__all__ = ["KERNELS"]

_BOOL = numpy.dtype(bool)
KERNELS: dict[str, Callable[..., Any]] = {}


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Register a function as the kernel of the operation it is named after."""
    KERNELS[function.__name__] = function
    return function


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, compiled."""
    return functools.wraps(function)(Compiled(function.__name__, function))


# --- shapes -------------------------------------------------------------------------------------------------------


@compiled
def reshaped(input: Any, shape: tuple[int, ...]) -> Any:
    return input.reshape(shape)


@kernel
def view(input: Any, shape: tuple[int, ...]) -> Any:
    try:
        return reshaped(input, shape)
    except TypeError as error:  # the standard says nothing about the type; flambeau expects NumPy's
        raise ValueError(str(error)) from None


KERNELS["squeeze"] = KERNELS["reshape"] = view


# --- indexing -----------------------------------------------------------------------------------------------------


def _check_bounds(shape: tuple[int, ...], items: Any) -> None:
    """JAX clips where PyTorch raises."""
    items = items if isinstance(items, tuple) else (items,)
    axis = 0
    for position, each in enumerate(items):
        if each is Ellipsis:
            rest = sum(_dims(later) for later in items[position + 1 :])
            axis = len(shape) - rest
            continue
        if hasattr(each, "dtype") and each.dtype != _BOOL and each.size:
            places = numpy.asarray(each)
            _check(int(places.min()), axis, shape[axis])
            _check(int(places.max()), axis, shape[axis])
        elif isinstance(each, int) and not isinstance(each, bool):
            _check(each, axis, shape[axis])
        axis += _dims(each)


def _check(index: int, axis: int, length: int) -> None:
    if not -length <= index < length:
        raise IndexError(f"index {index} is out of bounds for axis {axis} with size {length}")


def _dims(item: Any) -> int:
    if item is None or item is Ellipsis:
        return 0
    return item.ndim if hasattr(item, "dtype") and item.dtype == _BOOL else 1


def _places(index: Any) -> Any:
    """The index with the places where masks hold in place of the masks: how many there are decides what is compiled."""
    items: list[Any] = []
    for each in index if isinstance(index, tuple) else (index,):
        if getattr(each, "dtype", None) != _BOOL:
            items.append(each)
        elif each.ndim:
            items.extend(numpy.nonzero(numpy.asarray(each)))
        else:
            items.append(bool(each))
    return tuple(items)


@compiled
def looked_up(input: Any, index: Any) -> Any:
    return input[index]


@compiled
def written(input: Any, value: Any, index: Any) -> Any:
    return input.at[index].set(value)


@compiled
def added(input: Any, values: Any, index: Any) -> Any:
    return input.at[index].add(values)


@compiled
def written_into_zeros(input: Any, shape: Any, index: Any) -> Any:
    return jnp.zeros(shape, input.dtype).at[index].set(input)


@compiled
def added_to_zeros(input: Any, shape: Any, index: Any) -> Any:
    return jnp.zeros(shape, input.dtype).at[index].add(input)


@compiled
def filled(input: Any, value: Any, mask: Any) -> Any:
    return jnp.where(mask.reshape(mask.shape + (1,) * (input.ndim - mask.ndim)), value, input)


@kernel
def index(input: Any, index: Any) -> Any:
    _check_bounds(input.shape, index)
    return looked_up(input, _places(index))


for _name in ("select", "slice", "unsqueeze", "alias"):
    KERNELS[f"getitem_{_name}"] = index


@kernel
def setitem(input: Any, value: Any, index: Any) -> Any:
    mask = index[0] if isinstance(index, tuple) and len(index) == 1 else index
    if getattr(mask, "dtype", None) == _BOOL and not value.ndim and mask.shape == input.shape[: mask.ndim]:
        return filled(input, value, mask)
    _check_bounds(input.shape, index)
    return written(input, value, _places(index))


@kernel
def getitem_backward(input: Any, shape: Any, index: Any) -> Any:
    return written_into_zeros(input, shape, _places(index))


@kernel
def index_backward(input: Any, shape: Any, index: Any) -> Any:
    return added_to_zeros(input, shape, _places(index))


@kernel
def index_put_add(input: Any, values: Any, index: Any) -> Any:
    return added(input, values, _places(index))


@kernel
@compiled
def scatter_add_along(input: Any, src: Any, index: Any, dim: int) -> Any:
    where = list(jnp.ogrid[tuple(slice(0, length) for length in index.shape)])
    where[dim] = index
    return input.at[tuple(where)].add(src[tuple(slice(0, length) for length in index.shape)])


@kernel
@compiled
def pad_to(input: Any, shape: Any) -> Any:
    return jnp.pad(input, [(0, wanted - given) for given, wanted in zip(input.shape, shape, strict=True)])
