"""Samplers: the order in which a loader reads a dataset."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any, Generic, TypeVar

import flambeau as torch

__all__ = [
    "BatchSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "WeightedRandomSampler",
]

T_co = TypeVar("T_co", covariant=True)


class Sampler(Generic[T_co]):
    """Base class of samplers. `__iter__` yields indices or lists of indices; `__len__` returns their number.

    Example:
        >>> class Backwards(Sampler):
        ...     def __init__(self, data_source):
        ...         self.data_source = data_source
        ...     def __iter__(self):
        ...         return iter(range(len(self.data_source) - 1, -1, -1))
        ...     def __len__(self):
        ...         return len(self.data_source)
        >>> list(Backwards("abc"))
        [2, 1, 0]
    """

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError


class SequentialSampler(Sampler[int]):
    """Yield all indices of a dataset in order.

    Args:
        data_source: the dataset. Only its length is used.

    Example:
        >>> list(SequentialSampler("abc"))
        [0, 1, 2]
    """

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """Yield indices of a dataset in random order.

    Args:
        data_source: the dataset. Only its length is used.
        replacement: whether to draw indices independently, so that some may repeat. False draws from successive
            permutations of all indices.
        num_samples: the number of indices per epoch. None uses the length of the dataset.
        generator: the random number generator. None creates one per epoch, seeded from the default generator.

    Raises:
        TypeError: `replacement` is not a bool.
        ValueError: `num_samples` is not a positive int.

    Example:
        >>> sorted(RandomSampler("abc"))
        [0, 1, 2]
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: torch.Generator | None = None,
    ) -> None:
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement}")
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={self.num_samples}")

    @property
    def num_samples(self) -> int:
        """The number of indices per iteration. By default it follows the current length of the data source."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        generator = self.generator
        if generator is None:
            generator = torch.Generator()
            generator.manual_seed(random_seed())
        draw = self._draw_with_replacement if self.replacement else self._draw_shuffles
        yield from draw(len(self.data_source), generator)

    def _draw_with_replacement(self, n: int, generator: torch.Generator) -> Iterator[int]:
        for start in range(0, self.num_samples, 32):
            size = min(32, self.num_samples - start)
            yield from torch.randint(
                n, (size,), dtype=torch.int64, generator=generator, device=generator_device(generator)
            ).tolist()

    def _draw_shuffles(self, n: int, generator: torch.Generator) -> Iterator[int]:
        shuffles, remainder = divmod(self.num_samples, n)
        for _ in range(shuffles):
            yield from torch.randperm(n, generator=generator, device=generator_device(generator)).tolist()
        # The permutation is drawn even if it is not used, so that the generator advances as PyTorch's does.
        yield from torch.randperm(n, generator=generator, device=generator_device(generator)).tolist()[:remainder]

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """Yield the given indices in random order.

    Args:
        indices: the indices to shuffle.
        generator: the random number generator. None uses the default generator.

    Example:
        >>> sorted(SubsetRandomSampler([7, 3, 5]))
        [3, 5, 7]
    """

    def __init__(self, indices: Sequence[int], generator: torch.Generator | None = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for i in torch.randperm(len(self.indices), generator=self.generator, device=generator_device(self.generator)).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Yield indices from 0 to `len(weights) - 1`, drawn in proportion to their weights, to balance classes for example.

    Args:
        weights: a nonnegative weight for each index. They need not sum to 1.
        num_samples: the number of indices per epoch.
        replacement: whether an index may repeat. False requires at least `num_samples` positive weights.
        generator: the random number generator. None uses the default generator.

    Raises:
        ValueError: `weights` is not 1-D, `num_samples` not a positive int or `replacement` not a bool.

    Example:
        >>> list(WeightedRandomSampler([0.0, 1.0], 3))
        [1, 1, 1]
    """

    def __init__(
        self,
        weights: Sequence[float],
        num_samples: int,
        replacement: bool = True,
        generator: torch.Generator | None = None,
    ) -> None:
        _check_positive_int("num_samples", num_samples)
        _check_bool("replacement", replacement)
        self.weights = torch.as_tensor(weights, dtype=torch.double)
        if self.weights.dim() != 1:
            raise ValueError(f"weights should be a 1d sequence but given weights have shape {tuple(self.weights.shape)}")
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        yield from torch.multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator).tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Group the indices of another sampler into lists.

    Args:
        sampler: a sampler or another iterable of indices.
        batch_size: the number of indices per list.
        drop_last: whether to omit an incomplete last list.

    Raises:
        ValueError: `batch_size` is not a positive int or `drop_last` not a bool.

    Example:
        >>> list(BatchSampler(range(5), batch_size=2, drop_last=False))
        [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Sampler[int] | Iterable[int], batch_size: int, drop_last: bool) -> None:
        _check_positive_int("batch_size", batch_size)
        _check_bool("drop_last", drop_last)
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if self.drop_last and len(batch) < self.batch_size:
                return
            yield batch

    def __len__(self) -> int:
        length = len(self.sampler)  # type: ignore[arg-type]
        return length // self.batch_size if self.drop_last else -(-length // self.batch_size)


class EndlessSampler(Sampler[None]):
    """Yield None forever: the sampler of iterable datasets, whose samples have no indices."""

    def __iter__(self) -> Iterator[None]:
        return itertools.repeat(None)


def generator_device(generator: torch.Generator | None) -> Any:
    """Return the device on which to draw indices: the device of the generator, or the CPU for the default generator."""
    return "cpu" if generator is None else generator.device


def random_seed(generator: torch.Generator | None = None) -> int:
    """Draw a 63-bit seed from `generator`, or from the default generator if None."""
    return int(torch.empty((), dtype=torch.int64, device=generator_device(generator)).random_(generator=generator).item())


def _check_positive_int(name: str, value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise ValueError(f"{name} should be a positive integer value, but got {name}={value}")


def _check_bool(name: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise ValueError(f"{name} should be a boolean value, but got {name}={value}")
