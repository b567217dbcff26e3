"""Map-style and iterable datasets, and ways to combine them."""

from __future__ import annotations

import bisect
import itertools
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import flambeau as torch

from .sampler import generator_device

__all__ = [
    "ChainDataset",
    "ConcatDataset",
    "Dataset",
    "IterableDataset",
    "StackDataset",
    "Subset",
    "TensorDataset",
    "random_split",
]

T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """A map-style dataset, which maps indices to samples. Base class of all datasets.

    Subclasses define `__getitem__` and usually `__len__`. They may also define `__getitems__(indices)`, which returns a
    list of samples; a `DataLoader` then calls it once per batch. `a + b` is a `ConcatDataset`.

    Example:
        >>> class Squares(Dataset):
        ...     def __getitem__(self, index):
        ...         return index**2
        ...     def __len__(self):
        ...         return 4
        >>> len(Squares() + Squares())
        8
    """

    # There is no `__len__` that raises an error: `list(dataset)` would call it and fail.

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[T_co]) -> ConcatDataset[T_co]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co], Iterable[T_co]):
    """A stream of samples. Subclasses define `__iter__`.

    Each worker process of a `DataLoader` iterates over its own copy of the dataset. To avoid duplicates, `__iter__` or the
    loader's `worker_init_fn` calls `get_worker_info` and selects this worker's share.

    Example:
        >>> class Count(IterableDataset):
        ...     def __iter__(self):
        ...         return iter(range(3))
        >>> list(Count() + Count())
        [0, 1, 2, 0, 1, 2]
    """

    def __add__(self, other: Dataset[T_co]) -> ChainDataset:  # type: ignore[override]
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[torch.Tensor, ...]]):
    """A dataset whose samples are slices of tensors along the first dimension: `dataset[i]` is `(a[i], b[i], ...)`.

    Args:
        *tensors: one or more tensors whose first dimensions have the same size, the number of samples.

    Raises:
        AssertionError: the first dimensions have different sizes.

    Example:
        >>> TensorDataset(torch.arange(3), torch.tensor([5, 6, 7]))[1]
        (tensor(1), tensor(6))
    """

    def __init__(self, *tensors: torch.Tensor) -> None:
        if any(tensor.size(0) != tensors[0].size(0) for tensor in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[torch.Tensor, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        length: int = self.tensors[0].size(0)
        return length


class StackDataset(Dataset[Any]):
    """Combine datasets of the same length: each sample contains one sample of every dataset.

    Args:
        *args: the datasets; samples are then tuples.
        **kwargs: the datasets by name; samples are then dicts.

    Raises:
        ValueError: no datasets are given, both positional and keyword ones are given, or their lengths differ.

    Example:
        >>> StackDataset(image=[10, 20], label=[0, 1])[1]
        {'image': 20, 'label': 1}
    """

    datasets: tuple[Any, ...] | dict[str, Any]

    def __init__(self, *args: Dataset[Any], **kwargs: Dataset[Any]) -> None:
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or"
                "``dict``- (via ``kwargs``) like input/output, but both types are given."
            )
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        self.datasets = args or kwargs
        self._length = len(self._members()[0])
        if any(len(dataset) != self._length for dataset in self._members()):
            raise ValueError("Size mismatch between datasets")

    def _members(self) -> list[Any]:
        return list(self.datasets.values() if isinstance(self.datasets, dict) else self.datasets)

    def _sample(self, parts: Sequence[Any]) -> Any:
        if isinstance(self.datasets, dict):
            return dict(zip(self.datasets, parts, strict=True))
        return tuple(parts)

    def __getitem__(self, index: Any) -> Any:
        return self._sample([dataset[index] for dataset in self._members()])

    def __getitems__(self, indices: list[Any]) -> list[Any]:
        columns = []
        for dataset in self._members():
            column = fetch_items(dataset, indices)
            if len(column) != len(indices):
                raise ValueError(f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(column)}")
            columns.append(column)
        return [self._sample(parts) for parts in zip(*columns, strict=True)]

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[T_co]):
    """Concatenate map-style datasets. The indices of a dataset follow those of the previous one.

    Args:
        datasets: the datasets, at least one, each with `__len__`.

    Raises:
        AssertionError: `datasets` is empty or contains an `IterableDataset`; use `ChainDataset` for these.

    Example:
        >>> ConcatDataset([[1, 2], [3]])[-1]
        3
    """

    datasets: list[Any]
    cumulative_sizes: list[int]

    def __init__(self, datasets: Iterable[Dataset[T_co]]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    @staticmethod
    def cumsum(sequence: Iterable[Any]) -> list[int]:
        """Return the cumulative sums of the lengths of the items in `sequence`."""
        return list(itertools.accumulate(len(item) for item in sequence))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: int) -> T_co:
        if idx < 0:
            if -idx > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            idx += len(self)
        dataset_index = bisect.bisect_right(self.cumulative_sizes, idx)
        start = self.cumulative_sizes[dataset_index - 1] if dataset_index else 0
        sample: T_co = self.datasets[dataset_index][idx - start]
        return sample

    @property
    def cummulative_sizes(self) -> list[int]:
        """Deprecated misspelling of `cumulative_sizes`."""
        warnings.warn("`cummulative_sizes` attribute is renamed to `cumulative_sizes`", FutureWarning, stacklevel=2)
        return self.cumulative_sizes


class ChainDataset(IterableDataset[Any]):
    """Concatenate iterable datasets, as `+` does.

    Args:
        datasets: an iterable of datasets. It is iterated over again in every epoch.

    Raises:
        AssertionError: while iterating, if an element of `datasets` is not an `IterableDataset`.

    Example:
        >>> class Count(IterableDataset):
        ...     def __init__(self, stop):
        ...         self.stop = stop
        ...     def __iter__(self):
        ...         return iter(range(self.stop))
        >>> list(ChainDataset([Count(2), Count(3)]))
        [0, 1, 0, 1, 2]
    """

    def __init__(self, datasets: Iterable[Dataset[Any]]) -> None:
        self.datasets = datasets

    def _members(self) -> Iterator[Any]:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield dataset

    def __iter__(self) -> Iterator[Any]:
        for dataset in self._members():
            yield from dataset

    def __len__(self) -> int:
        return sum(len(dataset) for dataset in self._members())


class Subset(Dataset[T_co]):
    """The samples of `dataset` at `indices`, in that order.

    A subclass that overrides `__getitem__` must also override `__getitems__`, because loaders call `__getitems__`.

    Args:
        dataset: a map-style dataset.
        indices: the indices of the samples of the subset, in order. Indices may repeat.

    Raises:
        NotImplementedError: a subclass overrides `__getitem__` but not `__getitems__`.

    Example:
        >>> subset = Subset("abcdef", [4, 0])
        >>> subset[0], len(subset)
        ('e', 2)
    """

    def __init__(self, dataset: Dataset[T_co], indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices
        cls = type(self)
        if cls.__getitem__ is not Subset.__getitem__ and cls.__getitems__ is Subset.__getitems__:
            raise NotImplementedError(
                f"{cls.__name__} overrides __getitem__ but not __getitems__. When subclassing Subset and "
                "overriding __getitem__, you must also override __getitems__ to ensure DataLoader works "
                "correctly with your custom logic. A simple implementation:\n\n"
                "def __getitems__(self, indices):\n"
                "    return [self.__getitem__(idx) for idx in indices]"
            )

    def __getitem__(self, idx: Any) -> T_co:
        if isinstance(idx, list):
            return self.dataset[[self.indices[i] for i in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices: list[int]) -> list[T_co]:
        samples: list[T_co] = fetch_items(self.dataset, [self.indices[i] for i in indices])
        return samples

    def __len__(self) -> int:
        return len(self.indices)


def fetch_items(dataset: Any, indices: Iterable[Any]) -> Any:
    """Return the samples at `indices`, by one call of `__getitems__` if the dataset defines it."""
    if getattr(dataset, "__getitems__", None):
        return dataset.__getitems__(indices)
    return [dataset[index] for index in indices]


def random_split(
    dataset: Dataset[T_co], lengths: Sequence[int | float], generator: torch.Generator | None = None
) -> list[Subset[T_co]]:
    """Split a dataset randomly into non-overlapping subsets.

    Args:
        dataset: a map-style dataset.
        lengths: the number of samples of each subset. If they sum to 1, they are fractions: each length is rounded down,
            and the remaining samples are distributed one by one, starting with the first subset.
        generator: the random number generator of the shuffle. None uses the default generator.

    Returns:
        a list of `Subset`.

    Raises:
        ValueError: the lengths do not sum to `len(dataset)`, or a fraction is not between 0 and 1.

    Example:
        >>> parts = random_split(range(10), [0.7, 0.3], generator=torch.Generator().manual_seed(0))
        >>> [len(part) for part in parts]
        [7, 3]
    """
    total = len(dataset)  # type: ignore[arg-type]
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        lengths = _lengths_from_fractions(lengths, total)
    if sum(lengths) != total:
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")

    order: Any = torch.randperm(total, generator=generator, device=generator_device(generator)).tolist()
    ends = itertools.accumulate(lengths)
    return [Subset(dataset, order[end - length : end]) for end, length in zip(ends, lengths, strict=True)]


def _lengths_from_fractions(fractions: Sequence[float], total: int) -> list[int]:
    for i, fraction in enumerate(fractions):
        if not 0 <= fraction <= 1:
            raise ValueError(f"Fraction at index {i} is not between 0 and 1")
    lengths = [math.floor(total * fraction) for fraction in fractions]
    for i in range(total - sum(lengths)):
        lengths[i % len(lengths)] += 1
    for i, length in enumerate(lengths):
        if length == 0:
            warnings.warn(f"Length of split at index {i} is 0. This might result in an empty dataset.", stacklevel=3)
    return lengths
