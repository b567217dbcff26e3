"""Types for annotations of scripted code, which libraries import from here."""

from __future__ import annotations

from typing import Any, Dict, Final, List, NamedTuple, Optional, Tuple, Union  # noqa: UP035

__all__ = [
    "Any",
    "BroadcastingList1",
    "BroadcastingList2",
    "BroadcastingList3",
    "BroadcastingList4",
    "BroadcastingList5",
    "BroadcastingList6",
    "Dict",
    "Final",
    "List",
    "Optional",
    "Tuple",
    "Union",
]


class BroadcastingList(NamedTuple):
    """The annotation `BroadcastingList2[int]`: a list of two integers, or an integer for both.

    Attributes:
        element: the type of the elements.
        length: the length of the list.
    """

    element: Any
    length: int


class _BroadcastingLists:
    """The annotations for lists of one length."""

    def __init__(self, length: int) -> None:
        self.length = length

    def __getitem__(self, types: Any) -> BroadcastingList:
        return BroadcastingList(types, self.length)


BROADCASTING_LISTS = {f"BroadcastingList{length}": _BroadcastingLists(length) for length in range(1, 7)}
(BroadcastingList1, BroadcastingList2, BroadcastingList3, BroadcastingList4, BroadcastingList5, BroadcastingList6) = (
    BROADCASTING_LISTS.values()
)
