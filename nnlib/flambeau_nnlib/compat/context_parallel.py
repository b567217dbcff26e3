"""Settings of context parallelism, `torch.distributed.tensor.experimental.context_parallel`, which is not supported."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from .unsupported import unsupported_function

__all__ = ["context_parallel", "set_rotate_method"]


class _RotateMethod(Enum):
    ALL_TO_ALL = 1
    ALL_GATHER = 2


@dataclass
class _ContextParallelOptions:
    """How keys and values travel between the processes."""

    convert_to_f32: bool = True
    enable_load_balance: bool = True
    rotate_method: _RotateMethod = _RotateMethod.ALL_GATHER


_cp_options = _ContextParallelOptions()


def set_rotate_method(rotate_method: str) -> None:
    """Set how keys and values travel: "allgather" or "alltoall".  NotImplementedError for other names."""
    methods = {"allgather": _RotateMethod.ALL_GATHER, "alltoall": _RotateMethod.ALL_TO_ALL}
    if rotate_method not in methods:
        raise NotImplementedError(f"Context Parallel does not support using {rotate_method} for kv shards rotation")
    _cp_options.rotate_method = methods[rotate_method]


context_parallel = unsupported_function("context_parallel", "attention runs on the whole sequence in each process")
