"""Collectives of large tensors between processes of one host that read each other's memory, so each byte is copied
once.

The processes first exchange the addresses of their tensors. Then each reads what it needs. A second synchronization at
the end keeps a process from changing a tensor that another one is still reading.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import Any

import flambeau as torch
from flambeau import Tensor

from .linux import read
from .reduction import ReduceOp, arrays

__all__ = ["Direct"]

PIECE = 1 << 18  # bytes read at a time from another process's tensor for a reduction; they fit into a processor's cache


class Direct:
    """The collectives of `SharedMemory` that work by reading the memory of other processes.

    Args:
        processes: process ids, in rank order.
        rank: rank of this process.
        synchronize: waits for all ranks, checks that they call the same collective, and returns one integer from each rank.
    """

    def __init__(self, processes: Sequence[int], rank: int, synchronize: Callable[..., list[int]]) -> None:
        self._processes, self._rank, self._synchronize = processes, rank, synchronize
        size = len(processes)
        self._others = [(rank + step) % size for step in range(1, size)]  # cyclic order spreads the reads over ranks
        self._room = torch.empty(0, dtype=torch.uint8)

    def broadcast(self, tensor: Tensor, root: int, call: bytes) -> None:
        """Overwrite the tensor of every rank with the root's tensor."""
        addresses = self._synchronize(call, tensor.data_ptr())
        if self._rank != root:
            read(self._processes[root], addresses[root], tensor.data_ptr(), tensor.numel() * tensor.element_size())
        self._synchronize(call)

    def all_gather(self, outputs: Sequence[Tensor], tensor: Tensor, call: bytes) -> None:
        """Fill the outputs with the tensors of all ranks."""
        addresses = self._synchronize(call, tensor.data_ptr())
        if outputs[self._rank].data_ptr() != tensor.data_ptr():
            outputs[self._rank].copy_(tensor)
        for other in self._others:
            read(self._processes[other], addresses[other], outputs[other].data_ptr(), tensor.numel() * tensor.element_size())
        self._synchronize(call)

    def all_reduce(self, tensor: Tensor, op: ReduceOp, call: bytes) -> None:
        """Reduce the tensors of all ranks in place: each rank reduces one part, which the other ranks then read."""
        bounds = [tensor.numel() * rank // len(self._processes) for rank in range(len(self._processes) + 1)]
        here, width = tensor.data_ptr(), tensor.element_size()
        addresses = self._synchronize(call, here)
        low, high = bounds[self._rank], bounds[self._rank + 1]
        self._reduce(tensor[low:high], {other: addresses[other] + low * width for other in self._others}, op)
        self._synchronize(call)
        for other in self._others:
            start, end = bounds[other] * width, bounds[other + 1] * width
            read(self._processes[other], addresses[other] + start, here + start, end - start)
        self._synchronize(call)

    def reduce_scatter(self, output: Tensor, inputs: Sequence[Tensor], op: ReduceOp, call: bytes) -> None:
        """Fill `output` of rank `r` with the reduction (such as the sum) of `inputs[r]` over all ranks."""
        table = array("Q", [part.data_ptr() for part in inputs])
        tables = self._synchronize(call, table.buffer_info()[0])
        output.copy_(inputs[self._rank])
        addresses, found = {}, array("Q", [0])
        for other in self._others:
            read(self._processes[other], tables[other] + 8 * self._rank, found.buffer_info()[0], 8)
            addresses[other] = found[0]
        self._reduce(output, addresses, op)
        self._synchronize(call)

    def _reduce(self, target: Tensor, addresses: dict[int, int], op: ReduceOp) -> None:
        """Reduce data at the given addresses in other processes into `target`, in chunks of `PIECE` bytes."""
        if not len(self._room):
            self._room = torch.empty(PIECE, dtype=torch.uint8)
        width, mine, room = target.element_size(), arrays(target), self._room.data_ptr()
        found: Any = arrays(self._room.view(target.dtype))
        for start in range(0, target.numel(), PIECE // width):
            part = mine[start : start + PIECE // width]
            for other, address in addresses.items():
                read(self._processes[other], address + start * width, room, len(part) * width)
                op.combine(part, found[: len(part)])
            op.finish(part, len(self._processes))
