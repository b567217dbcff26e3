"""Fetching the samples of one batch from a dataset."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from .dataset import fetch_items

__all__ = ["Fetcher", "IterableFetcher", "MapFetcher"]


class _BaseDatasetFetcher:
    """Base class of fetchers."""


class MapFetcher(_BaseDatasetFetcher):
    """Fetch samples of a map-style dataset. It is called with a list of indices if `batched`, else with one index."""

    def __init__(self, dataset: Any, batched: bool, collate_fn: Callable[[Any], Any]) -> None:
        self.dataset = dataset
        self.batched = batched
        self.collate_fn = collate_fn

    def __call__(self, index: Any) -> Any:
        return self.collate_fn(fetch_items(self.dataset, index) if self.batched else self.dataset[index])

    fetch = __call__


class IterableFetcher(_BaseDatasetFetcher):
    """Fetch the next samples of an iterable dataset.

    If `batched`, it is called with a list whose length is the batch size; otherwise its argument is ignored. It raises
    StopIteration at the end of the dataset.
    """

    def __init__(self, dataset: Any, batched: bool, collate_fn: Callable[[Any], Any], drop_last: bool) -> None:
        self.dataset = dataset
        self.dataset_iter = iter(dataset)
        self.batched = batched
        self.collate_fn = collate_fn
        self.drop_last = drop_last
        self.ended = False

    def __call__(self, index: Any) -> Any:
        if self.ended:
            raise StopIteration
        if not self.batched:
            return self.collate_fn(next(self.dataset_iter))
        batch = list(itertools.islice(self.dataset_iter, len(index)))
        self.ended = len(batch) < len(index)
        if not batch or (self.ended and self.drop_last):
            raise StopIteration
        return self.collate_fn(batch)

    fetch = __call__


Fetcher = MapFetcher | IterableFetcher


class DatasetKind:
    """Constants for map-style and iterable datasets."""

    Map, Iterable = 0, 1

    @staticmethod
    def create_fetcher(
        kind: int, dataset: Any, auto_collation: bool, collate_fn: Callable[[Any], Any], drop_last: bool
    ) -> Fetcher:
        """Return an object with a method `fetch(indices)` that returns a batch."""
        if kind == DatasetKind.Map:
            return MapFetcher(dataset, auto_collation, collate_fn)
        return IterableFetcher(dataset, auto_collation, collate_fn, drop_last)
