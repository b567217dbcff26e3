"""Dataclasses of the options of collectives, as in PyTorch's process groups."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from typing import Any

from .reduction import ReduceOp

__all__ = [
    "AllToAllOptions",
    "AllreduceCoalescedOptions",
    "AllreduceOptions",
    "BarrierOptions",
    "BroadcastOptions",
    "BuiltinCommHookType",
    "GatherOptions",
    "ReduceOptions",
    "ReduceScatterOptions",
    "ScatterOptions",
]

UNSET = timedelta(milliseconds=-1)


class BuiltinCommHookType(Enum):
    """Names of the built-in communication hooks of `DistributedDataParallel`."""

    ALLREDUCE = 0
    FP16_COMPRESS = 1


@dataclass
class AllToAllOptions:
    """Options of `all_to_all`."""

    timeout: timedelta = UNSET
    asyncOp: bool = True


@dataclass
class AllreduceOptions:
    """Options of `all_reduce`."""

    reduceOp: ReduceOp = field(default_factory=lambda: ReduceOp.SUM)
    timeout: timedelta = UNSET
    asyncOp: bool = True


class AllreduceCoalescedOptions(AllreduceOptions):
    """Options of `all_reduce_coalesced`."""


@dataclass
class BarrierOptions:
    """Options of `barrier`."""

    device_ids: list[int] = field(default_factory=list)
    timeout: timedelta = UNSET
    device: Any = None
    asyncOp: bool = True


@dataclass
class BroadcastOptions:
    """Options of `broadcast`."""

    rootRank: int = 0
    rootTensor: int = 0
    timeout: timedelta = UNSET
    asyncOp: bool = True


@dataclass
class GatherOptions:
    """Options of `gather`."""

    rootRank: int = 0
    timeout: timedelta = UNSET
    asyncOp: bool = True


@dataclass
class ReduceOptions:
    """Options of `reduce`."""

    reduceOp: ReduceOp = field(default_factory=lambda: ReduceOp.SUM)
    rootRank: int = 0
    rootTensor: int = 0
    timeout: timedelta = UNSET
    asyncOp: bool = True


class ReduceScatterOptions(AllreduceOptions):
    """Options of `reduce_scatter`."""


class ScatterOptions(GatherOptions):
    """Options of `scatter`."""
