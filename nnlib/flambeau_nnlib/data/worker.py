"""The main loop of a loader's worker process."""

from __future__ import annotations

import multiprocessing
import queue
import random
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import flambeau as torch
from flambeau.extension import private_names

from .channel import send
from .fetch import DatasetKind, Fetcher, IterableFetcher

__all__ = ["WorkerInfo", "get_worker_info"]

__getattr__ = private_names(__name__)

PARENT_CHECK_INTERVAL = 5.0  # seconds


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """The id of this worker process, the number of workers, its seed and its copy of the dataset."""

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: None = None
    worker_method: str = "multiprocessing"


_worker_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """Return information about the current worker process of a loader, or None in the main process.

    The result has the attributes `id` (counted from 0), `num_workers`, `seed` and `dataset` (the worker's own copy).

    Example:
        >>> from flambeau.utils.data import DataLoader, IterableDataset
        >>> class Share(IterableDataset):
        ...     def __iter__(self):
        ...         info = get_worker_info()
        ...         return iter(range(4) if info is None else range(info.id, 4, info.num_workers))
        >>> [batch.tolist() for batch in DataLoader(Share(), batch_size=2)]
        [[0, 1], [2, 3]]
    """
    return _worker_info


@dataclass
class Job:
    """The configuration of a worker, sent to it once when it starts."""

    worker_id: int
    num_workers: int
    base_seed: int
    dataset_kind: int
    dataset: Any
    batched: bool
    collate_fn: Callable[[Any], Any]
    drop_last: bool
    init_fn: Callable[[int], None] | None

    def make_fetcher(self) -> Fetcher:
        return DatasetKind.create_fetcher(self.dataset_kind, self.dataset, self.batched, self.collate_fn, self.drop_last)


class Restart:
    """A task for a worker: start a new epoch. The worker sends no result."""


class Exhausted:
    """A result from a worker: its iterator over the dataset is exhausted."""


class Failure:
    """An exception to re-raise in the main process. It is stored as text, because not every exception can be pickled."""

    def __init__(self, error: BaseException, where: str) -> None:
        self.kind = type(error)
        self.message = f"Caught {self.kind.__name__} {where}.\nOriginal {''.join(traceback.format_exception(error))}"

    def reraise(self) -> None:
        """Raise an exception of the original type. Its message contains the original traceback."""
        if self.kind is KeyError:
            raise KeyError(_Verbatim(self.message))
        if getattr(self.kind, "message", None):  # the exception class requires `message` as a keyword argument
            raise self.kind(message=self.message)  # type: ignore[call-arg]
        try:
            error = self.kind(self.message)
        except Exception:  # the exception class cannot be created from a message alone
            raise RuntimeError(self.message) from None
        raise error


class _Verbatim(str):
    """A message for KeyError, whose repr is the plain text. KeyError prints the repr, which in a str escapes line breaks."""

    def __repr__(self) -> str:
        return str(self)


def run_worker(job: Job, tasks: Any, results: Connection, stop: Any) -> None:
    """Load batches for the indices in the queue `tasks` and send them to `results`.

    The loop ends at the task None or when the parent process dies. Once the shared flag `stop` is set, tasks are skipped.
    """
    try:
        # One thread per worker: the workers share the cores, and thread pools do not survive a fork.
        torch.set_num_threads(1)
        _seed(job)
        _work(job, tasks, results, stop)
    except (KeyboardInterrupt, BrokenPipeError, ConnectionResetError):
        pass  # the main process was interrupted or died


def _generate_state(base_seed: int, worker_id: int) -> list[int]:
    """Return the four integers that seed NumPy's generator in a worker."""
    entropy = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    return sys.modules["numpy"].random.SeedSequence(entropy).generate_state(4).tolist()  # type: ignore[no-any-return]  # arrays are untyped


def _seed(job: Job) -> None:
    global _worker_info
    seed = job.base_seed + job.worker_id
    random.seed(seed)
    torch.manual_seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(_generate_state(job.base_seed, job.worker_id))
    _worker_info = WorkerInfo(job.worker_id, job.num_workers, seed, job.dataset)


def _work(job: Job, tasks: Any, results: Connection, stop: Any) -> None:
    where = f"in DataLoader worker process {job.worker_id}"
    fetcher: Fetcher | None = None
    failure: Failure | None = None
    exhausted = False
    try:
        if job.init_fn is not None:
            job.init_fn(job.worker_id)
        fetcher = job.make_fetcher()
    except Exception as error:
        failure = Failure(error, where)

    while (task := _next_task(tasks)) is not None:
        if isinstance(task, Restart):
            fetcher, exhausted = job.make_fetcher(), False
            continue
        if exhausted or stop.value:
            continue
        result: Any
        if failure is not None:
            result, failure = failure, None
        else:
            result = _fetch(fetcher, task[0], where)
            exhausted = isinstance(result, Exhausted)
        _send(results, result, where)


def _next_task(tasks: Any) -> Any:
    parent = multiprocessing.parent_process()
    while parent is None or parent.is_alive():
        try:
            return tasks.get(timeout=PARENT_CHECK_INTERVAL)
        except queue.Empty:
            continue
    return None


def _fetch(fetcher: Fetcher | None, index: Any, where: str) -> Any:
    try:
        return fetcher(index)  # type: ignore[misc]
    except StopIteration as error:
        return Exhausted() if isinstance(fetcher, IterableFetcher) else Failure(error, where)
    except Exception as error:
        return Failure(error, where)


def _send(results: Connection, result: Any, where: str) -> None:
    try:
        send(results, result)
    except (BrokenPipeError, ConnectionResetError):
        raise
    except Exception as error:  # `result` cannot be pickled
        failure = Failure(error, where)
        if isinstance(result, Failure):
            failure.kind, failure.message = RuntimeError, result.message
        send(results, failure)
