"""Messages between processes: each process has a mailbox to which all others send.

Messages travel through local sockets on one host, and through ZeroMQ between hosts, encrypted with CURVE keys derived
from the job's secret. A message is a key, a description of the call, and bytes. Nothing is pickled here.
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

CONNECT_TIMEOUT = timedelta(seconds=1)  # for connecting to a running process
CHECK_INTERVAL = 0.2  # seconds between checks for processes that have ended


class Mailbox:
    """The messages that a process has received: for each key, in the order in which they were sent.

    Threads read messages as soon as they arrive, so senders never block.

    Args:
        store: store through which the processes exchange addresses.
        watch: reports the host of each process and which processes have ended.
        towards: a host that all processes can reach; see `own_address`.
    """

    def __init__(self, store: Store, watch: Watch, towards: str | None) -> None:
        self._watch = watch
        self._messages: defaultdict[bytes, deque[tuple[bytes, Any]]] = defaultdict(deque)
        self._arrived = threading.Condition()
        self._peers: dict[int, Connection] = {}
        self._lock = threading.Lock()
        self._server = Server(None, self._read)
        self._remote: Any = None
        world = range(len(watch.hosts))
        if not watch.one_host(world):
            from .zeromq import RemoteMessenger

            self._remote = RemoteMessenger(self._put)
            store.set(f"far/{watch.rank}", f"tcp://{own_address(towards)}:{self._remote.port}")
        store.set(f"mailbox/{watch.rank}", str(self._server.address))
        self._local_addresses = {
            rank: store.get(f"mailbox/{rank}").decode() for rank in world if watch.one_host([rank, watch.rank])
        }
        for rank in world:
            if rank not in self._local_addresses:
                self._remote.reach(rank, store.get(f"far/{rank}").decode())

    def close(self) -> None:
        """Close all connections."""
        self._server.close()
        for connection in self._peers.values():
            connection.close()
        if self._remote is not None:
            self._remote.close()

    def _read(self, connection: Connection) -> None:
        while True:
            self._put(connection.recv_bytes(), connection.recv_bytes(), connection.recv_bytes())

    def _put(self, key: bytes, call: bytes, data: Any) -> None:
        with self._arrived:
            self._messages[key].append((call, data))
            self._arrived.notify_all()

    def send(self, rank: int, key: bytes, call: bytes, data: Any) -> None:
        """Send a message (key, call description, bytes) to a process, possibly this one."""
        if rank == self._watch.rank:
            self._put(key, call, bytes(data))
        elif rank not in self._local_addresses:
            self._remote.send(rank, key, call, data)
        else:
            with self._lock:
                try:
                    connection = self._peers.get(rank) or self._peers.setdefault(
                        rank, connect(self._local_addresses[rank], CONNECT_TIMEOUT)
                    )
                    connection.send_bytes(key)
                    connection.send_bytes(call)
                    connection.send_bytes(data)
                except (OSError, AuthenticationError) as error:
                    self._watch.explain([rank])
                    raise DistBackendError(f"rank {self._watch.rank}: connection closed by rank {rank}: {error}") from error

    def take(
        self, senders: Sequence[int], keys: Sequence[bytes], timeout: timedelta, since: float
    ) -> tuple[int, tuple[bytes, Any]]:
        """Wait for a message with any of the keys, where `keys[i]` is for messages of `senders[i]`. Return i and the message.

        Raises:
            DistBackendError: the timeout is over, all senders have left, or a process of the job has died after
                `since`.
        """

        def first() -> int | None:
            return next((place for place, key in enumerate(keys) if self._messages.get(key)), None)

        end = time.monotonic() + timeout.total_seconds()
        with self._arrived:
            while not self._arrived.wait_for(lambda: first() is not None, min(CHECK_INTERVAL, max(0.0, end - time.monotonic()))):
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
        """Raise DistBackendError if every sender other than this process has ended."""
        errors = [error for sender in senders if (error := _find_error(self._watch.check, sender)) is not None]
        if len(errors) == len([sender for sender in senders if sender != self._watch.rank]) and errors:
            raise errors[-1]


def _find_error(check: Callable[[Sequence[int]], None], rank: int) -> DistBackendError | None:
    try:
        check([rank])
    except DistBackendError as error:
        return error
    return None
