"""Process groups, which run the collectives of some processes of a job in order."""

from __future__ import annotations

import atexit
import queue
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from datetime import timedelta
from typing import Any

import flambeau as torch
from flambeau import Tensor

from .debugging import DebugLevel, get_debug_level
from .engine import Communicator, Job
from .errors import DistBackendError
from .store import Store

__all__ = ["ProcessGroup", "ProcessGroupGloo", "Work"]

IDLE = 10.0  # seconds after which an idle thread ends
DESCRIPTION = 512  # length in bytes of a collective's description, as sent to other ranks


class Work:
    """An asynchronous operation of a group. Call `wait` before using its tensors."""

    def __init__(self, future: Future[Any], source: Callable[[], int] = lambda: -1) -> None:
        self._future, self._source = future, source

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait until the operation is done; raise its exception if it failed."""
        self._future.result(None if timeout is None else timeout.total_seconds())
        return True

    synchronize = wait

    def is_completed(self) -> bool:
        """Whether the operation is done."""
        return self._future.done()

    def is_success(self) -> bool:
        """Whether the operation is done and did not fail."""
        return self._future.done() and self._future.exception() is None

    def exception(self) -> BaseException | None:
        """Return the exception of the operation; None if it is running or succeeded."""
        return self._future.exception() if self._future.done() else None

    def result(self) -> Any:
        """Wait for the operation and return its tensors."""
        return self._future.result()

    def get_future(self) -> torch.futures.Future[Any]:
        """Return the operation as a `torch.futures.Future`."""
        future: torch.futures.Future[Any] = torch.futures.Future()

        def finish(done: Any) -> None:
            error = done.exception()
            if error is None:
                future.set_result(done.result())
            else:
                future.set_exception(error)

        self._future.add_done_callback(finish)
        return future

    def source_rank(self) -> int:
        """Return the rank that sent the received tensor."""
        return self._source()


class SerialExecutor:
    """Run submitted calls in order on a daemon thread that exits when idle.

    A daemon thread does not keep the program from ending, unlike the threads of executors. This matters because a call
    may wait for a message that never comes.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._calls: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = queue.SimpleQueue()

    def submit(self, call: Callable[[], Any]) -> Future[Any]:
        """Run `call` after all earlier calls; return a future of its result."""
        future: Future[Any] = Future()
        with self._lock:
            self._calls.put((future, call))
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
                self._thread.start()
        return future

    def _work(self) -> None:
        while True:
            try:
                future, call = self._calls.get(timeout=IDLE)
            except queue.Empty:
                with self._lock:
                    if self._calls.empty():
                        self._thread = None
                        return
                continue
            try:
                future.set_result(call())
            except BaseException as error:
                future.set_exception(error)
            del future, call  # otherwise they would keep tensors alive until the next call

    def finish(self) -> None:
        """Wait for all submitted calls."""
        if self._thread is not None:
            self.submit(lambda: None).result()


class ProcessGroup:
    """A group of processes of a job. Ranks in the group count from 0; `ranks` lists the global ranks.

    Collectives run one after the other in call order. Synchronous ones run in the caller's thread, asynchronous ones in
    a thread of the group.
    """

    def __init__(
        self, job: Job, store: Store | None, ranks: Sequence[int], name: str, timeout: timedelta, backend: str, device_type: str
    ) -> None:
        self.ranks, self.group_name, self.group_desc = list(ranks), name, name
        self.timeout, self.store, self.device_type = timeout, store, device_type
        self._job, self._backend, self._rank = job, backend, self.ranks.index(job.rank)
        self._communicator: Communicator = job.communicator(self.ranks, name, timeout)
        self._executor = SerialExecutor(f"flambeau group {name}")
        self._receivers: defaultdict[tuple[int | None, int], SerialExecutor] = defaultdict(
            lambda: SerialExecutor(f"flambeau receive {name}")
        )
        self._turn, self._receiving, self._last = threading.RLock(), threading.Lock(), _done(None)
        atexit.register(self._finish_at_exit)

    def rank(self) -> int:
        """Return this process's rank in the group."""
        return self._rank

    def size(self) -> int:
        """Return the number of processes."""
        return len(self.ranks)

    def name(self) -> str:
        """Return the name of the backend."""
        return self._backend

    def close(self) -> None:
        """Finish all started operations and release the communicator."""
        atexit.unregister(self._finish_at_exit)
        self._executor.finish()
        self._communicator.close()

    def _finish_at_exit(self) -> None:
        """Finish all started operations at the end of a program, unless an exception ended it."""
        if not hasattr(sys, "last_value"):
            self._executor.finish()

    def run(self, collective: Callable[[Communicator], Any], async_op: bool, description: str = "") -> Work:
        """Run `collective` after all earlier ones. Return when it is done, or immediately if `async_op`."""

        def run() -> Any:
            with torch.no_grad():
                if get_debug_level() == DebugLevel.DETAIL and description:
                    self._compare(description)
                return collective(self._communicator)

        with self._turn:
            if async_op or not self._last.done():
                self._last = self._executor.submit(run)
                work = Work(self._last)
            else:
                return Work(_done(run()))
        if not async_op:
            work.wait()
        return work

    def _compare(self, description: str) -> None:
        """Raise DistBackendError, listing the calls of all ranks, if another rank calls a different collective."""
        text = description.encode()[:DESCRIPTION].ljust(DESCRIPTION)
        found = [torch.empty(DESCRIPTION, dtype=torch.uint8) for _ in self.ranks]
        self._communicator.all_gather(found, torch.frombuffer(bytearray(text), dtype=torch.uint8))
        calls = [line.numpy().tobytes().decode(errors="replace").strip() for line in found]
        if len(set(calls)) > 1:
            listed = "; ".join(f"rank {rank} calls {call}" for rank, call in zip(self.ranks, calls, strict=True))
            raise DistBackendError(
                f"Detected mismatch between collectives on ranks: rank {self.ranks[self._rank]} calls {description}, but {listed}"
            )

    # --- point to point ---

    def send(self, tensor: Tensor, rank: int, tag: int = 0) -> Work:
        """Send a tensor to a rank of the group."""
        self._communicator.send(self.flat(tensor), rank, tag)
        return Work(_done(tensor))

    def recv(self, tensor: Tensor, rank: int | None = None, tag: int = 0) -> Work:
        """Receive a tensor from a rank of the group, or from any rank if None."""
        senders: list[int] = []

        def receive() -> Tensor:
            with torch.no_grad(), self.written(tensor) as flat:
                senders.append(self._communicator.receive(flat, rank, tag))
            return tensor

        with self._receiving:  # so that receives are submitted in the order of the calls
            return Work(self._receivers[rank, tag].submit(receive), lambda: senders[0])

    # --- flat tensors for communicators ---

    def flat(self, tensor: Tensor) -> Tensor:
        """Return the elements as a one-dimensional tensor on the engine's device type; a view if possible."""
        if tensor.device.type != self.device_type:
            tensor = tensor.to(self.device_type)
        return tensor.detach().contiguous().reshape(-1)

    def written(self, *tensors: Tensor) -> Written:
        """Return a context manager that yields the flat tensors that `flat` returns for `tensors` (one tensor or a list).

        On exit without an error, it copies each flat tensor back, unless it shares the memory of the original.
        """
        return Written(self, tensors)


class Written:
    """The context that `ProcessGroup.written` returns; see there."""

    def __init__(self, group: ProcessGroup, tensors: Sequence[Tensor]) -> None:
        self._tensors, self._flats = tensors, [group.flat(tensor) for tensor in tensors]

    def __enter__(self) -> Any:
        return self._flats if len(self._flats) != 1 else self._flats[0]

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if error is None:
            for tensor, flat in zip(self._tensors, self._flats, strict=True):
                if tensor.numel() and tensor.data_ptr() != flat.data_ptr():
                    tensor.detach().copy_(flat.reshape(tensor.shape))


ProcessGroupGloo = ProcessGroup


def _done(result: Any) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_result(result)
    return future
