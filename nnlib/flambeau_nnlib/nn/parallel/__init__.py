"""One network on several devices: each takes a part of the batch.

>>> import flambeau as torch
>>> net = torch.nn.DataParallel(torch.nn.Linear(3, 2))
>>> net(torch.ones(4, 3)).shape
torch.Size([4, 2])
"""

from __future__ import annotations

from .data_parallel import DataParallel, data_parallel
from .distributed import DistributedDataParallel
from .parallel_apply import parallel_apply
from .replicate import replicate
from .scatter_gather import gather, scatter

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel", "gather", "parallel_apply", "replicate", "scatter"]
