"""Iterators over one epoch of a loader, in the main process or with workers."""

from __future__ import annotations

import collections
import itertools
import multiprocessing
import sys
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import flambeau as torch

from .fetch import DatasetKind
from .pin_memory import pin_memory
from .pool import WorkerPool
from .sampler import random_seed
from .thread_pool import ThreadPool
from .worker import Exhausted, Failure, Job, Restart

if TYPE_CHECKING:
    from .dataloader import DataLoader

__all__ = ["LoaderIterator", "LocalIterator", "WorkerIterator"]


class LoaderIterator:
    """Iterator over one epoch of a loader. Subclasses define `_next_data`, which returns the next batch.

    Attributes and methods have PyTorch's names, because libraries define subclasses, and objects that replace loaders.
    """

    # An iterator does not refer to its loader: loaders with persistent workers refer to the iterator, which would be a cycle.

    def __init__(self, loader: DataLoader[Any]) -> None:
        self._dataset = loader.dataset
        self._dataset_kind = loader._dataset_kind
        self._auto_collation = loader._auto_collation
        self._collate_fn = loader.collate_fn
        self._drop_last = loader.drop_last
        self._num_workers = loader.num_workers
        self._timeout = loader.timeout
        self._persistent_workers = loader.persistent_workers
        self._index_sampler = loader._index_sampler
        self._pin_memory_device: str | None = None
        self._pin_memory = loader.pin_memory and _can_pin(loader.pin_memory_device)
        self._shared_seed = None
        self._world_size, self._rank = _distributed_settings()
        LoaderIterator._reset(self, loader, first_iter=True)
        self._base_seed = random_seed(loader.generator)

    def _reset(self, loader: DataLoader[Any], first_iter: bool = False) -> None:
        """Start an epoch."""
        self._sampler_iter: Iterator[Any] = iter(self._index_sampler)
        self._IterableDataset_len_called = loader._IterableDataset_len_called
        self._num_yielded = 0

    def _next_index(self) -> Any:
        return next(self._sampler_iter)

    def _next_data(self) -> Any:
        raise NotImplementedError

    def __iter__(self) -> LoaderIterator:
        return self

    def __next__(self) -> Any:
        batch = self._next_data()
        self._num_yielded += 1
        self._check_reported_length()
        return batch

    next = __next__

    def __len__(self) -> int:
        return len(self._index_sampler)

    def __getstate__(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} cannot be pickled")

    def _check_reported_length(self) -> None:
        reported = self._IterableDataset_len_called
        if self._dataset_kind == DatasetKind.Map or reported is None or self._num_yielded <= reported:
            return
        message = (
            f"Length of IterableDataset {self._dataset} was reported to be {reported}"
            f"(when accessing len(dataloader)), but {self._num_yielded} samples have been fetched. "
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
        if loader.timeout != 0 and loader.num_workers == 0:
            raise AssertionError(f"timeout requires worker processes: got timeout={loader.timeout} with num_workers=0")
        super().__init__(loader)
        self._dataset_fetcher = DatasetKind.create_fetcher(
            self._dataset_kind, self._dataset, self._auto_collation, self._collate_fn, self._drop_last
        )

    def _next_data(self) -> Any:
        batch = self._dataset_fetcher.fetch(self._next_index())
        return pin_memory(batch) if self._pin_memory else batch


class WorkerIterator(LoaderIterator):
    """Load batches ahead of time in worker processes or threads."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        if not loader.prefetch_factor:
            raise AssertionError(f"prefetch_factor must be positive with workers, got {loader.prefetch_factor}")
        super().__init__(loader)
        self._prefetch = loader.prefetch_factor * loader.num_workers
        self._in_order = loader.in_order
        context, jobs = loader.multiprocessing_context, self._jobs(loader)
        self._pool = ThreadPool(jobs) if context == "thread" else WorkerPool(context or multiprocessing, jobs)
        self._reset(loader, first_iter=True)

    def _jobs(self, loader: DataLoader[Any]) -> Iterator[Job]:
        for worker in range(loader.num_workers):
            yield Job(
                worker_id=worker,
                num_workers=loader.num_workers,
                base_seed=self._base_seed,
                dataset_kind=self._dataset_kind,
                dataset=self._dataset,
                batched=self._auto_collation,
                collate_fn=self._collate_fn,
                drop_last=self._drop_last,
                init_fn=loader.worker_init_fn,
            )

    def _reset(self, loader: DataLoader[Any], first_iter: bool = False) -> None:
        """Start an epoch with the same workers."""
        if not first_iter:
            while self._pending:
                self._receive()
            for worker in range(self._num_workers):
                self._pool.put(worker, Restart())
        # In the first epoch, this is the second call of `iter` on the sampler, as in PyTorch: both calls may draw random numbers.
        super()._reset(loader, first_iter)
        self._pending: collections.deque[int] = collections.deque()  # the worker of each unfinished task, oldest first
        self._active = set(range(self._num_workers))
        self._turns = itertools.cycle(range(self._num_workers))
        for _ in range(self._prefetch):
            self._request()

    def _request(self) -> None:
        """Queue one more batch, unless the sampler or all workers are exhausted."""
        if not self._active:
            return
        index = next(self._sampler_iter, _END)
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
            if not self._persistent_workers:
                self._pool.put(worker, None)
        return result

    def _shutdown_workers(self) -> None:
        """Stop the workers."""
        self._pending.clear()
        self._active.clear()
        self._pool.close()

    def _next_data(self) -> Any:
        while self._pending:
            result = self._receive()
            self._request()
            if isinstance(result, Failure):
                result.reraise()
            if not isinstance(result, Exhausted):
                return pin_memory(result) if self._pin_memory else result
        if not self._persistent_workers:
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


def _distributed_settings() -> tuple[int, int]:
    """Return the number of processes and the rank of this process; 1 and 0 without a process group."""
    distributed = sys.modules.get("flambeau_nnlib.distributed")  # a group exists only if this was imported
    if distributed is None or not distributed.is_initialized():
        return 1, 0
    return distributed.get_world_size(), distributed.get_rank()
