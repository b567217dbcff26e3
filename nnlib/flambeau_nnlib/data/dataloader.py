"""`DataLoader`, which combines a dataset and a sampler into an iterable of batches."""

from __future__ import annotations

import multiprocessing
import os
import sys
import warnings
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, Generic, TypeVar

import flambeau as torch
from flambeau.extension import WEBASSEMBLY, private_names, warn

from .collate import default_collate, default_convert
from .datapipes.datapipe import IterDataPipe
from .datapipes.iter import apply_shuffle_settings
from .dataset import Dataset, IterableDataset
from .fetch import DatasetKind
from .iterators import LoaderIterator, LocalIterator, WorkerIterator
from .sampler import BatchSampler, EndlessSampler, RandomSampler, Sampler, SequentialSampler
from .worker import get_worker_info

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

T_co = TypeVar("T_co", covariant=True)
__getattr__ = private_names(__name__)

_READ_ONLY_ATTRIBUTES = {"batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"}


class DataLoader(Generic[T_co]):
    """An iterable over the samples of `dataset`, in batches. Each iteration is one epoch.

    Worker `i` seeds `random`, `torch` and `numpy.random` with `base_seed + i`, where `base_seed` is drawn from `generator`.
    An exception in a worker is raised in the main process with the same type and the worker's traceback in its message.

    Workers that are threads share the dataset, which must support concurrent calls, and pass batches without copying. Samples
    and batches are not pickled. `torch` functions draw from the thread's own CPU generator, seeded as in a process. `random`
    and `numpy.random` belong to all threads and are not seeded; `get_worker_info().rng` has generators to use instead.

    Args:
        dataset: a map-style dataset (anything with `__getitem__` and `__len__`) or an `IterableDataset`.
        batch_size: the number of samples per batch. None disables batching and yields single samples.
        shuffle: whether to use a new random order in every epoch. By default samples come in the order of their indices.
        sampler: an iterable of indices with a length, used instead of `shuffle`.
        batch_sampler: an iterable of lists of indices, used instead of `batch_size`, `shuffle`, `sampler` and `drop_last`.
        num_workers: the number of worker processes, or threads. 0 loads in the main process, in the calling thread.
        collate_fn: converts a list of samples to a batch. Default: `default_collate`, or without batching
            `default_convert`, called with a single sample.
        pin_memory: whether to return tensors in pinned memory if an accelerator is available. Copies from pinned memory to
            the device are faster and can be asynchronous.
        drop_last: whether to omit an incomplete last batch.
        timeout: the number of seconds to wait for a batch from the workers before raising RuntimeError. 0 waits forever.
        worker_init_fn: called in each worker with the worker id, counted from 0, after seeding.
        multiprocessing_context: a start method of workers (`"fork"`, `"spawn"`, `"forkserver"`), a `multiprocessing`
            context, or `"thread"` for workers that are threads. None uses the system's default start method.
        generator: the random number generator of the shuffle and of the workers' seeds. None uses the default generator.
        prefetch_factor: the number of batches that each worker loads in advance, by default 2. Requires workers.
        persistent_workers: whether to keep the workers and their copies of the dataset for the next epoch.
        pin_memory_device: accepted for compatibility and ignored; memory is pinned for the available accelerator.
        in_order: whether to return batches in the order of the sampler. False returns them as they become ready.

    Raises:
        ValueError: options are incompatible, such as `sampler` with `shuffle`, or `prefetch_factor` without workers.

    Example:
        >>> for batch in DataLoader(torch.arange(5), batch_size=2):
        ...     print(batch)
        tensor([0, 1])
        tensor([2, 3])
        tensor([4])
    """

    __initialized = False  # subclasses set PyTorch's attribute to False to change read-only attributes
    _iterator: WorkerIterator | None = None
    _IterableDataset_len_called: int | None = None  # the last result of len(loader), if the dataset is iterable

    def __init__(
        self,
        dataset: Dataset[T_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Sampler[Any] | Iterable[Any] | None = None,
        batch_sampler: Sampler[list[Any]] | Iterable[list[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: torch.Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check_worker_options(num_workers, timeout, prefetch_factor, persistent_workers)
        if isinstance(dataset, IterDataPipe) and shuffle is not None:  # data pipes are shuffled by a Shuffler, not by a sampler
            dataset, shuffle = apply_shuffle_settings(dataset, shuffle), None
        if isinstance(dataset, IterableDataset):
            _check_iterable_options(shuffle, sampler, batch_sampler)
        _check_sampling_options(batch_size, bool(shuffle), sampler, batch_sampler, drop_last)

        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers > 0 and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        self.generator = generator
        self.persistent_workers = persistent_workers

        if sampler is None:
            sampler = _default_sampler(dataset, bool(shuffle), generator)
        if batch_sampler is not None:
            batch_size = None
        elif batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.collate_fn = collate_fn or (default_collate if self._auto_collation else default_convert)
        self._dataset_kind = DatasetKind.Iterable if isinstance(dataset, IterableDataset) else DatasetKind.Map
        self.__initialized = True
        if not WEBASSEMBLY:
            self.check_worker_number_rationality()

    def __setattr__(self, name: str, value: Any) -> None:
        if self.__initialized and name in _READ_ONLY_ATTRIBUTES:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    @property
    def multiprocessing_context(self) -> Any:
        """The `multiprocessing` context that starts the workers, or `"thread"`. None uses the default context."""
        return self._multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context: Any) -> None:
        self._multiprocessing_context = None if context is None else self._find_context(context)

    def _find_context(self, context: Any) -> Any:
        if self.num_workers == 0:
            raise ValueError(
                "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but "
                f"got num_workers={self.num_workers}"
            )
        if isinstance(context, str) and context == "thread":
            if self.num_workers > 1 and isinstance(self.dataset, IterDataPipe):
                raise ValueError("data pipes support one iterator at a time: use one worker thread or worker processes")
            return context
        if isinstance(context, str):
            methods = multiprocessing.get_all_start_methods()
            if context not in methods:
                raise ValueError(
                    f"multiprocessing_context option should specify a valid start method in {methods!r}, "
                    f"but got multiprocessing_context={context!r}"
                )
            return multiprocessing.get_context(context)
        if not isinstance(context, multiprocessing.context.BaseContext):
            raise TypeError(
                "multiprocessing_context option should be a valid context object or a string specifying the "
                f"start method, but got multiprocessing_context={context}"
            )
        return context

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.batch_sampler if self._auto_collation else self.sampler

    def __iter__(self) -> LoaderIterator:
        if not self.persistent_workers:
            iterator: LoaderIterator = self._get_iterator()
            return iterator
        if self._iterator is None:
            self._iterator = self._get_iterator()
        else:
            self._iterator._reset(self)
        return self._iterator

    def _get_iterator(self) -> Any:
        if self.num_workers == 0:
            return LocalIterator(self)
        if WEBASSEMBLY:
            _warn_without_processes(self.num_workers)
            return LocalIterator(self)
        self.check_worker_number_rationality()
        return WorkerIterator(self)

    def __len__(self) -> int:
        if not isinstance(self.dataset, IterableDataset):
            return len(self._index_sampler)
        length = self._IterableDataset_len_called = len(self.dataset)  # type: ignore[arg-type]
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else -(-length // self.batch_size)

    def check_worker_number_rationality(self) -> None:
        """Warn if `num_workers` exceeds the number of CPUs available to this process."""
        cpus, knows_affinity = os.cpu_count(), sys.platform == "linux"
        if sys.platform == "linux":
            cpus = len(os.sched_getaffinity(0))
        if self.num_workers == 0 or (cpus is not None and self.num_workers <= cpus):
            return
        if self.multiprocessing_context == "thread":  # many threads may wait for files at little cost
            return
        if cpus is None:
            limit = "DataLoader is not able to compute a suggested max number of worker in current system."
        else:
            limit = (
                f"Our suggested max number of worker in current system is {cpus}"
                f"{'' if knows_affinity else ' (`cpuset` is not taken into account)'}, which is smaller "
                "than what this DataLoader is going to create."
            )
        warnings.warn(
            f"This DataLoader will create {self.num_workers} worker processes in total. {limit} Please be "
            "aware that excessive worker creation might get DataLoader running slow or even freeze, lower "
            "the worker number to avoid potential slowness/freeze if necessary.",
            stacklevel=3,
        )


@cache
def _warn_without_processes(num_workers: int) -> None:
    warn(
        f"DataLoader loads in this process instead of {num_workers} workers, because {sys.platform} (WebAssembly) has no "
        "processes; worker_init_fn is not called and timeout has no effect"
    )


def _default_sampler(dataset: Any, shuffle: bool, generator: torch.Generator | None) -> Sampler[Any]:
    if isinstance(dataset, IterableDataset):
        return EndlessSampler()
    return RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)


def _check_worker_options(num_workers: int, timeout: float, prefetch_factor: int | None, persistent_workers: bool) -> None:
    if num_workers < 0:
        raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing."
            "let num_workers > 0 to enable multiprocessing, otherwise set prefetch_factor to None."
        )
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if persistent_workers and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


def _check_iterable_options(shuffle: Any, sampler: Any, batch_sampler: Any) -> None:
    options = {"shuffle": shuffle or None, "sampler": sampler, "batch_sampler": batch_sampler}
    for name, value in options.items():
        if value is not None:
            raise ValueError(f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}")


def _check_sampling_options(batch_size: int | None, shuffle: bool, sampler: Any, batch_sampler: Any, drop_last: bool) -> None:
    if sampler is not None and shuffle:
        raise ValueError("sampler option is mutually exclusive with shuffle")
    if batch_sampler is not None and (batch_size != 1 or shuffle or sampler is not None or drop_last):
        raise ValueError("batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last")
    if batch_sampler is None and batch_size is None and drop_last:
        raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
