"""The loader: a dataset and a sampler become an iterable of batches."""

from __future__ import annotations

import multiprocessing
import os
import warnings
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

import flambeau as torch
from flambeau.extension import private_names

from .collate import default_collate, default_convert
from .datapipes.datapipe import IterDataPipe
from .datapipes.iter import apply_shuffle_settings
from .dataset import Dataset, IterableDataset
from .fetch import IterableFetcher, MapFetcher
from .iterators import LoaderIterator, LocalIterator, WorkerIterator
from .sampler import BatchSampler, EndlessSampler, RandomSampler, Sampler, SequentialSampler
from .worker import get_worker_info

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

T_co = TypeVar("T_co", covariant=True)
__getattr__ = private_names(__name__)

_FIXED = {"batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"}


class _DatasetKind:
    """The kinds of datasets, and their fetchers."""

    Map, Iterable = 0, 1

    @staticmethod
    def create_fetcher(kind: int, dataset: Any, auto_collation: bool, collate_fn: Callable[[Any], Any], drop_last: bool) -> Any:
        """What gets the samples of a batch, by `fetch(indices)`."""
        if kind == _DatasetKind.Map:
            return MapFetcher(dataset, auto_collation, collate_fn)
        return IterableFetcher(dataset, auto_collation, collate_fn, drop_last)


class DataLoader(Generic[T_co]):
    """Batches of the samples of `dataset`; every `iter` is one epoch.

    With workers, worker `i` seeds `random`, `torch` and `numpy.random` with a number drawn from `generator` plus `i`. An
    exception in a worker is raised here, with the same type and the worker's traceback in its message.

    Args:
        dataset: a map-style dataset (anything with `__getitem__` and `__len__`) or an `IterableDataset`.
        batch_size: how many samples are in a batch; None for no batches, each sample by itself.
        shuffle: visit the samples in a new random order in every epoch; by default in the order of their indices.
        sampler: gives the order of the indices, in place of `shuffle`; anything to iterate over that has a length.
        batch_sampler: gives lists of indices, in place of `batch_size`, `shuffle`, `sampler` and `drop_last`.
        num_workers: how many processes load; 0 to load in this one.
        collate_fn: makes a batch of a list of samples. Default: `default_collate`; without batches `default_convert`, of
            one sample.
        pin_memory: return tensors in pinned memory, if there is an accelerator; copies from there to the device are
            faster and need not be waited for.
        drop_last: leave out a last batch that is not full.
        timeout: seconds to wait for a batch from the workers before raising RuntimeError; 0 to wait for ever.
        worker_init_fn: called in each worker with its number, from 0 on, after seeding.
        multiprocessing_context: how workers are started: a start method (`"fork"`, `"spawn"`, `"forkserver"`) or a context
            of `multiprocessing`; None for the system's default.
        generator: source of the shuffle and of the workers' seeds; None for the default generator.
        prefetch_factor: how many batches each worker loads ahead, by default 2; only with workers.
        persistent_workers: keep the workers, and their copies of the dataset, for the next epoch.
        pin_memory_device: accepted; memory is pinned for the accelerator that there is.
        in_order: return batches in the sampler's order; False to return them as they get ready.

    Raises:
        ValueError: options contradict each other, such as a `sampler` and `shuffle`, or one that needs workers and none.

    Example:
        >>> for batch in DataLoader(torch.arange(5), batch_size=2):
        ...     print(batch)
        tensor([0, 1])
        tensor([2, 3])
        tensor([4])
    """

    __initialized = False  # PyTorch's name: subclasses reset it to replace fixed attributes
    _iterator: WorkerIterator | None = None
    _reported_length: int | None = None  # the last len() of an iterable dataset

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
        if isinstance(dataset, IterDataPipe) and shuffle is not None:  # the pipes shuffle
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
        self._dataset_kind = _DatasetKind.Iterable if isinstance(dataset, IterableDataset) else _DatasetKind.Map
        self.__initialized = True
        self.check_worker_number_rationality()

    def __setattr__(self, name: str, value: Any) -> None:
        if self.__initialized and name in _FIXED:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    @property
    def multiprocessing_context(self) -> Any:
        """The context that starts the workers; None for the default one."""
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
            self._iterator.restart(self)
        return self._iterator

    def _get_iterator(self) -> Any:
        if self.num_workers == 0:
            return LocalIterator(self)
        self.check_worker_number_rationality()
        return WorkerIterator(self)

    def __len__(self) -> int:
        if not isinstance(self.dataset, IterableDataset):
            return len(self._index_sampler)
        length = self._reported_length = len(self.dataset)  # type: ignore[arg-type]
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else -(-length // self.batch_size)

    def check_worker_number_rationality(self) -> None:
        """Warn if there are more workers than CPUs that this process may use."""
        knows_affinity = hasattr(os, "sched_getaffinity")
        cpus = len(os.sched_getaffinity(0)) if knows_affinity else os.cpu_count()
        if self.num_workers == 0 or (cpus is not None and self.num_workers <= cpus):
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
