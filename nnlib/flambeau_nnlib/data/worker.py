"""The main loop of a loader's worker, which is a process or a thread."""

from __future__ import annotations

import multiprocessing
import queue
import random
import sys
import traceback
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

import flambeau as torch
from flambeau.extension import private_names, use_default_generator
from flambeau.extension.taking_turns import computing, waiting

from .channel import send
from .fetch import DatasetKind, Fetcher, IterableFetcher

__all__ = ["WorkerInfo", "get_worker_info"]

__getattr__ = private_names(__name__)

PARENT_CHECK_INTERVAL = 5.0  # seconds


@dataclass(frozen=True, slots=True)
class WorkerGenerators:
    """Random generators of a worker thread, seeded with its seed. `random` and `numpy.random` are shared by all threads."""

    random_generator: random.Random
    torch_generator: torch.Generator
    numpy_generator: Any = None  # a `numpy.random.Generator`; None if NumPy is not imported


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """The id of this worker, the number of workers, its seed and its dataset.

    A process has its own copy of the dataset and no `rng`; threads share the loader's dataset. `worker_method` is
    `"multiprocessing"` or `"thread"`.
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: WorkerGenerators | None = None
    worker_method: str = "multiprocessing"


_worker_info: WorkerInfo | None = None  # in a worker process
_thread_info: ContextVar[WorkerInfo | None] = ContextVar("worker_info", default=None)  # in a worker thread


def get_worker_info() -> WorkerInfo | None:
    """Return information about the current worker of a loader, or None outside of workers.

    The result has the attributes `id` (counted from 0), `num_workers`, `seed` and `dataset`: a process's own copy of the
    dataset, or the loader's dataset itself in a thread. In a thread, `rng` has the generators `random_generator`,
    `torch_generator` and `numpy_generator`, seeded with `seed`; in a process it is None.

    Example:
        >>> from flambeau.utils.data import DataLoader, IterableDataset
        >>> class Share(IterableDataset):
        ...     def __iter__(self):
        ...         info = get_worker_info()
        ...         return iter(range(4) if info is None else range(info.id, 4, info.num_workers))
        >>> [batch.tolist() for batch in DataLoader(Share(), batch_size=2)]
        [[0, 1], [2, 3]]
    """
    return _thread_info.get() or _worker_info


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

    @property
    def seed(self) -> int:
        """The seed of the worker's generators."""
        return self.base_seed + self.worker_id

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
    """Load batches for the indices in the queue `tasks` and send them to `results`. This is the main function of a process.

    The loop ends at the task None or when the parent process dies. Once the shared flag `stop` is set, tasks are skipped.
    """
    where = f"in DataLoader worker process {job.worker_id}"
    try:
        # One thread per worker: the workers share the cores, and thread pools do not survive a fork.
        torch.set_num_threads(1)
        _seed(job)
        _work(job, where, partial(_next_task, tasks), partial(_send, results, where), stop)
    except (KeyboardInterrupt, BrokenPipeError, ConnectionResetError):
        pass  # the main process was interrupted or died


def run_worker_thread(job: Job, next_task: Callable[[], Any], send_result: Callable[[Any], None], stop: Any) -> None:
    """Load batches for the indices that `next_task` returns and pass them to `send_result`, until the task is None.

    This is the main function of a thread. It draws from its own generators. Once `stop.value` is set, tasks are skipped. It
    pauses while another thread captures a call of a compiled function.
    """

    def wait_for_task() -> Any:
        with waiting():
            return next_task()

    generators = _generators(job)
    _thread_info.set(WorkerInfo(job.worker_id, job.num_workers, job.seed, job.dataset, generators, "thread"))
    with computing(), use_default_generator(generators.torch_generator):
        _work(job, f"in DataLoader worker thread {job.worker_id}", wait_for_task, send_result, stop)


def _generate_state(base_seed: int, worker_id: int) -> list[int]:
    """Return the four integers that seed NumPy's generator in a worker."""
    entropy = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    return sys.modules["numpy"].random.SeedSequence(entropy).generate_state(4).tolist()  # type: ignore[no-any-return]  # arrays are untyped


def _seed(job: Job) -> None:
    global _worker_info
    random.seed(job.seed)
    torch.manual_seed(job.seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(_generate_state(job.base_seed, job.worker_id))
    _worker_info = WorkerInfo(job.worker_id, job.num_workers, job.seed, job.dataset)


def _generators(job: Job) -> WorkerGenerators:
    numpy = sys.modules.get("numpy")
    state = None if numpy is None else numpy.random.default_rng(_generate_state(job.base_seed, job.worker_id))
    return WorkerGenerators(random.Random(job.seed), torch.Generator().manual_seed(job.seed), state)


def _work(job: Job, where: str, next_task: Callable[[], Any], send_result: Callable[[Any], None], stop: Any) -> None:
    fetcher: Fetcher | None = None
    failure: Failure | None = None
    exhausted = False
    try:
        if job.init_fn is not None:
            job.init_fn(job.worker_id)
        fetcher = job.make_fetcher()
    except Exception as error:
        failure = Failure(error, where)

    while (task := next_task()) is not None:
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
        send_result(result)
        del result  # otherwise the batch would stay in memory until the next task


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


def _send(results: Connection, where: str, result: Any) -> None:
    try:
        send(results, result)
    except (BrokenPipeError, ConnectionResetError):
        raise
    except Exception as error:  # `result` cannot be pickled
        failure = Failure(error, where)
        if isinstance(result, Failure):
            failure.kind, failure.message = RuntimeError, result.message
        send(results, failure)
