"""Key-value stores that all processes of a job share, used for rendezvous.

A store that is served to other processes exchanges lists of byte strings (see `wire`) with processes that hold the
job's secret. It never pickles.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from .errors import DistNetworkError, DistStoreError
from .server import Server, connect
from .wire import decode, encode

__all__ = [
    "FileStore",
    "HashStore",
    "PrefixStore",
    "Store",
    "TCPStore",
    "default_timeout",
]

default_timeout = timedelta(minutes=30)
RECONNECT_TIMEOUT = timedelta(seconds=5)  # how long to try to reconnect to the process that serves a store


class Store:
    """A key-value store of bytes. `get` waits until the key exists, or until the timeout."""

    def __init__(self) -> None:
        self.timeout = default_timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Set how long `get` and `wait` wait for keys."""
        self.timeout = timeout

    def set(self, key: str, value: str | bytes) -> None:
        """Store a value."""
        self._change(key, lambda _: as_bytes(value))

    def get(self, key: str) -> bytes:
        """Wait for a key and return its value. DistStoreError if the key does not exist within the timeout."""
        self.wait([key])
        present: bytes = self._change(key, lambda value: value)
        return present

    def add(self, key: str, amount: int) -> int:
        """Add to an integer counter, and return its new value."""
        return int(self._change(key, lambda value: str(int(value or 0) + amount).encode()))

    def append(self, key: str, value: str | bytes) -> None:
        """Append to a value."""
        self._change(key, lambda before: (before or b"") + as_bytes(value))

    def compare_set(self, key: str, expected: str | bytes, desired: str | bytes) -> bytes:
        """Set a value if the present one equals `expected`; return the value afterwards."""
        present: bytes = self._change(
            key, lambda value: as_bytes(desired) if (value or b"") == as_bytes(expected) else value or as_bytes(expected)
        )
        return present

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """Return the values of several keys."""
        return [self.get(key) for key in keys]

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        """Store several values."""
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """Wait until all keys exist. DistStoreError after the timeout."""
        seconds = (timeout or self.timeout).total_seconds()
        end, pause = time.monotonic() + seconds, 0.0005
        while not self.check(keys):
            if time.monotonic() > end:
                raise DistStoreError(f"wait timeout after {seconds * 1000:.0f}ms, keys: {', '.join(keys)}")
            time.sleep(pause)
            pause = min(2 * pause, 0.02)

    def close(self) -> None:
        """Stop serving other processes."""

    def check(self, keys: Sequence[str]) -> bool:
        """Whether all keys exist."""
        raise TypeError(f"{type(self).__name__} cannot be used as a store")

    def delete_key(self, key: str) -> bool:
        """Remove a key; return whether it existed."""
        existed = self.check([key])
        self._change(key, lambda _: None)
        return existed

    def num_keys(self) -> int:
        """Return the number of keys."""
        raise TypeError(f"{type(self).__name__} cannot be used as a store")

    def _change(self, key: str, change: Callable[[bytes | None], bytes | None]) -> Any:
        """Atomically replace a value by `change(value)`; return the new value."""
        raise TypeError(f"{type(self).__name__} cannot be used as a store")


def as_bytes(value: str | bytes) -> bytes:
    """Convert a value to bytes."""
    return value.encode() if isinstance(value, str) else bytes(value)


def _updated(table: dict[str, bytes], key: str, value: bytes | None) -> bytes | None:
    if value is None:
        table.pop(key, None)
    else:
        table[key] = value
    return value


class HashStore(Store):
    """A store in the memory of one process, shared by its threads."""

    def __init__(self) -> None:
        super().__init__()
        self._table: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def check(self, keys: Sequence[str]) -> bool:
        return all(key in self._table for key in keys)

    def num_keys(self) -> int:
        return len(self._table)

    def _change(self, key: str, change: Callable[[bytes | None], bytes | None]) -> Any:
        with self._lock:
            return _updated(self._table, key, change(self._table.get(key)))


class FileStore(Store):
    """A store in a file that all processes can write to."""

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        super().__init__()
        self.path = file_name

    def _open(self) -> Any:
        if sys.platform == "win32":
            raise NotImplementedError("FileStore requires the file locks of a POSIX system; use TCPStore")
        import fcntl

        file = Path(self.path).open("a+b")  # noqa: SIM115 (callers close it)
        fcntl.flock(file, fcntl.LOCK_EX)  # the lock is released when the file is closed
        file.seek(0)
        return file

    def _read(self) -> dict[str, bytes]:
        with self._open() as file:
            return _table_of(file.read())

    def check(self, keys: Sequence[str]) -> bool:
        table = self._read()
        return all(key in table for key in keys)

    def num_keys(self) -> int:
        return len(self._read())

    def _change(self, key: str, change: Callable[[bytes | None], bytes | None]) -> Any:
        with self._open() as file:
            table = _table_of(file.read())
            before = table.get(key)
            value = _updated(table, key, change(before))
            if value != before:
                file.truncate(0)
                file.write(encode(part for name, kept in table.items() for part in (name.encode(), kept)))
            return value


def _table_of(contents: bytes) -> dict[str, bytes]:
    fields = decode(contents)
    return {name.decode(): value for name, value in zip(fields[::2], fields[1::2], strict=True)}


class TCPStore(Store):
    """A store that the process with `is_master=True` serves to the others over TCP.

    Args:
        host_name, port: address of the store; port 0 chooses a free one.
        world_size: number of processes; the master waits for all of them if `wait_for_workers`.
        is_master: whether this process serves the store.

    Raises:
        DistNetworkError: the address is in use, the store is not reached within the timeout, or it has a different
            secret.
    """

    def __init__(
        self,
        host_name: str,
        port: int,
        world_size: int | None = None,
        is_master: bool = False,
        timeout: timedelta = default_timeout,
        wait_for_workers: bool = True,
        multi_tenant: bool = False,
        master_listen_fd: int | None = None,
        use_libuv: bool = True,
    ) -> None:
        super().__init__()
        self.host, self.port, self.timeout = host_name, port, timeout
        self._local, self._reach = threading.local(), timeout
        self._table: HashStore | None = None
        if is_master:
            self._table = HashStore()
            try:
                self._server = Server((host_name, port), self._serve)
            except OSError as error:
                raise DistNetworkError(f"cannot serve a store at {host_name}:{port}: {error}") from error
            self.port = int(self._server.address[1])
        if wait_for_workers and world_size:
            self.add("workers", 1)
            while is_master and int(self.get("workers")) < world_size:
                time.sleep(0.001)

    def close(self) -> None:
        if self._table is not None:
            self._server.close()

    def _serve(self, connection: Connection) -> None:
        assert self._table is not None
        while True:
            request, *fields = decode(connection.recv_bytes())
            try:
                answer = _REQUESTS[request](self._table, *fields)
            except Exception as error:  # a failed request does not stop the server
                connection.send_bytes(encode([b"error", f"{type(error).__name__}: {error}".encode()]))
            else:
                connection.send_bytes(encode([b"answer", answer]))

    def _request(self, request: bytes, *fields: bytes) -> bytes:
        """Send a request to the master, and return its answer. Each thread has a separate connection."""
        if self._table is not None:
            return _REQUESTS[request](self._table, *fields)
        if not hasattr(self._local, "connection"):
            self._local.connection = self._connect()
        try:
            self._local.connection.send_bytes(encode([request, *fields]))
            kind, answer = decode(self._local.connection.recv_bytes())
        except (EOFError, OSError) as error:
            raise DistNetworkError(f"the store at {self.host}:{self.port} has gone away") from error
        if kind == b"error":
            raise DistStoreError(f"the store at {self.host}:{self.port} could not answer: {answer.decode()}")
        return answer

    def _connect(self) -> Connection:
        timeout, self._reach = self._reach, min(self.timeout, RECONNECT_TIMEOUT)
        try:
            return connect((self.host, self.port), timeout)
        except (OSError, AuthenticationError) as error:
            raise DistNetworkError(f"cannot reach the store at {self.host}:{self.port}: {error}") from error

    def check(self, keys: Sequence[str]) -> bool:
        return self._request(b"check", *(key.encode() for key in keys)) == b"1"

    def num_keys(self) -> int:
        return int(self._request(b"num_keys"))

    def set(self, key: str, value: str | bytes) -> None:
        self._request(b"set", key.encode(), as_bytes(value))

    def get(self, key: str) -> bytes:
        self.wait([key])
        return self._request(b"get", key.encode())

    def add(self, key: str, amount: int) -> int:
        return int(self._request(b"add", key.encode(), b"%d" % amount))

    def append(self, key: str, value: str | bytes) -> None:
        self._request(b"append", key.encode(), as_bytes(value))

    def compare_set(self, key: str, expected: str | bytes, desired: str | bytes) -> bytes:
        return self._request(b"compare_set", key.encode(), as_bytes(expected), as_bytes(desired))

    def delete_key(self, key: str) -> bool:
        return self._request(b"delete_key", key.encode()) == b"1"


def _set(table: HashStore, key: bytes, value: bytes) -> bytes:
    table.set(key.decode(), value)
    return b""


def _append(table: HashStore, key: bytes, value: bytes) -> bytes:
    table.append(key.decode(), value)
    return b""


# Requests that a served store answers, by name.
_REQUESTS: dict[bytes, Callable[..., bytes]] = {
    b"set": _set,
    b"append": _append,
    b"get": lambda table, key: table.get(key.decode()),
    b"add": lambda table, key, amount: b"%d" % table.add(key.decode(), int(amount)),
    b"check": lambda table, *keys: b"%d" % table.check([key.decode() for key in keys]),
    b"num_keys": lambda table: b"%d" % table.num_keys(),
    b"delete_key": lambda table, key: b"%d" % table.delete_key(key.decode()),
    b"compare_set": lambda table, key, expected, desired: table.compare_set(key.decode(), expected, desired),
}


class PrefixStore(Store):
    """A view of another store that adds a prefix to all keys."""

    def __init__(self, prefix: str, store: Store) -> None:
        super().__init__()
        self.prefix, self.underlying_store, self.timeout = prefix, store, store.timeout

    def _key(self, key: str) -> str:
        return f"{self.prefix}/{key}"

    def check(self, keys: Sequence[str]) -> bool:
        return self.underlying_store.check([self._key(key) for key in keys])

    def num_keys(self) -> int:
        return self.underlying_store.num_keys()

    def set(self, key: str, value: str | bytes) -> None:
        self.underlying_store.set(self._key(key), value)

    def get(self, key: str) -> bytes:
        return self.underlying_store.get(self._key(key))

    def add(self, key: str, amount: int) -> int:
        return self.underlying_store.add(self._key(key), amount)

    def append(self, key: str, value: str | bytes) -> None:
        self.underlying_store.append(self._key(key), value)

    def compare_set(self, key: str, expected: str | bytes, desired: str | bytes) -> bytes:
        return self.underlying_store.compare_set(self._key(key), expected, desired)

    def delete_key(self, key: str) -> bool:
        return self.underlying_store.delete_key(self._key(key))
