"""Process groups: collectives of some of the processes of a job, one after the other."""

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

IDLE = 10.0  # seconds after which a thread without calls ends
DESCRIPTION = 512  # bytes in which a collective is described to other ranks


class Work:
    """An asynchronous operation of a group: wait for it before using its tensors."""

    def __init__(self, future: Future[Any], source: Callable[[], int] = lambda: -1) -> None:
        self._future, self._source = future, source

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait until it is done; raises its exception if it failed."""
        self._future.result(None if timeout is None else timeout.total_seconds())
        return True

    synchronize = wait

    def is_completed(self) -> bool:
        """Whether it is done."""
        return self._future.done()

    def is_success(self) -> bool:
        """Whether it is done and has not failed."""
        return self._future.done() and self._future.exception() is None

    def exception(self) -> BaseException | None:
        """The exception with which it failed, if it did."""
        return self._future.exception() if self._future.done() else None

    def result(self) -> Any:
        """The tensors of the operation."""
        return self._future.result()

    def get_future(self) -> torch.futures.Future[Any]:
        """The operation as a future."""
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
        """Which rank a tensor was received from."""
        return self._source()


class Lane:
    """Runs calls one after the other in a thread of its own, while there are some.

    The thread does not keep a program from ending as those of executors do: what it waits for may never come.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._calls: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = queue.SimpleQueue()

    def submit(self, call: Callable[[], Any]) -> Future[Any]:
        """Run `call` after those before; returns its result to come."""
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
            del future, call  # which hold tensors

    def finish(self) -> None:
        """Wait for the calls that there are."""
        if self._thread is not None:
            self.submit(lambda: None).result()


class ProcessGroup:
    """Some of the processes of a job.  Ranks inside a group count from 0; `ranks` gives the global ones.

    Collectives run one after the other, in the order they were called in: those that are waited for at once in the caller's
    thread, the others in a thread of the group.
    """

    def __init__(
        self, job: Job, store: Store | None, ranks: Sequence[int], name: str, timeout: timedelta, backend: str, device_type: str
    ) -> None:
        self.ranks, self.group_name, self.group_desc = list(ranks), name, name
        self.timeout, self.store, self.device_type = timeout, store, device_type
        self._job, self._backend, self._rank = job, backend, self.ranks.index(job.rank)
        self._communicator: Communicator = job.communicator(self.ranks, name, timeout)
        self._lane = Lane(f"flambeau group {name}")
        self._receivers: defaultdict[tuple[int | None, int], Lane] = defaultdict(lambda: Lane(f"flambeau receive {name}"))
        self._turn, self._receiving, self._last = threading.RLock(), threading.Lock(), _done(None)
        atexit.register(self._finish_at_exit)

    def rank(self) -> int:
        """This process's rank in the group."""
        return self._rank

    def size(self) -> int:
        """How many processes there are."""
        return len(self.ranks)

    def name(self) -> str:
        """The backend's name."""
        return self._backend

    def close(self) -> None:
        """Finish the operations that have been started."""
        atexit.unregister(self._finish_at_exit)
        self._lane.finish()
        self._communicator.close()

    def _finish_at_exit(self) -> None:
        """Do this process's part in what has been started, at the end of a program that no exception has ended."""
        if not hasattr(sys, "last_value"):
            self._lane.finish()

    def run(self, collective: Callable[[Communicator], Any], async_op: bool, description: str = "") -> Work:
        """Run `collective` after all earlier ones; returns once it is done unless `async_op`."""

        def run() -> Any:
            with torch.no_grad():
                if get_debug_level() == DebugLevel.DETAIL and description:
                    self._compare(description)
                return collective(self._communicator)

        with self._turn:
            if async_op or not self._last.done():
                self._last = self._lane.submit(run)
                work = Work(self._last)
            else:
                return Work(_done(run()))
        if not async_op:
            work.wait()
        return work

    def _compare(self, description: str) -> None:
        """Raise if another rank calls something else.  DistBackendError with what each of them calls."""
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
        """Receive a tensor from a rank of the group, or from any."""
        senders: list[int] = []

        def receive() -> Tensor:
            with torch.no_grad(), self.written(tensor) as flat:
                senders.append(self._communicator.receive(flat, rank, tag))
            return tensor

        with self._receiving:  # in order
            return Work(self._receivers[rank, tag].submit(receive), lambda: senders[0])

    # --- tensors as communicators take them ---

    def flat(self, tensor: Tensor) -> Tensor:
        """The elements of a tensor in one row where the engine can reach them: its own memory, if it is contiguous and there."""
        if tensor.device.type != self.device_type:
            tensor = tensor.to(self.device_type)
        return tensor.detach().contiguous().reshape(-1)

    def written(self, *tensors: Tensor) -> Written:
        """A context for the `flat` tensor, or a list of them, which are written back where they are copies."""
        return Written(self, tensors)


class Written:
    """See `ProcessGroup.written`."""

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
