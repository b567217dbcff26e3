"""The default engine: shared memory between processes of one host, ZeroMQ messages between hosts."""

from __future__ import annotations

import atexit
import sys
import time
from collections.abc import Sequence
from datetime import timedelta

from .agent_store import TorchrunStore
from .engine import Communicator
from .messages import MessageCollectives, PointToPoint
from .shared import SharedMemory
from .store import PrefixStore, Store, TCPStore
from .transport import Mailbox
from .watch import Watch, WatchedStore

__all__ = ["ENGINE", "Gloo"]


class Gloo:
    """The engine `gloo`: shared memory on one host, ZeroMQ messages between hosts."""

    device_type, needs_store = "cpu", True

    def available(self) -> bool:
        """Return True: the engine works on one host without other packages."""
        return True

    def join(self, store: Store | None, rank: int, world_size: int, timeout: timedelta) -> GlooJob:
        """Connect to the other processes of a job."""
        assert store is not None
        return GlooJob(store, rank, world_size, timeout)


class GlooJob:
    """The connection of this process to the other processes of a job."""

    def __init__(self, store: Store, rank: int, world_size: int, timeout: timedelta) -> None:
        self.rank, self.world_size, self._store = rank, world_size, store
        towards = _master_of(store)
        self._watch = Watch(store, rank, world_size, towards, timeout)
        watched = WatchedStore(self._watch, store)
        self._mailbox = Mailbox(watched, self._watch, towards)
        _wait_for_all(watched, rank, world_size)
        atexit.register(self._leave_at_exit)

    def communicator(self, ranks: Sequence[int], name: str, timeout: timedelta) -> Communicator:
        """Create a communicator of these ranks."""
        rank = ranks.index(self.rank)
        if not self._watch.one_host(ranks):
            return MessageCollectives(self._mailbox, ranks, rank, name, timeout)
        return OneHost(self._watch, self._store, self._mailbox, ranks, rank, name, timeout)

    def leave(self) -> None:
        """Disconnect from the other processes."""
        atexit.unregister(self._leave_at_exit)
        self._watch.leave()
        self._mailbox.close()

    def _leave_at_exit(self) -> None:
        """Leave the job when a program ends without `destroy_process_group`, unless an exception ended the program."""
        if not hasattr(sys, "last_value"):
            self._watch.leave()


class OneHost(SharedMemory):
    """The communicator of a group on one host: shared memory for collectives, local sockets for messages."""

    def __init__(
        self, watch: Watch, store: Store, mailbox: Mailbox, ranks: Sequence[int], rank: int, name: str, timeout: timedelta
    ) -> None:
        since = time.monotonic()
        try:
            super().__init__(
                PrefixStore(f"group {name}", WatchedStore(watch, store)),
                rank,
                len(ranks),
                lambda: watch.check(ranks, since),
                timeout,
            )
        except OSError:  # the process that created the shared memory has ended
            watch.explain(ranks, since)
            raise
        self._point_to_point = PointToPoint(mailbox, ranks, rank, name, timeout)
        self.send, self.receive = self._point_to_point.send, self._point_to_point.receive


def _master_of(store: Store) -> str | None:
    """Return the host that serves the store, which all processes can reach; None if unknown."""
    while isinstance(store, PrefixStore):
        store = store.underlying_store
    return store.host if isinstance(store, (TCPStore, TorchrunStore)) else None


def _wait_for_all(store: Store, rank: int, world_size: int) -> None:
    """In rank 0, wait until all processes have read from the store: if rank 0 serves the store, both end together."""
    if store.add("met", 1) == world_size:
        store.set("all met", "")
    if rank == 0:
        store.wait(["all met"])


ENGINE = Gloo()
