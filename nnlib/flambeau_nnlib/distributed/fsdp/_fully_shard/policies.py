"""Policies of `fully_shard`: dtypes, CPU offloading, and mesh dimensions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["CPUOffloadPolicy", "DataParallelMeshDims", "MixedPrecisionPolicy", "OffloadPolicy"]


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """Dtypes of computation and communication. Parameters and optimizer states are stored in their original dtype.

    Args:
        param_dtype: dtype of parameters in forward and backward passes, and in all-gathers.
        reduce_dtype: dtype in which gradients are summed over the processes; default: `param_dtype`.
        output_dtype: dtype to which floating-point outputs are cast.
        cast_forward_inputs: whether floating-point inputs are cast to `param_dtype`.
    """

    param_dtype: Any = None
    reduce_dtype: Any = None
    output_dtype: Any = None
    cast_forward_inputs: bool = True


@dataclass
class OffloadPolicy:
    """No offloading: parameters stay on the device."""


@dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """Store parameters, gradients and optimizer states on the CPU; copy parameters to the device when they are used.

    Args:
        pin_memory: accepted for compatibility.
    """

    pin_memory: bool = True


@dataclass(frozen=True)
class DataParallelMeshDims:
    """Names of the mesh dimensions over which parameters are sharded and replicated.

    Args:
        shard, replicate: names of dimensions.
    """

    shard: Any = None
    replicate: Any = None
