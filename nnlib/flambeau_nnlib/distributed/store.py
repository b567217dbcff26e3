"""Stores: small tables that all processes of a job share, by which they find each other."""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from multiprocessing.connection import Client, Connection
from pathlib import Path
from typing import Any

from .server import Server

__all__ = [
    "DistBackendError",
    "DistError",
    "DistNetworkError",
    "DistStoreError",
    "FileStore",
    "HashStore",
    "PrefixStore",
    "QueueEmptyError",
    "Store",
    "TCPStore",
    "default_timeout",
]

default_timeout = timedelta(minutes=30)


class DistError(RuntimeError):
    """Something between processes has failed."""


class DistBackendError(DistError):
    """A collective has failed."""


class DistNetworkError(DistError):
    """A connection has failed."""


class DistStoreError(DistError):
    """A store did not answer in time."""


class QueueEmptyError(DistStoreError):
    """A queue of a store has nothing in it."""


class Store:
    """A table of bytes by name.  Reading a key waits until it is stored, or until the timeout."""

    def __init__(self) -> None:
        self.timeout = default_timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """How long to wait for keys."""
        self.timeout = timeout

    def set(self, key: str, value: str | bytes) -> None:
        """Store a value."""
        self._change(key, lambda _: _bytes(value))

    def get(self, key: str) -> bytes:
        """The value of a key, waited for.  DistStoreError if it does not come."""
        self.wait([key])
        return self._change(key, lambda value: value)

    def add(self, key: str, amount: int) -> int:
        """Add to a counter, and return it."""
        return int(self._change(key, lambda value: str(int(value or 0) + amount).encode()))

    def append(self, key: str, value: str | bytes) -> None:
        """Put more at the end of a value."""
        self._change(key, lambda before: (before or b"") + _bytes(value))

    def compare_set(self, key: str, expected: str | bytes, desired: str | bytes) -> bytes:
        """Store a value if the present one is as expected; returns what is there then."""
        return self._change(
            key, lambda value: _bytes(desired) if (value or b"") == _bytes(expected) else value or _bytes(expected)
        )

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """The values of several keys."""
        return [self.get(key) for key in keys]

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        """Store several values."""
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """Wait until all keys have been stored.  DistStoreError if they have not in time."""
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
        """Whether all keys have been stored."""
        raise TypeError(f"{type(self).__name__} cannot be used as a store")

    def delete_key(self, key: str) -> bool:
        """Remove a key; returns whether it was there."""
        existed = self.check([key])
        self._change(key, lambda _: None)
        return existed

    def num_keys(self) -> int:
        """How many keys there are."""
        raise TypeError(f"{type(self).__name__} cannot be used as a store")

    def _change(self, key: str, change: Callable[[bytes | None], bytes | None]) -> Any:
        """Atomically replace a value by `change(value)`; returns the new one."""
        raise TypeError(f"{type(self).__name__} cannot be used as a store")


def _bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


def _updated(table: dict[str, bytes], key: str, value: bytes | None) -> bytes | None:
    if value is None:
        table.pop(key, None)
    else:
        table[key] = value
    return value


class HashStore(Store):
    """A store in the memory of one process, for its threads."""

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
        import fcntl

        file = Path(self.path).open("a+b")  # noqa: SIM115 (callers close it)
        fcntl.flock(file, fcntl.LOCK_EX)  # released when the file is closed
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
                file.write(pickle.dumps(table))
            return value


def _table_of(contents: bytes) -> dict[str, bytes]:
    return pickle.loads(contents) if contents else {}


class TCPStore(Store):
    """A store that the process with `is_master` serves to all others.

    Args:
        host_name, port: where; port 0 takes any that is free.
        world_size: how many processes there will be; the master waits for them where `wait_for_workers`.
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
        self._local = threading.local()
        self._table: HashStore | None = None
        if is_master:
            self._table = HashStore()
            self._server = Server(host_name, port, self._serve)
            self.port = self._server.port
        if wait_for_workers and world_size:
            self.add("workers", 1)
            while is_master and int(self.get("workers")) < world_size:
                time.sleep(0.001)

    def close(self) -> None:
        if self._table is not None:
            self._server.close()

    def _serve(self, connection: Connection) -> None:
        while True:
            method, arguments = connection.recv()
            connection.send(getattr(self._table, method)(*arguments))

    def _ask(self, method: str, *arguments: Any) -> Any:
        """What the master's table answers; each thread has a connection of its own."""
        if self._table is not None:
            return getattr(self._table, method)(*arguments)
        if not hasattr(self._local, "connection"):
            self._local.connection = self._connect()
        try:
            self._local.connection.send((method, arguments))
            return self._local.connection.recv()
        except (EOFError, OSError) as error:
            raise DistNetworkError(f"the store at {self.host}:{self.port} has gone away") from error

    def _connect(self) -> Connection:
        end = time.monotonic() + self.timeout.total_seconds()
        while True:
            try:
                return Client((self.host, self.port))
            except OSError as error:
                if time.monotonic() > end:
                    raise DistNetworkError(f"cannot reach the store at {self.host}:{self.port}: {error}") from error
                time.sleep(0.02)

    def check(self, keys: Sequence[str]) -> bool:
        return self._ask("check", list(keys))

    def num_keys(self) -> int:
        return self._ask("num_keys")

    def set(self, key: str, value: str | bytes) -> None:
        self._ask("set", key, value)

    def get(self, key: str) -> bytes:
        self.wait([key])
        return self._ask("get", key)

    def add(self, key: str, amount: int) -> int:
        return self._ask("add", key, amount)

    def append(self, key: str, value: str | bytes) -> None:
        self._ask("append", key, value)

    def compare_set(self, key: str, expected: str | bytes, desired: str | bytes) -> bytes:
        return self._ask("compare_set", key, expected, desired)

    def delete_key(self, key: str) -> bool:
        return self._ask("delete_key", key)


class PrefixStore(Store):
    """Another store, all of whose keys start with a prefix."""

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
