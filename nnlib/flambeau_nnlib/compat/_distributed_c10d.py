"""Names of `torch._C._distributed_c10d` that libraries use, mostly in annotations."""

from __future__ import annotations

from flambeau_nnlib.distributed.group import ProcessGroup, Work
from flambeau_nnlib.distributed.reduction import ReduceOp
from flambeau_nnlib.distributed.store import Store

from .symmetric_memory import _SymmetricMemory
from .unsupported import unsupported_class

__all__ = ["ProcessGroup", "ReduceOp", "Reducer", "Store", "Work", "_SymmetricMemory"]

Reducer = unsupported_class("Reducer", "DistributedDataParallel averages gradients itself", __name__)
