"""What the workers of custom loaders use: messages between them and the main process, and loops."""

from __future__ import annotations

import multiprocessing
import queue
from dataclasses import dataclass
from typing import Any

from flambeau._utils import ExceptionWrapper  # type: ignore[import-not-found]  # PyTorch's name

import flambeau as torch
from flambeau_nnlib.data.pin_memory import pin_memory
from flambeau_nnlib.data.worker import PARENT_CHECK_INTERVAL, WorkerInfo

__all__: list[str] = []


@dataclass(frozen=True)
class _IterableDatasetStopIteration:
    """The result of a worker whose iterator is exhausted."""

    worker_id: int


@dataclass(frozen=True)
class _ResumeIteration:
    """A task for a worker: start another epoch."""

    seed: int | None = None


class ManagerWatchdog:
    """Watch the process that started this worker."""

    def is_alive(self) -> bool:
        """Whether the parent process is running."""
        parent = multiprocessing.parent_process()
        return parent is None or parent.is_alive()


def _pin_memory_loop(in_queue: Any, out_queue: Any, device_id: Any, done_event: Any, device: Any = None) -> None:
    """Copy the batches of one queue to pinned memory and put them into another queue, until `done_event` is set."""
    torch.set_num_threads(1)
    while not done_event.is_set():
        try:
            index, data = in_queue.get(timeout=PARENT_CHECK_INTERVAL)
        except queue.Empty:
            continue
        if not isinstance(data, ExceptionWrapper):
            try:
                data = pin_memory(data, device)
            except Exception:
                data = ExceptionWrapper(where=f"in pin memory thread for device {device_id}")
        while not done_event.is_set():
            try:
                out_queue.put((index, data), timeout=PARENT_CHECK_INTERVAL)
                break
            except queue.Full:
                continue


def _sharding_worker_init_fn(worker_init_fn: Any, world_size: int, rank_id: int, worker_id: int) -> None:
    """Give the data pipes of this worker their part of the data, then call the user's function with the worker id."""
    info: WorkerInfo | None = torch.utils.data.get_worker_info()
    if info is None:
        raise RuntimeError("_sharding_worker_init_fn must be called in a worker process")
    pipe, workers = info.dataset, info.num_workers
    torch.utils.data.graph_settings.apply_sharding(pipe, world_size * workers, rank_id * workers + worker_id)
    if worker_init_fn is not None:
        worker_init_fn(worker_id)
