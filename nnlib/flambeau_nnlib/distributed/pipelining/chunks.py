"""Split the arguments of a step into microbatches, and merge the results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import flambeau as torch
from flambeau import Tensor
from flambeau.utils import pytree

__all__ = ["TensorChunkSpec", "merge_chunks", "split_args_kwargs_into_chunks", "split_tensor", "sum_reducer"]


class TensorChunkSpec:
    """The dimension in which a tensor is split into chunks.

    Example:
        >>> from flambeau.distributed.pipelining.microbatch import TensorChunkSpec
        >>> TensorChunkSpec.from_tuple((0, 1))
        (TensorChunkSpec(0), TensorChunkSpec(1))
    """

    def __init__(self, split_dim: int) -> None:
        self.split_dim = split_dim

    def __repr__(self) -> str:
        return f"TensorChunkSpec({self.split_dim})"

    def __str__(self) -> str:
        return f"TensorChunkSpec({self.split_dim})"

    @staticmethod
    def from_tuple(chunk_dims: tuple[int, ...]) -> Any:
        """Return a spec for each positional argument."""
        return pytree.tree_map(TensorChunkSpec, chunk_dims)

    @staticmethod
    def from_dict(chunk_dims: dict[str, int]) -> Any:
        """Return a spec for each keyword argument."""
        return pytree.tree_map(TensorChunkSpec, chunk_dims)


class _Replicate:
    """The spec of an argument that every microbatch receives unchanged."""


class _CustomReducer:
    """The spec of an output that is reduced over microbatches.

    Args:
        init_value: the initial value.
        reduce_fn: function of the value so far and the output of a microbatch.
    """

    def __init__(self, init_value: Any, reduce_fn: Callable[[Any, Any], Any]) -> None:
        self.init_value, self.reduce_fn = init_value, reduce_fn


class _LossReducer(_CustomReducer):
    """The spec of a loss."""


sum_reducer = _LossReducer(torch.tensor(0.0), lambda total, value: total + value)


def split_tensor(tensor: Tensor, spec: TensorChunkSpec, num_chunks: int) -> Sequence[Tensor]:
    """Split a tensor into chunks.

    Raises:
        ValueError: the tensor has fewer elements in this dimension than there are chunks.
    """
    if tensor.size(spec.split_dim) < num_chunks:
        raise ValueError(
            f"Tensor size on chunking dimension {spec.split_dim} is {tensor.size(spec.split_dim)}, "
            f"which is smaller than the number of chunks {num_chunks}"
        )
    return torch.tensor_split(tensor, num_chunks, spec.split_dim)


def split_args_kwargs_into_chunks(
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None,
    chunks: int,
    args_chunk_spec: tuple[TensorChunkSpec, ...] | None = None,
    kwargs_chunk_spec: dict[str, TensorChunkSpec] | None = None,
) -> tuple[list[tuple[Any, ...]], list[dict[str, Any]]]:
    """Split positional and keyword arguments into chunks.

    Args:
        args: positional arguments, or containers of them.
        kwargs: keyword arguments.
        chunks: number of chunks; fewer result if a tensor is smaller.
        args_chunk_spec: the specs of `args`, in the same structure; by default, tensors are split in dimension 0, and other
            values are repeated.
        kwargs_chunk_spec: the same for `kwargs`.

    Returns:
        the positional and the keyword arguments of each chunk.

    Example:
        >>> from flambeau.distributed.pipelining.microbatch import split_args_kwargs_into_chunks
        >>> split_args_kwargs_into_chunks((torch.arange(4), True), None, 2)
        ([(tensor([0, 1]), True), (tensor([2, 3]), True)], [{}, {}])
    """
    values, structure = pytree.tree_flatten((args, kwargs or {}))
    specs = (
        _specs_of(args) if args_chunk_spec is None else args_chunk_spec,
        _specs_of(kwargs or {}) if kwargs_chunk_spec is None else kwargs_chunk_spec,
    )
    pairs = list(zip(values, pytree.tree_leaves(specs), strict=True))
    count = min([chunks, *(_size(value, spec) for value, spec in pairs if not _is_repeated(spec))])
    split = [[value] * count if _is_repeated(spec) else split_tensor(value, spec, count) for value, spec in pairs]
    parts = [pytree.tree_unflatten([column[index] for column in split], structure) for index in range(count)]
    return [part[0] for part in parts], [part[1] for part in parts]


def _specs_of(arguments: Any) -> Any:
    return pytree.tree_map(lambda value: TensorChunkSpec(0) if isinstance(value, Tensor) else _Replicate(), arguments)


def _is_repeated(spec: Any) -> bool:
    return spec is _Replicate or isinstance(spec, _Replicate)


def _size(value: Any, spec: Any) -> int:
    if not isinstance(value, Tensor) or not isinstance(spec, TensorChunkSpec):
        raise ValueError(f"Unsupported chunk spec: {spec} and value: {value} combination.")
    return value.size(spec.split_dim)


def merge_chunks(chunks: list[Any], chunk_spec: Any) -> Any:
    """Merge the outputs of microbatches.

    Args:
        chunks: one output for each microbatch: a tensor, or a container of tensors.
        chunk_spec: how to merge each element: a `TensorChunkSpec` to concatenate, a reducer such as `sum_reducer`, or another
            value for elements that are equal in all microbatches. None concatenates all in dimension 0.

    Raises:
        ValueError: an output has another number of elements than the spec.
        AssertionError: elements that should be equal differ.

    Example:
        >>> from flambeau.distributed.pipelining.microbatch import merge_chunks
        >>> merge_chunks([torch.arange(2), torch.arange(3)], None)
        tensor([0, 1, 0, 1, 2])
    """
    flat, structure = pytree.tree_flatten(chunks[0] if chunk_spec is None else chunk_spec)
    specs = [TensorChunkSpec(0)] * len(flat) if chunk_spec is None else flat
    rows = [pytree.tree_leaves(chunk) for chunk in chunks]
    for chunk, row in zip(chunks, rows, strict=True):
        if len(row) != len(specs):
            raise ValueError(f"Chunk {chunk} did not match chunk spec {chunk_spec}")
    merged = [_merge(spec, column) for spec, column in zip(specs, zip(*rows, strict=True), strict=True)]
    return pytree.tree_unflatten(merged, structure)


def _merge(spec: Any, values: Sequence[Any]) -> Any:
    if isinstance(spec, TensorChunkSpec):
        return torch.cat(values, dim=spec.split_dim)
    if isinstance(spec, _CustomReducer):
        total = spec.init_value
        for value in values:
            total = spec.reduce_fn(total, value)
        return total
    for value in values:
        if value != values[0]:
            raise AssertionError(f"Expected {values[0]}, got {value}")
    return values[0]
