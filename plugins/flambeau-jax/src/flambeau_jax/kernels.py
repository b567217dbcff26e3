"""Kernels that use functions of JAX where they are better than array-API code, such as `.at` for indexing and assignment."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy

from flambeau.extension import Kernels, forward_of

from .compiled import Compiled
from .convolution import CONVOLUTIONS
from .indices import Block, block_of, check_bounds, has_arrays, is_mask, places

__all__ = ["KERNELS", "cast"]

KERNELS = kernel = Kernels(CONVOLUTIONS)


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function to be compiled by XLA (see `Compiled`)."""
    return functools.wraps(function)(Compiled(function.__name__, function))


@compiled
def cast(input: Any, dtype: Any) -> Any:
    """Cast to `dtype`; from complex to real dtypes, drop the imaginary part."""
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
    except TypeError as error:  # the array API does not specify the exception; flambeau expects NumPy's ValueError
        raise ValueError(str(error)) from error


KERNELS["squeeze"] = KERNELS["reshape"] = view


# --- copies: not needed for immutable arrays ----------------------------------------------------------------------


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

_AT_ONCE = 16  # arrays that one program concatenates; JAX compiles a program for each number, slowly if it is large


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


# --- forwards that check values: checked outside the program, which is compiled without the check -----------------


class _Unchecked:
    """The namespace `jax.numpy` with `has_data = False`: operations called with it do not check the values of indices."""

    has_data = False

    def __getattr__(self, name: str) -> Any:
        return getattr(jnp, name)


_UNCHECKED = _Unchecked()


def _within(indices: Any, length: int, ignored: int | None = None) -> bool:
    """Whether all indices except `ignored` are in `range(length)`; True while tracing, when the values are unknown."""
    if isinstance(indices, jax.core.Tracer):
        return True
    host = numpy.asarray(indices)
    host = host if ignored is None else host[host != ignored]
    return not host.size or bool(host.min() >= 0 and host.max() < length)


def _checked(name: str, is_valid: Callable[..., bool]) -> None:
    """Register an operation as a kernel, compiled without index checks. Invalid indices run it uncompiled, to raise the error."""
    program = Compiled(name, lambda *args: forward_of(name)(_UNCHECKED, *args))
    KERNELS[name] = lambda *args: program(*args) if is_valid(*args) else forward_of(name)(jnp, *args)


_checked("embedding", lambda weight, indices, *_: _within(indices, weight.shape[0]))
_checked("nll_loss", lambda input, target, weight, reduction, ignored: _within(target, input.shape[1], ignored))
_checked("nll_loss_backward", lambda input, target, weight, shape, reduction, ignored: _within(target, shape[1], ignored))
_checked("cross_entropy", lambda input, log_sum, target, weight, reduction, ignored: _within(target, input.shape[1], ignored))
