"""Operations that JAX has something better for than the array API: indices, and writes by ``.at``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp

__all__ = ["KERNELS"]

KERNELS: dict[str, Callable[..., Any]] = {}


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Register a function as the kernel of the operation it is named after."""
    KERNELS[function.__name__] = function
    return function


# --- shapes -------------------------------------------------------------------------------------------------------


@kernel
def view(input: Any, shape: tuple[int, ...]) -> Any:
    try:
        return input.reshape(shape)
    except TypeError as error:  # the standard says nothing about the type; flambeau expects NumPy's
        raise ValueError(str(error)) from None


KERNELS["squeeze"] = KERNELS["reshape"] = view


# --- indexing -----------------------------------------------------------------------------------------------------


@kernel
def index(input: Any, index: Any) -> Any:
    _check_bounds(input.shape, index)
    return input[index]


for _name in ("select", "slice", "unsqueeze", "alias"):
    KERNELS[f"getitem_{_name}"] = index


def _check_bounds(shape: tuple[int, ...], items: Any) -> None:
    """JAX clips where PyTorch raises."""
    items = items if isinstance(items, tuple) else (items,)
    axis = 0
    for position, each in enumerate(items):
        if each is Ellipsis:
            rest = sum(_dims(later) for later in items[position + 1 :])
            axis = len(shape) - rest
            continue
        if hasattr(each, "dtype") and each.dtype != bool and each.size:
            low, high = int(each.min()), int(each.max())
            if low < -shape[axis] or high >= shape[axis]:
                bad = high if high >= shape[axis] else low
                raise IndexError(f"index {bad} is out of bounds for axis {axis} with size {shape[axis]}")
        elif isinstance(each, int) and not isinstance(each, bool) and not -shape[axis] <= each < shape[axis]:
            raise IndexError(f"index {each} is out of bounds for axis {axis} with size {shape[axis]}")
        axis += _dims(each)


def _dims(item: Any) -> int:
    if item is None or item is Ellipsis:
        return 0
    return item.ndim if hasattr(item, "dtype") and item.dtype == bool else 1


@kernel
def getitem_backward(input: Any, shape: Any, index: Any) -> Any:
    return jnp.zeros(shape, input.dtype).at[index].set(input)


@kernel
def index_backward(input: Any, shape: Any, index: Any) -> Any:
    return jnp.zeros(shape, input.dtype).at[index].add(input)


@kernel
def setitem(input: Any, value: Any, index: Any) -> Any:
    _check_bounds(input.shape, index)
    return input.at[index].set(value)


@kernel
def index_put_add(input: Any, values: Any, index: Any) -> Any:
    return input.at[index].add(values)


def _along(index: Any, dim: int) -> tuple[Any, ...]:
    where = list(jnp.ogrid[tuple(slice(0, length) for length in index.shape)])
    where[dim] = index
    return tuple(where)


@kernel
def scatter_add_along(input: Any, src: Any, index: Any, dim: int) -> Any:
    return input.at[_along(index, dim)].add(src[tuple(slice(0, length) for length in index.shape)])


@kernel
def pad_to(input: Any, shape: Any) -> Any:
    return jnp.pad(input, [(0, wanted - given) for given, wanted in zip(input.shape, shape, strict=True)])
