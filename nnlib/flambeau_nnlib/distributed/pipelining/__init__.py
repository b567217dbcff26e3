"""Pipelines: a model is split into stages, each in a process, which compute microbatches at the same time.

`stages` holds the stages, `tracing` splits a model into them, `orders` and `schedules` decide who computes what when.

Example, on each of two processes started by `torchrun --nproc-per-node 2`:

    stage = PipelineStage(layers[rank], rank, 2, torch.device("cpu"))
    schedule = ScheduleGPipe(stage, n_microbatches=4, loss_fn=torch.nn.functional.cross_entropy)
    if rank == 0:
        schedule.step(images)
    else:
        schedule.step(target=labels, losses=losses)
    optimizer.step()
"""

from __future__ import annotations

from .schedules import (
    Schedule1F1B,
    ScheduleDualPipeV,
    ScheduleGPipe,
    ScheduleInterleaved1F1B,
    ScheduleInterleavedZeroBubble,
    ScheduleLoopedBFS,
    ScheduleZBVZeroBubble,
)
from .stages import PipelineStage
from .tracing import Pipe, SplitPoint, build_stage, pipe_split, pipeline

__all__ = [
    "Pipe",
    "PipelineStage",
    "Schedule1F1B",
    "ScheduleDualPipeV",
    "ScheduleGPipe",
    "ScheduleInterleaved1F1B",
    "ScheduleInterleavedZeroBubble",
    "ScheduleLoopedBFS",
    "ScheduleZBVZeroBubble",
    "SplitPoint",
    "build_stage",
    "pipe_split",
    "pipeline",
]
