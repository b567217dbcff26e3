"""`DistributedSampler`, which gives each process of a group a different part of a dataset."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sized
from types import ModuleType

import flambeau as torch

from .sampler import Sampler

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler[int]):
    """Yield the indices of one process: every `num_replicas`-th index of an order that is the same in all processes.

    All processes get the same number of indices: the first indices are repeated at the end, or with `drop_last` the last
    ones are omitted. Call `set_epoch` before each epoch; otherwise all epochs have the same order.

    Args:
        dataset: the dataset. Only its length is used.
        num_replicas: the number of processes. None uses the size of the process group.
        rank: the rank of this process, from 0 to `num_replicas - 1`. None uses its rank in the process group.
        shuffle: whether to use a random order, seeded with `seed + epoch`. False uses the order of the indices.
        seed: the random seed, which must be the same in all processes.
        drop_last: whether to omit up to `num_replicas - 1` indices at the end, instead of repeating some.

    Raises:
        ValueError: `rank` is out of range, or no process group is initialized and `num_replicas` or `rank` is None.

    Example:
        >>> list(DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False))
        [1, 3, 0]
    """

    def __init__(
        self,
        dataset: Sized,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None:
            num_replicas = _process_group().get_world_size()
        if rank is None:
            rank = _process_group().get_rank()
        if not 0 <= rank < num_replicas:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.shuffle = shuffle
        self.seed = seed
        self.drop_last = drop_last
        share = len(dataset) / num_replicas
        self.num_samples = math.floor(share) if drop_last else math.ceil(share)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        indices = list(range(len(self.dataset)))
        if self.shuffle:
            generator = torch.Generator()
            generator.manual_seed(self.seed + self.epoch)
            indices = torch.randperm(len(indices), generator=generator, device="cpu").tolist()
        while len(indices) < self.total_size:
            indices += indices[: self.total_size - len(indices)]
        return iter(indices[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch, which determines the random order of the next iteration."""
        self.epoch = epoch


def _process_group() -> ModuleType:
    if not torch.distributed.is_available():
        raise RuntimeError("Requires distributed package to be available")
    module: ModuleType = torch.distributed
    return module
