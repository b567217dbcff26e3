"""Detection of ended processes: each process keeps a connection to rank 0, which the system closes when the process ends."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from multiprocessing.connection import Connection

from .errors import DistBackendError, DistNetworkError
from .server import Server, connect, host_identity, own_address
from .store import PrefixStore, Store
from .wire import decode, encode

__all__ = ["Watch", "WatchedStore"]

DIED = "has ended without leaving the job"
CONNECT_TIMEOUT = timedelta(seconds=5)  # for connecting to rank 0, which already runs when its address is known
REPORT_DELAY = 1.0  # seconds until other processes learn that a process has ended, at most


class Watch:
    """Track which processes of a job have ended.

    Args:
        store: store through which the processes exchange addresses.
        rank, world_size: rank of this process, and number of processes.
        towards: a host that all processes can reach, used to find this host's address; None uses the host name.
        timeout: how long to wait for rank 0.
        grace: seconds in which messages of an ended process may still arrive on other connections.
    """

    def __init__(
        self, store: Store, rank: int, world_size: int, towards: str | None, timeout: timedelta, grace: float = 1.0
    ) -> None:
        self.rank, self._grace = rank, grace
        self._ended: dict[int, tuple[float, str]] = {}
        self._connections: dict[int, Connection] = {}
        self._left: set[int] = set()
        self._lock = threading.Lock()
        self._server: Server | None = None
        store.set(f"where/{rank}", encode(part.encode() for part in (host_identity(), _process_name())))
        places = [decode(store.get(f"where/{other}")) for other in range(world_size)]
        self.hosts = [host.decode() for host, _ in places]
        self._names = [name.decode() for _, name in places]
        if world_size > 1:
            self._connect(store, towards, timeout)

    def one_host(self, ranks: Sequence[int]) -> bool:
        """Whether these processes run on one host, so that they can share memory."""
        return len({self.hosts[rank] for rank in ranks}) == 1

    def _connect(self, store: Store, towards: str | None, timeout: timedelta) -> None:
        if self.rank == 0:
            alone = self.one_host(range(len(self.hosts)))
            self._server = Server(None if alone else ("", 0), self._listen)
            address = self._server.address
            store.set("watch", address if isinstance(address, str) else f"{own_address(towards)} {address[1]}")
            return
        where = store.get("watch").decode()
        host, _, port = where.rpartition(" ")
        try:
            connection = connect((host, int(port)) if host else where, min(timeout, CONNECT_TIMEOUT))
        except OSError as error:
            raise DistNetworkError(
                f"rank {self.rank}: rank 0 ({self._names[0]}) cannot be reached at {where!r}: {error}"
            ) from error
        self._connections[0] = connection
        connection.send_bytes(b"%d" % self.rank)
        threading.Thread(target=self._receive_reports, args=(connection,), daemon=True).start()

    def _listen(self, connection: Connection) -> None:
        """In rank 0: wait until another process ends, and report it to all others."""
        rank = int(connection.recv_bytes())
        with self._lock:
            self._connections[rank] = connection
            for other, (_, what) in self._ended.items():
                connection.send_bytes(encode([b"%d" % other, what.encode()]))
        with suppress(EOFError, OSError):
            while connection.recv_bytes() != b"leave":
                pass
            self._left.add(rank)
        self._record(rank, "has left the job" if rank in self._left else DIED)

    def _record(self, rank: int, what: str) -> None:
        with self._lock:
            self._ended.setdefault(rank, (time.monotonic(), what))
            self._connections.pop(rank, None)
            for connection in self._connections.values():
                with suppress(OSError):
                    connection.send_bytes(encode([b"%d" % rank, what.encode()]))

    def _receive_reports(self, connection: Connection) -> None:
        """In ranks above 0: record the ended processes that rank 0 reports, until rank 0 ends."""
        with suppress(EOFError, OSError):
            while True:
                rank, what = decode(connection.recv_bytes())
                self._ended.setdefault(int(rank), (time.monotonic(), what.decode()))
        self._ended.setdefault(0, (time.monotonic(), DIED))

    def check(self, ranks: Sequence[int] = (), since: float = 0.0) -> None:
        """Raise DistBackendError, naming the process that ended first, if a required process has ended.

        Args:
            ranks: required processes. The death of any other process counts also, because required ones may wait for
                it.
            since: a `time.monotonic()`: processes that died earlier are ignored, since the group was formed without them.
        """
        if not self._ended:
            return
        ended = [
            (when, what, rank)
            for rank, (when, what) in list(self._ended.items())
            if rank != self.rank and (rank in ranks or (what == DIED and (when > since or rank == 0)))
        ]
        if ended and time.monotonic() - min(ended)[0] > self._grace:
            _, what, rank = min(ended)
            raise DistBackendError(f"rank {self.rank}: rank {rank} ({self._names[rank]}) {what}")

    @property
    def all_alive(self) -> bool:
        """Whether no process has died so far."""
        return all(what != DIED for _, what in list(self._ended.values()))

    def explain(self, ranks: Sequence[int] = (), since: float = 0.0) -> None:
        """After a failed connection, wait briefly for reports of ended processes; if one comes, raise the error of `check`."""
        end = time.monotonic() + REPORT_DELAY + self._grace
        while time.monotonic() < end:
            self.check(ranks, since)
            time.sleep(0.05)

    def disconnect(self) -> None:
        """Close the connections now, so that other processes see the end of this one before it exits."""
        for connection in list(self._connections.values()):
            with suppress(OSError), socket.socket(fileno=os.dup(connection.fileno())) as line:
                line.shutdown(socket.SHUT_RDWR)

    def leave(self) -> None:
        """Report to the other processes that this one leaves, and close the connections."""
        if self.rank == 0:
            self._record(0, "has left the job")
        for connection in list(self._connections.values()):
            with suppress(OSError):
                connection.send_bytes(b"leave") if self.rank else None
        if self._server is not None:
            self._server.close()
        self._connections.clear()


class WatchedStore(PrefixStore):
    """A store whose `wait` raises DistBackendError as soon as a process of the job dies."""

    def __init__(self, watch: Watch, store: Store) -> None:
        super().__init__("", store)
        self._watch, self._since = watch, time.monotonic()

    def _key(self, key: str) -> str:
        return key

    def check(self, keys: Sequence[str]) -> bool:
        self._watch.check(since=self._since)
        try:
            return super().check(keys)
        except DistNetworkError:
            self._watch.explain()
            raise

    def get(self, key: str) -> bytes:
        self.wait([key])
        return super().get(key)


def _process_name() -> str:
    return f"host {socket.gethostname()}, process {os.getpid()}"
