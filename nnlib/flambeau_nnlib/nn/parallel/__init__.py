"""Data parallelism: replicas of a network on several devices or processes, each with a part of the batch.

>>> net = torch.nn.DataParallel(torch.nn.Linear(3, 2))
>>> net(torch.ones(4, 3)).shape
torch.Size([4, 2])
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .data_parallel import DataParallel, data_parallel
from .parallel_apply import parallel_apply
from .replicate import replicate
from .scatter_gather import gather, scatter

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel", "gather", "parallel_apply", "replicate", "scatter"]

if TYPE_CHECKING:
    from .distributed import DistributedDataParallel


def __getattr__(name: str) -> Any:
    if name == "DistributedDataParallel":  # lazy: it imports `torch.distributed`, which few programs use
        from .distributed import DistributedDataParallel

        return DistributedDataParallel
    if name == "distributed":
        return import_module(".distributed", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
