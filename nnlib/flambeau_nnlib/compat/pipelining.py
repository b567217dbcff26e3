"""`torch.distributed.pipelining`: stages and schedules of pipelines over processes, which are not supported."""

from __future__ import annotations

from enum import Enum

from .unsupported import unsupported_class, unsupported_function

__all__ = ["PipelineStage", "Schedule1F1B", "ScheduleGPipe", "SplitPoint", "pipe_split", "pipeline"]

_REASON = "flambeau does not split models into stages; see fully_shard and parallelize_module"
PipelineStage = unsupported_class("PipelineStage", _REASON, __name__)
ScheduleGPipe = unsupported_class("ScheduleGPipe", _REASON, __name__)
Schedule1F1B = unsupported_class("Schedule1F1B", _REASON, __name__)
pipeline = unsupported_function("pipeline", _REASON)


class SplitPoint(Enum):
    """Where a model is split, relative to a submodule."""

    BEGINNING = 1
    END = 2


def pipe_split() -> None:
    """Do nothing: mark the end of a stage in a model's `forward`."""
