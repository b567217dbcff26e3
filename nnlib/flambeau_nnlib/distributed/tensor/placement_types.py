"""Placements of a tensor on one mesh dimension: sharded, replicated, or partial results of a reduction."""

from __future__ import annotations

from dataclasses import dataclass

import flambeau as torch
from flambeau import Tensor
from flambeau.extension import private_names

from ..reduction import ReduceOp

__all__ = ["Partial", "Placement", "Replicate", "Shard"]

__getattr__ = private_names(__name__)


class Placement:
    """Base class of `Shard`, `Replicate` and `Partial`."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether the tensor is sharded, along `dim` if given."""
        return isinstance(self, Shard) and (dim is None or self.dim == dim)

    def is_replicate(self) -> bool:
        """Whether each process has the entire tensor."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Whether the local tensors are partial results of a reduction, by `reduce_op` if given."""
        return isinstance(self, Partial) and (reduce_op is None or self.reduce_op == reduce_op)


@dataclass(frozen=True)
class Shard(Placement):
    """Each process has a part of one tensor dimension, split as by `torch.chunk`.

    Args:
        dim: the tensor dimension.

    >>> Shard(0).local_shard_size_and_offset(10, 4, 3)
    (1, 9)
    """

    dim: int

    @staticmethod
    def local_shard_size_and_offset(curr_local_size: int, num_chunks: int, rank: int) -> tuple[int, int | None]:
        """Return the size and offset of a rank's part of a dimension."""
        full = -(-curr_local_size // num_chunks)
        start = min(full * rank, curr_local_size)
        return min(full, curr_local_size - start), start

    def _split_tensor(
        self, tensor: Tensor, num_chunks: int, *, with_padding: bool = True, contiguous: bool = True
    ) -> tuple[list[Tensor], list[int]]:
        """Return the shards of a tensor, and how much to pad each of them to the length of the longest."""
        parts, pads = [], []
        length = tensor.size(self.dim)
        full = -(-length // num_chunks)
        for rank in range(num_chunks):
            size, start = self.local_shard_size_and_offset(length, num_chunks, rank)
            part = tensor.narrow(self.dim, start or 0, size)
            pads.append(full - size)
            part = padded(part, self.dim, full) if with_padding else part
            parts.append(part.contiguous() if contiguous else part)
        return parts, pads

    def __str__(self) -> str:
        return f"S({self.dim})"


@dataclass(frozen=True)
class _StridedShard(Shard):
    """A shard of a dimension that mesh dimensions to the right have already split into `split_factor` parts."""

    split_factor: int = 1

    def __str__(self) -> str:
        return f"_S({self.dim}, {self.split_factor})"


@dataclass(frozen=True)
class Replicate(Placement):
    """Each process has the entire tensor."""

    def __str__(self) -> str:
        return "R"


@dataclass(frozen=True)
class Partial(Placement):
    """Each process has a tensor of the global shape. Reducing these tensors over the processes gives the global tensor.

    Args:
        reduce_op: the reduction: "sum", "avg", "product", "min", "max", ...
    """

    reduce_op: str = "sum"

    def __repr__(self) -> str:
        return f"Partial({self.reduce_op})"

    def __str__(self) -> str:
        return f"P({self.reduce_op})"

    def before(self, local: Tensor) -> tuple[Tensor, ReduceOp]:
        """Return the tensor to pass to the collective reduction, and the reduce operation."""
        return local, getattr(ReduceOp, self.reduce_op.upper())

    def after(self, reduced: Tensor) -> Tensor:
        """Convert the result of the collective reduction to the global tensor."""
        return reduced

    def partial_of(self, tensor: Tensor, rank: int, size: int) -> Tensor:
        """Return a rank's partial tensor, such that the reduction over all ranks is `tensor`."""
        if self.reduce_op == "sum":
            return tensor if rank == 0 else torch.zeros_like(tensor)
        if self.reduce_op == "product":
            return tensor if rank == 0 else torch.ones_like(tensor)
        return tensor  # mean, minimum and maximum of equal values are that value


@dataclass(frozen=True)
class _NormPartial(Partial):
    """Each process has the norm of its part. The norm of these norms is the norm of the global tensor."""

    reduce_op: str = "sum"
    norm_type: float = 2

    def before(self, local: Tensor) -> tuple[Tensor, ReduceOp]:
        if self.norm_type == float("inf"):
            return local, ReduceOp.MAX
        if self.norm_type == float("-inf"):
            return local, ReduceOp.MIN
        return local**self.norm_type if self.norm_type else local, ReduceOp.SUM

    def after(self, reduced: Tensor) -> Tensor:
        return reduced if self.norm_type in (0, float("inf"), float("-inf")) else reduced ** (1 / self.norm_type)

    def partial_of(self, tensor: Tensor, rank: int, size: int) -> Tensor:
        return tensor if rank == 0 or abs(self.norm_type) == float("inf") else torch.zeros_like(tensor)

    def __repr__(self) -> str:
        return f"_NormPartial({self.norm_type})"

    __str__ = __repr__


def padded(tensor: Tensor, dim: int, length: int) -> Tensor:
    """Pad a dimension with zeros at its end to `length`."""
    missing = length - tensor.size(dim)
    if not missing:
        return tensor
    shape = list(tensor.shape)
    shape[dim] = missing
    return torch.cat([tensor, tensor.new_zeros(shape)], dim)
