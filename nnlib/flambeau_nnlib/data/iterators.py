"""Iterators over one epoch of a loader, in the main process or with worker processes."""

from __future__ import annotations

import collections
import itertools
import multiprocessing
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import flambeau as torch

from .collate import is_nested, map_structure
from .fetch import make_fetcher
from .pool import WorkerPool
from .sampler import random_seed
from .worker import Exhausted, Failure, Job, Restart

if TYPE_CHECKING:
    from .dataloader import DataLoader

__all__ = ["LoaderIterator", "LocalIterator", "WorkerIterator"]


class LoaderIterator:
    """Iterator over one epoch of a loader. Subclasses define `_load`, which returns the next batch."""

    # An iterator does not refer to its loader: loaders with persistent workers refer to the iterator, which would be a cycle.

    def __init__(self, loader: DataLoader[Any]) -> None:
        self._dataset = loader.dataset
        self._num_workers = loader.num_workers
        self._index_sampler = loader._index_sampler
        self._pin = loader.pin_memory and _can_pin(loader.pin_memory_device)
        self._start(loader)
        self._base_seed = random_seed(loader.generator)

    def _start(self, loader: DataLoader[Any]) -> None:
        self._indices: Iterator[Any] = iter(self._index_sampler)
        self._reported_length = getattr(loader, "_reported_length", None)  # other classes than DataLoader have none
        self._yielded = 0

    def _load(self) -> Any:
        raise NotImplementedError

    def __iter__(self) -> LoaderIterator:
        return self

    def __next__(self) -> Any:
        batch = self._load()
        self._yielded += 1
        self._check_reported_length()
        return pin_memory(batch) if self._pin else batch

    next = __next__

    def __len__(self) -> int:
        return len(self._index_sampler)

    def __getstate__(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} cannot be pickled")

    def _check_reported_length(self) -> None:
        if self._reported_length is None or self._yielded <= self._reported_length:
            return
        message = (
            f"Length of IterableDataset {self._dataset} was reported to be {self._reported_length}"
            f"(when accessing len(dataloader)), but {self._yielded} samples have been fetched. "
        )
        if self._num_workers > 0:
            message += (
                "For multiprocessing data-loading, this could be caused by not properly configuring the "
                "IterableDataset replica at each worker. Please see "
                "https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset for examples."
            )
        warnings.warn(message, stacklevel=3)


class LocalIterator(LoaderIterator):
    """Load each batch in the main process when it is requested."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        if loader.timeout != 0:
            raise AssertionError(f"timeout requires worker processes: got timeout={loader.timeout} with num_workers=0")
        super().__init__(loader)
        self._fetch = make_fetcher(loader.dataset, loader._auto_collation, loader.collate_fn, loader.drop_last)

    def _load(self) -> Any:
        return self._fetch(next(self._indices))


class WorkerIterator(LoaderIterator):
    """Load batches ahead of time in worker processes."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        if not loader.prefetch_factor:
            raise AssertionError(f"prefetch_factor must be positive with worker processes, got {loader.prefetch_factor}")
        super().__init__(loader)
        self._prefetch = loader.prefetch_factor * loader.num_workers
        self._timeout = loader.timeout
        self._in_order = loader.in_order
        self._persistent = loader.persistent_workers
        self._pool = WorkerPool(loader.multiprocessing_context or multiprocessing, self._jobs(loader))
        self._begin(loader)

    def _jobs(self, loader: DataLoader[Any]) -> Iterator[Job]:
        for worker in range(loader.num_workers):
            yield Job(
                worker_id=worker,
                num_workers=loader.num_workers,
                base_seed=self._base_seed,
                dataset=loader.dataset,
                batched=loader._auto_collation,
                collate_fn=loader.collate_fn,
                drop_last=loader.drop_last,
                init_fn=loader.worker_init_fn,
            )

    def restart(self, loader: DataLoader[Any]) -> None:
        """Start another epoch with the same workers."""
        while self._pending:
            self._receive()
        for worker in range(self._num_workers):
            self._pool.put(worker, Restart())
        self._begin(loader)

    def _begin(self, loader: DataLoader[Any]) -> None:
        # In the first epoch, this is the second call of `iter` on the sampler, as in PyTorch: both calls may draw random numbers.
        self._start(loader)
        self._pending: collections.deque[int] = collections.deque()  # the worker of each unfinished task, oldest first
        self._active = set(range(self._num_workers))
        self._turns = itertools.cycle(range(self._num_workers))
        for _ in range(self._prefetch):
            self._request()

    def _request(self) -> None:
        """Queue one more batch, unless the sampler or all workers are exhausted."""
        if not self._active:
            return
        index = next(self._indices, _END)
        if index is not _END:
            worker = self._choose_worker()
            self._pool.put(worker, (index,))
            self._pending.append(worker)

    def _choose_worker(self) -> int:
        if self._in_order:
            return next(worker for worker in self._turns if worker in self._active)
        return min(self._active, key=self._pending.count)

    def _receive(self) -> Any:
        """Return the oldest pending batch, or any pending batch if `in_order` is False.

        The result is an `Exhausted` object if the worker has no more data.
        """
        candidates = [self._pending[0]] if self._in_order else set(self._pending)
        worker, result = self._pool.get(candidates, self._timeout)
        self._pending.remove(worker)
        if isinstance(result, Exhausted):
            # An exhausted worker sends no results for its remaining tasks, so they are no longer pending.
            self._active.discard(worker)
            self._pending = collections.deque(pending for pending in self._pending if pending != worker)
            if not self._persistent:
                self._pool.put(worker, None)
        return result

    def _shutdown_workers(self) -> None:
        """Stop the workers."""
        self._pending.clear()
        self._active.clear()
        self._pool.close()

    def _load(self) -> Any:
        while self._pending:
            result = self._receive()
            self._request()
            if isinstance(result, Failure):
                result.reraise()
            if not isinstance(result, Exhausted):
                return result
        if not self._persistent:
            self._pool.close()
        raise StopIteration


_END = object()


def _can_pin(device: str) -> bool:
    if device:
        warnings.warn(
            "pin_memory_device is deprecated, the current accelerator will be used as the device,"
            f"ignore pin_memory_device='{device}'.",
            stacklevel=5,
        )
    if not torch.cuda.is_available():
        warnings.warn(
            "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be used.",
            stacklevel=5,
        )
        return False
    return True


def pin_memory(data: Any) -> Any:
    """Copy the tensors in `data`, and other objects with a `pin_memory` method, to pinned memory."""
    if hasattr(data, "pin_memory"):
        return data.pin_memory()
    if is_nested(data):
        return map_structure(pin_memory, data, data, tuple)
    return data
