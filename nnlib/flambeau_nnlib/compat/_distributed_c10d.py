"""Names of `torch._C._distributed_c10d` that libraries use, mostly in annotations."""

from __future__ import annotations

from flambeau_nnlib.distributed.debugging import set_debug_level, set_debug_level_from_env
from flambeau_nnlib.distributed.group import ProcessGroup, Work
from flambeau_nnlib.distributed.logger import Logger
from flambeau_nnlib.distributed.options import BuiltinCommHookType
from flambeau_nnlib.distributed.reduction import ReduceOp
from flambeau_nnlib.distributed.store import FileStore, HashStore, PrefixStore, Store, TCPStore
from flambeau_nnlib.nn.parallel.reducer import GradBucket, Reducer

from .symmetric_memory import _SymmetricMemory

__all__ = [
    "BuiltinCommHookType", "FileStore", "GradBucket", "HashStore", "Logger", "PrefixStore", "ProcessGroup", "ReduceOp", "Reducer",
    "Store", "TCPStore", "Work", "_SymmetricMemory", "set_debug_level", "set_debug_level_from_env",
]  # fmt: skip
