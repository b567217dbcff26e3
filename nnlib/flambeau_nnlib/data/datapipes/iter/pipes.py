"""Iterable data pipes: `map`, `filter`, `batch`, `shuffle` and others."""

from __future__ import annotations

import copy
import itertools
import random
import warnings
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import Any

import flambeau as torch

from ...collate import default_collate
from ...sampler import random_seed
from ...worker import get_worker_info
from ..datapipe import DataChunk, IterDataPipe, MapDataPipe, functional_datapipe

__all__ = [
    "Batcher", "Collator", "Concater", "Filter", "IterableWrapper", "Mapper", "ShardingFilter", "Shuffler", "UnBatcher", "Zipper",
]  # fmt: skip


def _length(pipe: Any, source: Any) -> int:
    if isinstance(source, Sized):
        return len(source)
    raise TypeError(f"{type(pipe).__name__} instance doesn't have valid length")


class IterableWrapperIterDataPipe(IterDataPipe[Any]):
    """Yield the elements of an iterable, by default of a deep copy of it.

    >>> from flambeau.utils.data.datapipes.iter import IterableWrapper
    >>> list(IterableWrapper(range(5)).filter(lambda x: x != 2).map(lambda x: 10 * x).batch(2))
    [[0, 10], [30, 40]]
    """

    def __init__(self, iterable: Iterable[Any], deepcopy: bool = True) -> None:
        self.iterable = iterable
        self.deepcopy = deepcopy

    def __iter__(self) -> Iterator[Any]:
        try:
            source = copy.deepcopy(self.iterable) if self.deepcopy else self.iterable
        except TypeError:  # for example, generators cannot be copied
            source = self.iterable
        yield from source

    def __len__(self) -> int:
        return _length(self, self.iterable)


@functional_datapipe("map")
class MapperIterDataPipe(IterDataPipe[Any]):
    """Apply a function to each element, or to its `input_col`. The result replaces `output_col`, by default `input_col`."""

    def __init__(self, datapipe: Any, fn: Callable[..., Any], input_col: Any = None, output_col: Any = None) -> None:
        if input_col is None and output_col is not None:
            raise ValueError("`output_col` must be None when `input_col` is None.")
        if isinstance(output_col, (list, tuple)):
            if len(output_col) > 1:
                raise ValueError("`output_col` must be a single-element list or tuple")
            output_col = output_col[0]
        self.datapipe, self.fn, self.input_col, self.output_col = datapipe, fn, input_col, output_col

    def _apply(self, data: Any) -> Any:
        if self.input_col is None:
            return self.fn(data)
        several = isinstance(self.input_col, (list, tuple))
        result = self.fn(*(data[column] for column in self.input_col)) if several else self.fn(data[self.input_col])
        changed = list(data) if isinstance(data, tuple) else copy.copy(data)
        if self.output_col == -1:
            changed.append(result)
        elif self.output_col is not None:
            changed[self.output_col] = result
        elif several:
            changed[self.input_col[0]] = result
            if isinstance(changed, dict):
                for column in self.input_col[1:]:
                    del changed[column]
            else:
                for column in sorted(self.input_col[1:], reverse=True):
                    del changed[column]
        else:
            changed[self.input_col] = result
        return tuple(changed) if isinstance(data, tuple) else changed

    def __iter__(self) -> Iterator[Any]:
        return map(self._apply, self.datapipe)

    def __len__(self) -> int:
        return _length(self, self.datapipe)


@functional_datapipe("collate")
class CollatorIterDataPipe(MapperIterDataPipe):
    """Collate each list of samples to a batch, with `default_collate` unless another function is given."""

    def __init__(self, datapipe: Any, conversion: Any = None, collate_fn: Callable[..., Any] | None = None) -> None:
        function = conversion if callable(conversion) else collate_fn
        super().__init__(datapipe, fn=default_collate if function is None else function)


@functional_datapipe("filter")
class FilterIterDataPipe(IterDataPipe[Any]):
    """Yield the elements for which `filter_fn(element)` is True. With `input_col`, the argument is that column of the element."""

    def __init__(self, datapipe: Any, filter_fn: Callable[..., Any], input_col: Any = None) -> None:
        self.datapipe, self.filter_fn, self.input_col = datapipe, filter_fn, input_col

    def _keeps(self, data: Any) -> bool:
        if self.input_col is None:
            is_kept = self.filter_fn(data)
        elif isinstance(self.input_col, (list, tuple)):
            is_kept = self.filter_fn(*(data[column] for column in self.input_col))
        else:
            is_kept = self.filter_fn(data[self.input_col])
        if not isinstance(is_kept, bool):
            raise ValueError(f"Boolean output is required for `filter_fn` of FilterIterDataPipe, got {type(is_kept)}")
        return is_kept

    def __iter__(self) -> Iterator[Any]:
        return filter(self._keeps, self.datapipe)


@functional_datapipe("batch")
class BatcherIterDataPipe(IterDataPipe[Any]):
    """Group elements into lists of `batch_size`. `drop_last` omits an incomplete last list."""

    def __init__(self, datapipe: Any, batch_size: int, drop_last: bool = False, wrapper_class: Any = DataChunk) -> None:
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        self.datapipe, self.batch_size, self.drop_last, self.wrapper_class = datapipe, batch_size, drop_last, wrapper_class

    def __iter__(self) -> Iterator[Any]:
        elements = iter(self.datapipe)
        while batch := list(itertools.islice(elements, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield self.wrapper_class(batch)

    def __len__(self) -> int:
        length = _length(self, self.datapipe)
        return length // self.batch_size if self.drop_last else -(-length // self.batch_size)


@functional_datapipe("unbatch")
class UnBatcherIterDataPipe(IterDataPipe[Any]):
    """Flatten `unbatch_level` levels of nested lists; -1 flattens all levels."""

    def __init__(self, datapipe: Any, unbatch_level: int = 1) -> None:
        if unbatch_level < -1:
            raise ValueError("unbatch_level must be -1 or >= 0")
        self.datapipe, self.unbatch_level = datapipe, unbatch_level

    def __iter__(self) -> Iterator[Any]:
        for element in self.datapipe:
            yield from self._flatten(element, self.unbatch_level)

    def _flatten(self, element: Any, level: int) -> Iterator[Any]:
        if level == 0 or (level == -1 and not isinstance(element, (list, DataChunk))):
            yield element
        elif isinstance(element, (list, DataChunk)):
            for item in element:
                yield from self._flatten(item, level if level == -1 else level - 1)
        else:
            raise IndexError(f"unbatch_level {self.unbatch_level} exceeds the depth of the DataPipe")


@functional_datapipe("concat")
class ConcaterIterDataPipe(IterDataPipe[Any]):
    """Yield the elements of several pipes, one pipe after another."""

    def __init__(self, *datapipes: Any) -> None:
        if not datapipes:
            raise ValueError("Expected at least one DataPipe, but got nothing")
        self.datapipes = datapipes

    def __iter__(self) -> Iterator[Any]:
        return itertools.chain(*self.datapipes)

    def __len__(self) -> int:
        return sum(_length(self, pipe) for pipe in self.datapipes)


@functional_datapipe("zip")
class ZipperIterDataPipe(IterDataPipe[Any]):
    """Yield tuples with one element of each pipe, until the shortest pipe ends."""

    def __init__(self, *datapipes: Any) -> None:
        if not all(isinstance(pipe, IterDataPipe) for pipe in datapipes):
            raise TypeError("All inputs are required to be `IterDataPipe` for `ZipIterDataPipe`.")
        self.datapipes = datapipes

    def __iter__(self) -> Iterator[Any]:
        return zip(*self.datapipes, strict=False)

    def __len__(self) -> int:
        return min(_length(self, pipe) for pipe in self.datapipes)


@functional_datapipe("shuffle")
class ShufflerIterDataPipe(IterDataPipe[Any]):
    """Shuffle the elements: draw each from a buffer of `buffer_size` elements, then refill the buffer."""

    def __init__(self, datapipe: Any, *, buffer_size: int = 10000, unbatch_level: int = 0) -> None:
        if buffer_size <= 0:
            raise ValueError("buffer_size should be larger than 0")
        self.datapipe = datapipe if unbatch_level == 0 else UnBatcherIterDataPipe(datapipe, unbatch_level)
        self.buffer_size = buffer_size
        self._shuffle_enabled = True
        self._seed: int | None = None
        self._random = random.Random()

    def set_shuffle(self, shuffle: bool = True) -> ShufflerIterDataPipe:
        """Enable or disable shuffling."""
        self._shuffle_enabled = shuffle
        return self

    def set_seed(self, seed: int) -> ShufflerIterDataPipe:
        """Set the seed of the next iteration. Without one, the seed is drawn from the default generator."""
        self._seed = seed
        return self

    def __iter__(self) -> Iterator[Any]:
        if not self._shuffle_enabled:
            yield from self.datapipe
            return
        seed = int(torch.empty((), dtype=torch.int64).random_().item()) if self._seed is None else self._seed
        self._random.seed(seed)
        self._seed = None
        buffer: list[Any] = []
        for element in self.datapipe:
            if len(buffer) == self.buffer_size:
                position = self._random.randint(0, len(buffer) - 1)
                drawn, buffer[position] = buffer[position], element
                yield drawn
            else:
                buffer.append(element)
        while buffer:
            yield buffer.pop(self._random.randint(0, len(buffer) - 1))

    def __len__(self) -> int:
        return _length(self, self.datapipe)


@functional_datapipe("sharding_filter")
class ShardingFilterIterDataPipe(IterDataPipe[Any]):
    """Yield every n-th element, so that n workers read different elements.

    By default n is the number of workers of the loader, and the first element is given by the worker id. `apply_sharding`
    sets both.
    """

    def __init__(self, source_datapipe: Any, sharding_group_filter: Any = None) -> None:
        self.source_datapipe = source_datapipe
        self._shard: tuple[int, int] | None = None

    def apply_sharding(self, num_of_instances: int, instance_id: int, sharding_group: Any = None) -> None:
        """Yield every `num_of_instances`-th element, starting at `instance_id`.

        Raises:
            ValueError: `instance_id` is not less than `num_of_instances`.
        """
        if instance_id >= num_of_instances:
            raise ValueError(f"instance_id({instance_id}) should be smaller than num_of_instances({num_of_instances})")
        self._shard = num_of_instances, instance_id

    def is_shardable(self) -> bool:
        """Return True."""
        return True

    def _get_shard(self) -> tuple[int, int]:
        info = get_worker_info()
        return self._shard or ((1, 0) if info is None else (info.num_workers, info.id))

    def __iter__(self) -> Iterator[Any]:
        count, index = self._get_shard()
        return itertools.islice(iter(self.source_datapipe), index, None, count)

    def __len__(self) -> int:
        count, index = self._get_shard()
        return -(-(_length(self, self.source_datapipe) - index) // count)


def apply_shuffle_settings(datapipe: Any, shuffle: bool) -> Any:
    """Enable or disable the shufflers of a pipe. If `shuffle` is True and the pipe has no shuffler, append one."""
    shufflers = [pipe for pipe in _walk_pipes(datapipe) if hasattr(pipe, "set_shuffle")]
    if shuffle and not shufflers:
        warnings.warn(
            "`shuffle=True` was set, but the datapipe does not contain a `Shuffler`. Adding one at the end. "
            "Be aware that the default buffer size might not be sufficient for your task.",
            stacklevel=3,
        )
        return datapipe.shuffle()
    for pipe in shufflers:
        pipe.set_shuffle(shuffle)
    return datapipe


def apply_sharding(datapipe: Any, num_of_instances: int, instance_id: int, sharding_group: Any = None) -> Any:
    """Give each sharding filter of a pipe the share `instance_id` of `num_of_instances`."""
    for pipe in _walk_pipes(datapipe):
        if hasattr(pipe, "is_shardable") and pipe.is_shardable():
            pipe.apply_sharding(num_of_instances, instance_id)
    return datapipe


def apply_random_seed(datapipe: Any, rng: torch.Generator) -> Any:
    """Set the seed of each shuffler of a pipe to a number that is drawn from a generator."""
    for pipe in _walk_pipes(datapipe):
        if hasattr(pipe, "set_seed"):
            pipe.set_seed(random_seed(rng))
    return datapipe


def _walk_pipes(datapipe: Any) -> Iterator[Any]:
    """Yield the pipe and all pipes from which it reads, recursively."""
    yield datapipe
    for value in vars(datapipe).values():
        for inner in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(inner, (IterDataPipe, MapDataPipe)):
                yield from _walk_pipes(inner)


IterableWrapper = IterableWrapperIterDataPipe
Mapper, Collator, Filter = MapperIterDataPipe, CollatorIterDataPipe, FilterIterDataPipe
Batcher, UnBatcher = BatcherIterDataPipe, UnBatcherIterDataPipe
Concater, Zipper, Shuffler, ShardingFilter = (
    ConcaterIterDataPipe,
    ZipperIterDataPipe,
    ShufflerIterDataPipe,
    ShardingFilterIterDataPipe,
)
