"""`vmap`: turn a function of single examples into a function of batches."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

from ...engine.calls.overriding import open_modes
from ...engine.calls.tables import PUBLIC
from ...engine.calls.transform_hooks import BatchHooks
from ...engine.devices.aliases import private_names
from ...engine.devices.devices import DispatchKey, device
from ...engine.tensors.tensor import Tensor
from ...engine.values.trees import TreeSpec, broadcast_prefix, flatten, unflatten
from ...random import get_rng_state, set_rng_state
from . import indexing  # noqa: F401 (gives batched arrays their indexing)
from .keys import add_level, align, drop_level, lift
from .levels import Level, going_on, levels_of
from .loops import loop
from .random import BatchedGenerator, filled, lift_parameter, sampled

__all__ = ["batch_size", "vmap"]

__getattr__: Callable[[str], Any] = private_names(__name__)

_numbers = itertools.count(1)


def vmap(
    func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", *, chunk_size: int | None = None
) -> Callable[..., Any]:
    """Vectorize `func` over a batch: it is called once, with tensors whose batch dimension is hidden.

    Args:
        func: the function; its arguments are tensors or nested containers of them.
        in_dims: the batch dimension of each argument (None if the argument is the same for all members): an int, or a tuple
            nested like the arguments.  Keyword arguments are the same for all members.
        out_dims: the batch dimension of the results.
        randomness: the behaviour of random operations: raise an error (`"error"`), or draw `"different"` numbers or the
            `"same"` numbers for the members of the batch.
        chunk_size: the maximal number of members to compute in one call of `func`.

    Raises:
        ValueError: `in_dims` or `out_dims` do not fit the arguments or results, or the batch sizes differ.

    >>> torch.vmap(torch.dot)(torch.ones(3, 5), torch.ones(3, 5))
    tensor([5., 5., 5.])
    >>> torch.vmap(lambda x, i: x[i], in_dims=(None, 0))(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([2, 0]))
    tensor([3., 1.])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def batched(*args: Any, **kwargs: Any) -> Any:
        size, dims, leaves, spec = _process_batched_inputs(in_dims, args, func)
        if any(map(_is_wrapper, leaves)) or any(getattr(mode, "records_members", False) for mode in open_modes.get()):
            return _member_by_member(func, size, dims, leaves, spec, out_dims, randomness, kwargs)
        if chunk_size is None or chunk_size >= size:
            return _flat_vmap(func, size, dims, leaves, spec, out_dims, randomness, kwargs)
        return _in_chunks(func, size, dims, leaves, spec, out_dims, randomness, kwargs, chunk_size)

    return batched


def batch_size(in_dims: Any, args: tuple[Any, ...], func: Callable[..., Any]) -> int:
    """Return the batch size of the arguments of `vmap(func, in_dims)`."""
    return _process_batched_inputs(in_dims, args, func)[0]


def _flat_vmap(
    func: Callable[..., Any],
    size: int,
    dims: list[Any],
    leaves: list[Any],
    spec: TreeSpec,
    out_dims: Any,
    randomness: str,
    kwargs: Any,
) -> Any:
    level = Level(next(_numbers), size, randomness)
    inside = _create_batched_inputs(dims, leaves, level, spec)
    with going_on(level):
        output = func(*inside, **kwargs)
    if any(map(_is_wrapper, flatten(output)[0])):  # the function uses wrapper subclasses that are not arguments
        return _member_by_member(func, size, dims, leaves, spec, out_dims, randomness, kwargs)
    return _unwrap_batched(output, out_dims, level, size, func)


def _is_wrapper(leaf: Any) -> bool:
    """Whether a value is a wrapper subclass, which has no array."""
    return isinstance(leaf, Tensor) and leaf._key.wraps


def _member_by_member(
    func: Callable[..., Any],
    size: int,
    dims: list[Any],
    leaves: list[Any],
    spec: TreeSpec,
    out_dims: Any,
    randomness: str,
    kwargs: Any,
) -> Any:
    """Call `func` for each member of the batch, and stack the results.

    For wrapper subclasses, which have no arrays to batch, and for modes with `records_members`, which record operators.
    """
    if not size or randomness == "same":
        raise RuntimeError("vmap: calls for each member require a batch that is not empty, and another randomness than 'same'")
    members, state = [], get_rng_state()._array.tolist()
    for index in range(size):
        part = [leaf if dim is None else leaf.select(dim, index) for leaf, dim in zip(leaves, dims, strict=True)]
        results, structure = flatten(func(*unflatten(part, spec), **kwargs))
        members.append(results)
    if randomness == "error" and get_rng_state()._array.tolist() != state:
        raise RuntimeError("vmap: called random operation while in randomness error mode. Use the randomness 'different' instead")
    placed = broadcast_prefix(out_dims, structure) or [0] * len(members[0])
    stacked = [
        results[0] if dim is None else PUBLIC["stack"](results, dim)
        for results, dim in zip(map(list, zip(*members, strict=True)), placed, strict=True)
    ]
    return unflatten(stacked, structure)


def _in_chunks(
    func: Callable[..., Any],
    size: int,
    dims: list[Any],
    leaves: list[Any],
    spec: TreeSpec,
    out_dims: Any,
    randomness: str,
    kwargs: Any,
    chunk_size: int,
) -> Any:
    chunks: list[list[Any]] = []
    state = get_rng_state() if randomness == "same" else None
    for start in range(0, size, chunk_size):
        if state is not None:
            set_rng_state(state)
        length = min(chunk_size, size - start)
        part = [leaf if dim is None else leaf.narrow(dim, start, length) for leaf, dim in zip(leaves, dims, strict=True)]
        results, structure = flatten(_flat_vmap(func, length, dims, part, spec, out_dims, randomness, kwargs))
        chunks.append(results)
    placed = broadcast_prefix(out_dims, structure) or [0] * len(chunks[0])
    joined = [
        PUBLIC["cat"](pieces, dim) if dim is not None else pieces[0]
        for pieces, dim in zip(map(list, zip(*chunks, strict=True)), placed, strict=True)
    ]
    return unflatten(joined, structure)


# --- arguments and results ----------------------------------------------------------------------------------------
# The functions have the names of those in PyTorch's module `_functorch.vmap`.  Libraries such as tensordict replace three of
# them, so that `vmap` also maps over the collections of these libraries.


def _get_name(func: Callable[..., Any]) -> str:
    return getattr(func, "__name__", repr(func))


def _process_batched_inputs(
    in_dims: Any, args: tuple[Any, ...], func: Callable[..., Any]
) -> tuple[int, list[Any], list[Any], TreeSpec]:
    """Check the arguments; return the batch size, the batch dimension of each leaf, the leaves and their structure."""
    where = f"vmap({_get_name(func)}, in_dims={in_dims}, ...)(<inputs>): "
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            f"{where}expected `in_dims` to be int or a (potentially nested) tuple matching the structure of "
            f"inputs, got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({_get_name(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying "
            "to vmap over a function with no inputs. The latter is unsupported."
        )
    leaves, spec = flatten(args)
    dims = broadcast_prefix(in_dims, spec)
    if dims is None:
        raise ValueError(
            f"{where}in_dims is not compatible with the structure of `inputs`. in_dims has structure "
            f"{flatten(in_dims)[1]} but inputs has structure {spec}."
        )
    sizes = []
    for index, (leaf, dim) in enumerate(zip(leaves, dims, strict=True)):
        if dim is None:
            continue
        if not isinstance(dim, int):
            raise ValueError(f"{where}Got in_dim={dim} for an input but in_dim must be either an integer dimension or None.")
        if not isinstance(leaf, Tensor):
            raise ValueError(
                f"{where}Got in_dim={dim} for an input but the input is of type {type(leaf)}. We cannot vmap "
                "over non-Tensor arguments, please use None as the respective in_dim"
            )
        if not -leaf.ndim <= dim < leaf.ndim:
            raise ValueError(
                f"{where}Got in_dim={dim} for some input, but that input is a Tensor of dimensionality "
                f"{leaf.ndim} so expected in_dim to satisfy -{leaf.ndim} <= in_dim < {leaf.ndim}."
            )
        dims[index] = dim % leaf.ndim
        sizes.append(leaf.shape[dim])
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if len(set(sizes)) > 1:
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{sizes} for the mapped dimension"
        )
    return sizes[0], dims, leaves, spec


def _create_batched_inputs(flat_in_dims: Sequence[Any], flat_args: Sequence[Any], vmap_level: Level, args_spec: TreeSpec) -> Any:
    """Hide the batch dimensions of the arguments, and restore their structure."""
    inside = [
        leaf if dim is None else _add_batch_dim(leaf, dim, vmap_level) for leaf, dim in zip(flat_args, flat_in_dims, strict=True)
    ]
    return unflatten(inside, args_spec)


def _unwrap_batched(batched_outputs: Any, out_dims: Any, vmap_level: Level, batch_size: int, func: Callable[..., Any]) -> Any:
    """Make the batch dimensions of the results visible, and restore their structure."""
    results, spec = flatten(batched_outputs)
    dims = _places(batched_outputs, out_dims, spec, _get_name(func))
    outside = [
        _maybe_remove_batch_dim(_get_name(func), result, vmap_level, batch_size, dim)
        for result, dim in zip(results, dims, strict=True)
    ]
    return unflatten(outside, spec)


def _places(output: Any, out_dims: Any, spec: TreeSpec, name: str) -> list[Any]:
    """Return the batch dimension of each result."""
    if isinstance(output, Tensor) and isinstance(out_dims, tuple) and len(out_dims) == 1:
        out_dims = out_dims[0]
    dims = broadcast_prefix(out_dims, spec)
    if dims is None:
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the "
            f"structure of `outputs`. out_dims has structure {flatten(out_dims)[1]} but outputs has "
            f"structure {spec}."
        )
    if not all(dim is None or isinstance(dim, int) for dim in dims):
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python "
            "collection of ints representing where in the outputs the vmapped dimension should "
            "appear."
        )
    return dims


def _maybe_remove_batch_dim(name: str, batched_output: Any, vmap_level: Level, batch_size: int, out_dim: int | None) -> Any:
    """Make the batch dimension of a result visible as dimension `out_dim`.  If `out_dim` is None, return the unbatched result."""
    if out_dim is None:
        if isinstance(batched_output, Tensor) and vmap_level in levels_of(batched_output._key):
            raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
        return batched_output
    if not isinstance(batched_output, Tensor):
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(batched_output)}. Did "
            "you mean to set out_dims= to None for output?"
        )
    return _remove_batch_dim(batched_output, vmap_level, batch_size, out_dim)


def _add_batch_dim(tensor: Tensor, in_dim: int, vmap_level: Level) -> Any:
    """Hide the batch dimension `in_dim` of a tensor."""
    if tensor.is_nested:
        raise NotImplementedError(
            "vmap: nested tensors are not supported, as their items differ in size; loop over `unbind()` instead"
        )
    return add_level(tensor, vmap_level, in_dim % tensor.ndim)


def _remove_batch_dim(tensor: Tensor, vmap_level: Level, batch_size: int, out_dim: int) -> Any:
    """Make the batch dimension visible as dimension `out_dim`.  Raises IndexError if it is out of range."""
    limit = tensor.ndim + 1
    if not -limit <= out_dim < limit:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-limit}, {limit - 1}], but got {out_dim})")
    return drop_level(tensor, vmap_level, out_dim % limit)


class VmapHooks(BatchHooks):
    """The hooks of `vmap`."""

    def lift(self, tensor: Tensor, levels: Any) -> Tensor:
        return lift(tensor, levels)

    def align(self, tensors: Sequence[Any]) -> tuple[Any, ...]:
        return align(tensors)

    def loop(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return loop(function, args, kwargs)

    def generator(self, raw: Any, place: device) -> Any:
        return BatchedGenerator(raw, place)

    def lift_parameter(self, parameter: Tensor) -> Tensor:
        return lift_parameter(parameter)

    def filled(self, tensor: Tensor, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
        return filled(tensor, name, args, kwargs)

    def sampled(self, array: Any, key: DispatchKey) -> Tensor:
        return sampled(array, key)
