"""`torch.numa.binding`: options that bind the processes of a job to processors near their devices."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["AffinityMode", "NumaOptions"]


class AffinityMode(StrEnum):
    """The processors to which a process is bound."""

    NODE = "node"
    SOCKET = "socket"
    EXCLUSIVE = "exclusive"
    CORE_COMPLEX = "core-complex"


@dataclass(frozen=True)
class NumaOptions:
    """The affinity mode, and whether processes also start if binding fails.  The options have no effect without GPUs."""

    affinity_mode: AffinityMode
    should_fall_back_if_binding_fails: bool = False
