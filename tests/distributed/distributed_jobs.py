"""Helpers that run jobs of several processes."""

from __future__ import annotations

import multiprocessing
import os
import traceback
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import test_distributed

import flambeau as torch
import flambeau.distributed as dist


def _work(rank: int, size: int, url: str, programs: tuple[Callable[..., Any], ...], arguments: tuple[Any, ...]) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=url, rank=rank, world_size=size, timeout=timedelta(seconds=30))
    try:
        for program in programs:
            program(rank, size, *arguments)
            dist.barrier()
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    dist.destroy_process_group()


def assert_job_ends(size: int, *programs: Callable[..., Any], arguments: tuple[Any, ...] = (), expected: int = 0) -> None:
    """Run the programs in order in each process of a job, as `program(rank, size, *arguments)`, and assert the exit codes."""
    context = multiprocessing.get_context("fork")
    url = f"tcp://127.0.0.1:{test_distributed.free_port()}"
    processes = [context.Process(target=_work, args=(rank, size, url, programs, arguments)) for rank in range(size)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(300)
        process.kill()
    assert [process.exitcode for process in processes] == [expected] * size


def whole(tensor: torch.Tensor) -> torch.Tensor:
    """Return the full tensor of a DTensor, and any other tensor unchanged."""
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor


def assert_same_weights(found: torch.nn.Module, expected: torch.nn.Module, tolerance: float = 1e-6) -> None:
    for (name, one), (_, other) in zip(found.named_parameters(), expected.named_parameters(), strict=True):
        torch.testing.assert_close(
            whole(one.detach()), other.detach(), atol=tolerance, rtol=0, msg=lambda text, name=name: f"{name}: {text}"
        )
