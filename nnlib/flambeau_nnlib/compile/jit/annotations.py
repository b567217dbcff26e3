"""Types for annotations of scripted code, which libraries import from here."""

from __future__ import annotations

from typing import Any, Dict, Final, List, Optional, Tuple, Union  # noqa: UP035

__all__ = [
    "Any",
    "BroadcastingList1",
    "BroadcastingList2",
    "BroadcastingList3",
    "Dict",
    "Final",
    "List",
    "Optional",
    "Tuple",
    "Union",
]


class _BroadcastingList:
    """For annotations such as `BroadcastingList2[int]`: a list of two integers, or an integer for both."""

    def __getitem__(self, types: Any) -> None:
        return None


BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = _BroadcastingList()
