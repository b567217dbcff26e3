"""`vmap`: turns a function of single examples into a function of batches."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

from ...calls.tables import PUBLIC
from ...random import get_rng_state, set_rng_state
from ...tensors.tensor import Tensor
from ...values.trees import Spec, broadcast_prefix, flatten, unflatten
from . import registration  # noqa: F401 (registers the batch hooks that calls use)
from .keys import add_level, drop_level
from .levels import Level, going_on, levels_of

__all__ = ["vmap"]

_numbers = itertools.count(1)


def vmap(
    func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", *, chunk_size: int | None = None
) -> Callable[..., Any]:
    """`func` for whole batches: it is called once, with tensors that hide their batch dimension from it.

    Args:
        in_dims: the batch dimension of each argument (None: the argument is the same for all members): an int, or a tuple
            nested like the arguments.  Keyword arguments are the same for all members.
        out_dims: the batch dimension of the results.
        randomness: what random operations do: raise (`"error"`), or draw `"different"` numbers or the `"same"` numbers for
            the members of the batch.
        chunk_size: the maximal number of members to compute at once.

    Raises:
        ValueError: the dims do not fit the arguments, or the batches are of different sizes.

    >>> import flambeau as torch
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
        call = _Call(func, in_dims, out_dims, randomness, kwargs)
        size, dims, leaves, spec = call.arguments(args)
        if chunk_size is None or chunk_size >= size:
            leaves, spec = call.run(size, dims, leaves, spec)
        else:
            leaves, spec = call.run_in_chunks(size, dims, leaves, spec, chunk_size)
        return unflatten(leaves, spec)

    return batched


class _Call:
    """One call of a batched function."""

    def __init__(self, func: Callable[..., Any], in_dims: Any, out_dims: Any, randomness: str, kwargs: dict[str, Any]) -> None:
        self.func, self.in_dims, self.out_dims, self.randomness, self.kwargs = func, in_dims, out_dims, randomness, kwargs
        self.name = getattr(func, "__name__", repr(func))

    def arguments(self, args: tuple[Any, ...]) -> tuple[int, list[Any], list[Any], Spec]:
        """The size of the batch, and the leaves of the arguments with the batch dimension of each, checked."""
        where = f"vmap({self.name}, in_dims={self.in_dims}, ...)(<inputs>): "
        if not isinstance(self.in_dims, (int, tuple)):
            raise ValueError(
                f"{where}expected `in_dims` to be int or a (potentially nested) tuple matching the structure of "
                f"inputs, got: {type(self.in_dims)}."
            )
        if not args:
            raise ValueError(
                f"vmap({self.name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying "
                "to vmap over a function with no inputs. The latter is unsupported."
            )
        leaves, spec = flatten(args)
        dims = broadcast_prefix(self.in_dims, spec)
        if dims is None:
            raise ValueError(
                f"{where}in_dims is not compatible with the structure of `inputs`. in_dims has structure "
                f"{flatten(self.in_dims)[1]} but inputs has structure {spec}."
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

    def run(self, size: int, dims: Sequence[Any], leaves: Sequence[Any], spec: Spec) -> tuple[list[Any], Spec]:
        level = Level(next(_numbers), size, self.randomness)
        inside = [leaf if dim is None else add_level(leaf, level, dim) for leaf, dim in zip(leaves, dims, strict=True)]
        with going_on(level):
            output = self.func(*unflatten(inside, spec), **self.kwargs)
        results, structure = flatten(output)
        placed = self.places(output, structure)
        return [self.outside(result, level, dim) for result, dim in zip(results, placed, strict=True)], structure

    def places(self, output: Any, spec: Spec) -> list[Any]:
        """The batch dimension of each of the results."""
        out_dims = self.out_dims
        if isinstance(output, Tensor) and isinstance(out_dims, tuple) and len(out_dims) == 1:
            out_dims = out_dims[0]
        dims = broadcast_prefix(out_dims, spec)
        if dims is None:
            raise ValueError(
                f"vmap({self.name}, ..., out_dims={self.out_dims})(<inputs>): out_dims is not compatible with the "
                f"structure of `outputs`. out_dims has structure {flatten(self.out_dims)[1]} but outputs has "
                f"structure {spec}."
            )
        if not all(dim is None or isinstance(dim, int) for dim in dims):
            raise ValueError(
                f"vmap({self.name}, ..., out_dims={self.out_dims}): `out_dims` must be an int, None or a python "
                "collection of ints representing where in the outputs the vmapped dimension should "
                "appear."
            )
        return dims

    def outside(self, result: Any, level: Level, dim: int | None) -> Any:
        """A result outside the batch, with the batch as dimension `dim`."""
        if dim is None:
            if isinstance(result, Tensor) and level in levels_of(result._key):
                raise ValueError(f"vmap({self.name}, ...): `{self.name}` can not return a BatchedTensor when out_dim is None")
            return result
        if not isinstance(result, Tensor):
            raise ValueError(
                f"vmap({self.name}, ...): `{self.name}` must only return Tensors, got type {type(result)}. Did "
                "you mean to set out_dims= to None for output?"
            )
        limit = result.ndim + 1
        if not -limit <= dim < limit:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-limit}, {limit - 1}], but got {dim})")
        return drop_level(result, level, dim % limit)

    def run_in_chunks(
        self, size: int, dims: Sequence[Any], leaves: Sequence[Any], spec: Spec, chunk_size: int
    ) -> tuple[list[Any], Spec]:
        chunks: list[list[Any]] = []
        state = get_rng_state() if self.randomness == "same" else None
        for start in range(0, size, chunk_size):
            if state is not None:
                set_rng_state(state)
            length = min(chunk_size, size - start)
            chunk_leaves = [
                leaf if dim is None else leaf.narrow(dim, start, length) for leaf, dim in zip(leaves, dims, strict=True)
            ]
            results, structure = self.run(length, dims, chunk_leaves, spec)
            chunks.append(results)
        placed = broadcast_prefix(self.out_dims, structure) or [0] * len(chunks[0])
        joined = [
            PUBLIC["cat"](pieces, dim) if dim is not None else pieces[0]
            for pieces, dim in zip(map(list, zip(*chunks, strict=True)), placed, strict=True)
        ]
        return joined, structure
