"""Options of `FullyShardedDataParallel`."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from ...nn import BatchNorm1d

__all__ = [
    "BackwardPrefetch", "CPUOffload", "FullOptimStateDictConfig", "FullStateDictConfig", "LocalOptimStateDictConfig",
    "LocalStateDictConfig", "MixedPrecision", "OptimStateDictConfig", "ShardedOptimStateDictConfig", "ShardedStateDictConfig",
    "ShardingStrategy", "StateDictConfig", "StateDictSettings", "StateDictType",
]  # fmt: skip

BATCH_NORM = BatchNorm1d.__mro__[1]  # the common base of `BatchNorm1d` to `BatchNorm3d` and `SyncBatchNorm`


class ShardingStrategy(Enum):
    """What is sharded: parameters, gradients and optimizer states with FULL_SHARD; only some of these otherwise."""

    FULL_SHARD = auto()
    SHARD_GRAD_OP = auto()
    NO_SHARD = auto()
    HYBRID_SHARD = auto()
    _HYBRID_SHARD_ZERO2 = auto()


class BackwardPrefetch(Enum):
    """When backward gathers the next module's parameters. No effect: it always starts before the current module's gradients."""

    BACKWARD_PRE = auto()
    BACKWARD_POST = auto()


class StateDictType(Enum):
    """Content of `state_dict`: full tensors, local shards as tensors, or shards as `DTensor`s."""

    FULL_STATE_DICT = auto()
    LOCAL_STATE_DICT = auto()
    SHARDED_STATE_DICT = auto()


@dataclass
class MixedPrecision:
    """Dtypes of computation and communication; see `MixedPrecisionPolicy`."""

    param_dtype: Any = None
    reduce_dtype: Any = None
    buffer_dtype: Any = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True
    _module_classes_to_ignore: Any = (BATCH_NORM,)


@dataclass
class CPUOffload:
    """Whether parameters are stored on the CPU."""

    offload_params: bool = False


@dataclass
class StateDictConfig:
    """Whether to move the tensors of state dicts to the CPU."""

    offload_to_cpu: bool = False


@dataclass
class FullStateDictConfig(StateDictConfig):
    """Options of FULL_STATE_DICT: with `rank0_only`, only rank 0 gets a state dict."""

    rank0_only: bool = False


@dataclass
class LocalStateDictConfig(StateDictConfig):
    """Options of LOCAL_STATE_DICT."""


@dataclass
class ShardedStateDictConfig(StateDictConfig):
    """Options of SHARDED_STATE_DICT."""

    _use_dtensor: bool = False


@dataclass
class OptimStateDictConfig:
    """Whether to move the tensors of optimizer states to the CPU."""

    offload_to_cpu: bool = True


@dataclass
class FullOptimStateDictConfig(OptimStateDictConfig):
    """Options of optimizer states for FULL_STATE_DICT: with `rank0_only`, only rank 0 gets a state."""

    rank0_only: bool = False


@dataclass
class LocalOptimStateDictConfig(OptimStateDictConfig):
    """Options of optimizer states for LOCAL_STATE_DICT."""

    offload_to_cpu: bool = False


@dataclass
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    """Options of optimizer states for SHARDED_STATE_DICT."""

    _use_dtensor: bool = False


@dataclass
class StateDictSettings:
    """How the state dicts of a model and its optimizer are stored: their type and options."""

    state_dict_type: StateDictType = StateDictType.FULL_STATE_DICT
    state_dict_config: StateDictConfig = field(default_factory=FullStateDictConfig)
    optim_state_dict_config: OptimStateDictConfig = field(default_factory=FullOptimStateDictConfig)
