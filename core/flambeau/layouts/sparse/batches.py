"""Batches of compressed sparse matrices: split into matrices, and stacked from matrices.

All matrices of a batch have the same number of specified elements.  Their indices and their values are stored in tensors whose
first dimensions are the batch dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import flambeau as torch

from .tensors import SparseTensor, batch_of, build, parts_of, values_of

__all__ = ["matrices", "stacked"]


def matrices(input: SparseTensor) -> list[SparseTensor]:
    """Return the matrices of a batch, in order."""
    array, batch = input._array, batch_of(input._array)
    parts = [part.reshape(-1, part.shape[-1]) for part in parts_of(array)]
    values = values_of(input)
    values, shape = values.reshape(-1, *values.shape[len(batch) :]), array.shape[len(batch) :]
    return [build(array.layout, [part[position] for part in parts], values[position], shape) for position in range(prod(batch))]


def stacked(members: Sequence[SparseTensor], batch: Sequence[int]) -> SparseTensor:
    """Stack compressed matrices to a batch of shape `batch`. RuntimeError if their numbers of specified elements differ."""
    if not members:
        raise RuntimeError("Expected product of batch dimensions to be non-zero.")
    arrays, values = [member._array for member in members], [values_of(member) for member in members]
    if len({len(each) for each in values}) > 1:
        raise RuntimeError("Expect the same number of specified elements per batch.")
    parts = [torch.stack(same).unflatten(0, batch) for same in zip(*map(parts_of, arrays), strict=True)]
    return build(arrays[0].layout, parts, torch.stack(values).unflatten(0, batch), (*batch, *arrays[0].shape))
