"""Operations for which JAX has something better than the array API: indexing, and writes by `.at`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax.numpy as jnp

from flambeau.extension import forward_of

from .compiled import Compiled
from .convolution import CONVOLUTIONS
from .indices import Block, block_of, check_bounds, has_arrays, is_mask, places

__all__ = ["KERNELS", "cast"]

KERNELS: dict[str, Callable[..., Any]] = {**CONVOLUTIONS}


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Register a function as the kernel of the operation it is named after."""
    KERNELS[function.__name__] = function
    return function


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, compiled."""
    return functools.wraps(function)(Compiled(function.__name__, function))


@compiled
def cast(input: Any, dtype: Any) -> Any:
    """The array in another dtype; the real part, if that is a real dtype."""
    real = jnp.iscomplexobj(input) and not jnp.issubdtype(dtype, jnp.complexfloating) and not jnp.issubdtype(dtype, jnp.bool_)
    return (input.real if real else input).astype(dtype)


# --- shapes -------------------------------------------------------------------------------------------------------


@compiled
def reshaped(input: Any, shape: tuple[int, ...]) -> Any:
    return input.reshape(shape)


@kernel
def view(input: Any, shape: tuple[int, ...]) -> Any:
    try:
        return reshaped(input, shape)
    except TypeError as error:  # the standard says nothing about the type; flambeau expects NumPy's
        raise ValueError(str(error)) from error


KERNELS["squeeze"] = KERNELS["reshape"] = view


# --- copies of immutable arrays: the arrays themselves ------------------------------------------------------------


@kernel
def clone(input: Any, memory_format: Any = None) -> Any:
    return input


@kernel
def contiguous(input: Any) -> Any:
    return input


@kernel
def copied(input: Any, src: Any) -> Any:
    return src


# --- joining ------------------------------------------------------------------------------------------------------

_AT_ONCE = 16  # arrays joined at a time: a program is compiled for each number, and larger ones take longer


@compiled
def concatenated(*tensors: Any, dim: int) -> Any:
    return jnp.concat(tensors, axis=dim)


@compiled
def stacked(*tensors: Any, dim: int) -> Any:
    return jnp.stack(tensors, axis=dim)


def _groups(arrays: Sequence[Any]) -> Iterator[Sequence[Any]]:
    return (arrays[start : start + _AT_ONCE] for start in range(0, len(arrays), _AT_ONCE))


@kernel
def cat(*tensors: Any, dim: int = 0) -> Any:
    while len(tensors) > _AT_ONCE:
        tensors = tuple([concatenated(*group, dim=dim) for group in _groups(tensors)])
    return concatenated(*tensors, dim=dim)


@kernel
def stack(*tensors: Any, dim: int = 0) -> Any:
    parts = [stacked(*group, dim=dim) for group in _groups(tensors)]
    return parts[0] if len(parts) == 1 else cat(*parts, dim=dim)


# --- indexing -----------------------------------------------------------------------------------------------------


@compiled
def looked_up(input: Any, begins: Any, block: Block) -> Any:
    return block.look(input, begins)


@compiled
def written(input: Any, value: Any, begins: Any, block: Block) -> Any:
    return block.put(input, value, begins)


@compiled
def written_into_zeros(input: Any, shape: Any, begins: Any, block: Block) -> Any:
    return block.put(jnp.zeros(shape, input.dtype), input, begins)


@compiled
def filled(input: Any, value: Any, mask: Any) -> Any:
    return jnp.where(mask.reshape(mask.shape + (1,) * (input.ndim - mask.ndim)), value, input)


@compiled
def gathered(input: Any, index: Any) -> Any:
    return input[index]


@compiled
def scattered(input: Any, value: Any, index: Any) -> Any:
    return input.at[index].set(value)


@compiled
def added(input: Any, values: Any, index: Any) -> Any:
    return input.at[index].add(values)


@compiled
def added_to_zeros(input: Any, shape: Any, index: Any) -> Any:
    return jnp.zeros(shape, input.dtype).at[index].add(input)


@kernel
def index(input: Any, index: Any) -> Any:
    if not has_arrays(index):
        block, begins = block_of(input.shape, index)
        return looked_up(input, begins, block)
    check_bounds(input.shape, index)
    return gathered(input, places(index))


for _name in ("select", "slice", "unsqueeze", "alias"):
    KERNELS[f"getitem_{_name}"] = index


@kernel
def setitem(input: Any, value: Any, index: Any) -> Any:
    if not has_arrays(index):
        block, begins = block_of(input.shape, index)
        return written(input, value, begins, block)
    mask = index[0] if isinstance(index, tuple) and len(index) == 1 else index
    if is_mask(mask) and not value.ndim and mask.shape == input.shape[: mask.ndim]:
        return filled(input, value, mask)
    check_bounds(input.shape, index)
    return scattered(input, value, places(index))


@compiled
def put_view(input: Any, value: Any, view: str, params: Any) -> Any:
    return forward_of("view_scatter")(jnp, input, value, view, params)


@kernel
def view_scatter(input: Any, value: Any, view: str, params: Any) -> Any:
    return setitem(input, value, *params) if view.startswith("getitem_") else put_view(input, value, view, params)


@kernel
def index_backward(input: Any, shape: Any, index: Any) -> Any:
    if has_arrays(index):
        return added_to_zeros(input, shape, places(index))
    block, begins = block_of(shape, index)
    return written_into_zeros(input, shape, begins, block)


KERNELS["getitem_backward"] = index_backward


@kernel
def index_put_add(input: Any, values: Any, index: Any) -> Any:
    return added(input, values, places(index))


@kernel
@compiled
def scatter_add_along(input: Any, src: Any, index: Any, dim: int) -> Any:
    where = list(jnp.ogrid[tuple(slice(0, length) for length in index.shape)])
    where[dim] = index
    return input.at[tuple(where)].add(src[tuple(slice(0, length) for length in index.shape)])


@kernel
@compiled
def pad_to(input: Any, shape: Any) -> Any:
    return jnp.pad(input, [(0, n - length) for length, n in zip(input.shape, shape, strict=True)])
