"""In which dtypes `fully_shard` computes and exchanges, and where it keeps parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["CPUOffloadPolicy", "DataParallelMeshDims", "MixedPrecisionPolicy", "OffloadPolicy"]


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """The dtypes of what is not kept: parameters and the optimizer's states stay in their own.

    Args:
        param_dtype: of parameters in forward and backward, and of what is gathered.
        reduce_dtype: in which gradients are summed over the processes; `param_dtype` by default.
        output_dtype: to which the module's floating-point outputs are cast.
        cast_forward_inputs: whether floating-point inputs are cast to `param_dtype`.
    """

    param_dtype: Any = None
    reduce_dtype: Any = None
    output_dtype: Any = None
    cast_forward_inputs: bool = True


@dataclass
class OffloadPolicy:
    """Parameters stay on the device."""


@dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """Parameters, gradients and states of optimizers are kept on the CPU, and parameters go to the device where they are used.

    Args:
        pin_memory: accepted for compatibility.
    """

    pin_memory: bool = True


@dataclass(frozen=True)
class DataParallelMeshDims:
    """Which dimensions of a mesh split parameters, and which repeat them.

    Args:
        shard, replicate: names of dimensions.
    """

    shard: Any = None
    replicate: Any = None
