"""`functions`, under PyTorch's name.  For detectron2's and mmcv's copies of `DataParallel`."""

from __future__ import annotations

from .functions import Broadcast, Gather, Scatter
from .functions import ReduceAdd as ReduceAddCoalesced

__all__ = ["Broadcast", "Gather", "ReduceAddCoalesced", "Scatter"]
