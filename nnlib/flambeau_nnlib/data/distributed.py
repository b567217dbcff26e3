"""The sampler that gives each process of a group its own share of a dataset."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sized
from types import ModuleType

import flambeau as torch

from .sampler import Sampler

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler[int]):
    """One process's share of a dataset: every `num_replicas`-th index of an order that all processes agree on.

    All shares have one length: the first indices are repeated at the end, or with `drop_last` the last ones left out.
    Call `set_epoch` before each epoch, or every epoch has the same order.

    Args:
        dataset: the dataset to share out; only its length counts.
        num_replicas: the number of processes; None for that of the process group.
        rank: which of them this is, from 0 to `num_replicas - 1`; None for the rank in the process group.
        shuffle: share out a random order, drawn from `seed` and the epoch; False for the order of the indices.
        seed: the seed of that order, the same in all processes.
        drop_last: leave out up to `num_replicas - 1` indices at the end, in place of repeating some.

    Raises:
        ValueError: `rank` is out of range, or there is no process group to ask.

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
        """Make the next iteration use the order of `epoch`."""
        self.epoch = epoch


def _process_group() -> ModuleType:
    if not torch.distributed.is_available():
        raise RuntimeError("Requires distributed package to be available")
    module: ModuleType = torch.distributed
    return module
