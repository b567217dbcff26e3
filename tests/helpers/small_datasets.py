"""Small datasets for the tests of DataLoader with and without workers."""

from __future__ import annotations

import flambeau as torch
from flambeau.utils.data import Dataset, IterableDataset, get_worker_info

FORK = {"multiprocessing_context": "fork"}
THREAD = {"multiprocessing_context": "thread"}


def drawn_seed(generator=None) -> int:
    """Draw a seed as samplers and loaders do."""
    return int(torch.empty((), dtype=torch.int64).random_(generator=generator))


class Squares(Dataset):
    def __init__(self, length: int = 10) -> None:
        self.length = length

    def __getitem__(self, index):
        return torch.tensor(index**2)

    def __len__(self) -> int:
        return self.length


class Count(IterableDataset):
    """An iterable dataset of the integers below `end`, distributed over the workers."""

    def __init__(self, end: int) -> None:
        self.end = end

    def __iter__(self):
        info = get_worker_info()
        first, step = (info.id, info.num_workers) if info else (0, 1)
        return iter(range(first, self.end, step))


class SizedCount(Count):
    def __len__(self) -> int:
        return self.end


def numbers(loader) -> list:
    return [batch.tolist() if isinstance(batch, torch.Tensor) else batch for batch in loader]
