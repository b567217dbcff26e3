"""Messages between processes: each process has a mailbox to which all others can send."""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from collections.abc import Hashable, Sequence
from datetime import timedelta
from multiprocessing.connection import Client, Connection
from typing import Any

from .server import Server
from .store import DistBackendError, Store

__all__ = ["Mailbox"]


class Mailbox:
    """The messages that have come for one process, by key, in the order they were sent.

    A thread for each sender reads messages as soon as they arrive, so that senders never block.
    """

    def __init__(self, store: Store, rank: int, world_size: int) -> None:
        self._rank = rank
        self._messages: defaultdict[Hashable, deque[bytes]] = defaultdict(deque)
        self._arrived = threading.Condition()
        self._peers: dict[int, Connection] = {}
        self._lock = threading.Lock()
        self._server = Server("127.0.0.1", 0, self._read)
        self._ports = self._meet(store, world_size)

    def _meet(self, store: Store, world_size: int) -> list[int]:
        """The ports of all mailboxes.  The first rank, whose process may hold the store, sees to it that all know them."""
        store.set(f"mailbox/{self._rank}", str(self._server.port))
        ports = [int(store.get(f"mailbox/{rank}")) for rank in range(world_size)]
        if store.add("met", 1) == world_size:
            store.set("all met", "")
        if self._rank == 0:
            store.wait(["all met"])
        return ports

    def close(self) -> None:
        """Take no more messages."""
        self._server.close()
        for connection in self._peers.values():
            connection.close()

    def _read(self, connection: Connection) -> None:
        while True:
            self._put(connection.recv(), connection.recv_bytes())

    def _put(self, key: Hashable, data: bytes) -> None:
        with self._arrived:
            self._messages[key].append(data)
            self._arrived.notify_all()

    def send(self, rank: int, key: Hashable, data: Any) -> None:
        """Put a message into another process's mailbox, or one's own."""
        if rank == self._rank:
            self._put(key, bytes(data))
            return
        with self._lock:
            if rank not in self._peers:
                self._peers[rank] = Client(("127.0.0.1", self._ports[rank]))
            try:
                self._peers[rank].send(key)
                self._peers[rank].send_bytes(data)
            except OSError as error:
                raise DistBackendError(f"rank {self._rank}: connection closed by rank {rank}") from error

    def take(self, keys: Sequence[Hashable], timeout: timedelta) -> tuple[Hashable, bytes]:
        """The next message with one of these keys, and the key.  DistBackendError if none comes in time."""

        def first() -> Hashable | None:
            return next((key for key in keys if self._messages.get(key)), None)

        with self._arrived:
            if not self._arrived.wait_for(lambda: first() is not None, timeout.total_seconds()):
                raise DistBackendError(
                    f"rank {self._rank}: timed out waiting {timeout.total_seconds():g} s for a message {keys[0]}"
                )
            key = first()
            queue = self._messages[key]
            data = queue.popleft()
            if not queue:
                del self._messages[key]
            return key, data

    def has(self, keys: Sequence[Hashable]) -> bool:
        """Whether a message with one of these keys has come."""
        with self._arrived:
            return any(self._messages.get(key) for key in keys)
