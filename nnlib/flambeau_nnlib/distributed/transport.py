"""Messages between processes: each process has a mailbox to which all others can send.

Between processes of one host they travel through local sockets; between hosts by ZeroMQ, encrypted with CURVE keys made from
the job's secret. A message is a key, which says what it is for, and bytes; nothing is pickled here.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from datetime import timedelta
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection
from typing import Any

from .errors import DistBackendError
from .server import Server, connect, own_address
from .store import Store
from .watch import Watch

__all__ = ["Mailbox"]

REACH = timedelta(seconds=1)  # to connect to a process that is there
LOOK = 0.2  # seconds between looks for processes that have ended


class Mailbox:
    """The messages that have come for one process, by key, in the order they were sent.

    Messages are read as soon as they arrive, by threads, so that senders never block.

    Args:
        store: where the processes find each other.
        watch: who they are, and who has ended.
        towards: a host that all can reach.
    """

    def __init__(self, store: Store, watch: Watch, towards: str | None) -> None:
        self._watch = watch
        self._messages: defaultdict[bytes, deque[tuple[bytes, Any]]] = defaultdict(deque)
        self._arrived = threading.Condition()
        self._peers: dict[int, Connection] = {}
        self._lock = threading.Lock()
        self._server = Server(None, self._read)
        self._far: Any = None
        world = range(len(watch.hosts))
        if not watch.one_host(world):
            from .between_hosts import FarMail

            self._far = FarMail(self._put)
            store.set(f"far/{watch.rank}", f"tcp://{own_address(towards)}:{self._far.port}")
        store.set(f"mailbox/{watch.rank}", str(self._server.address))
        self._near = {rank: store.get(f"mailbox/{rank}").decode() for rank in world if watch.one_host([rank, watch.rank])}
        for rank in world:
            if rank not in self._near:
                self._far.reach(rank, store.get(f"far/{rank}").decode())

    def close(self) -> None:
        """Take no more messages."""
        self._server.close()
        for connection in self._peers.values():
            connection.close()
        if self._far is not None:
            self._far.close()

    def _read(self, connection: Connection) -> None:
        while True:
            self._put(connection.recv_bytes(), connection.recv_bytes(), connection.recv_bytes())

    def _put(self, key: bytes, call: bytes, data: Any) -> None:
        with self._arrived:
            self._messages[key].append((call, data))
            self._arrived.notify_all()

    def send(self, rank: int, key: bytes, call: bytes, data: Any) -> None:
        """Put a message into another process's mailbox, or one's own: its key, what it was sent for, and bytes."""
        if rank == self._watch.rank:
            self._put(key, call, bytes(data))
        elif rank not in self._near:
            self._far.send(rank, key, call, data)
        else:
            with self._lock:
                try:
                    connection = self._peers.get(rank) or self._peers.setdefault(rank, connect(self._near[rank], REACH))
                    connection.send_bytes(key)
                    connection.send_bytes(call)
                    connection.send_bytes(data)
                except (OSError, AuthenticationError) as error:
                    self._watch.explain([rank])
                    raise DistBackendError(f"rank {self._watch.rank}: connection closed by rank {rank}: {error}") from error

    def take(
        self, senders: Sequence[int], keys: Sequence[bytes], timeout: timedelta, since: float
    ) -> tuple[int, tuple[bytes, Any]]:
        """The next message with one of these keys, each of the sender at the same place; and the place.

        Raises:
            DistBackendError: none comes in time, all senders have left, or a process of the job has died after `since`.
        """

        def first() -> int | None:
            return next((place for place, key in enumerate(keys) if self._messages.get(key)), None)

        end = time.monotonic() + timeout.total_seconds()
        with self._arrived:
            while not self._arrived.wait_for(lambda: first() is not None, min(LOOK, max(0.0, end - time.monotonic()))):
                self._watch.check(since=since)
                self._check(senders)
                if time.monotonic() >= end:
                    raise DistBackendError(
                        f"rank {self._watch.rank}: timed out waiting {timeout.total_seconds():g} s for rank "
                        f"{' or '.join(map(str, senders))} ({keys[0].decode()})"
                    )
            place = first()
            assert place is not None
            queue = self._messages[keys[place]]
            message = queue.popleft()
            if not queue:
                del self._messages[keys[place]]
            return place, message

    def _check(self, senders: Sequence[int]) -> None:
        """Raise what the watch has to say of the last sender, once it has something to say of each."""
        errors = [error for sender in senders if (error := _error_of(self._watch.check, sender)) is not None]
        if len(errors) == len([sender for sender in senders if sender != self._watch.rank]) and errors:
            raise errors[-1]


def _error_of(check: Callable[[Sequence[int]], None], rank: int) -> DistBackendError | None:
    try:
        check([rank])
    except DistBackendError as error:
        return error
    return None
