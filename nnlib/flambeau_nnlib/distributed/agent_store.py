"""Client of the store that PyTorch's torchrun serves; it implements the wire protocol of PyTorch's TCPStore.

Fields are lengths and bytes in native byte order. Nothing is pickled, and clients are not authenticated. Processes
started by `python -m flambeau.distributed.run` use a different store, which requires the job's secret.
"""

from __future__ import annotations

import os
import socket
import struct
import threading
import time
from collections.abc import Sequence
from datetime import timedelta

from .errors import DistNetworkError
from .store import Store, as_bytes, default_timeout

__all__ = ["TorchrunStore"]

MAGIC = 0x3C85F7CE
VALIDATE, SET, COMPARE_SET, GET, ADD, CHECK, _, NUM_KEYS, DELETE, APPEND, _, _, _, PING = range(14)
READY = 0


class TorchrunStore(Store):
    """A client of the store that torchrun serves.

    Args:
        host, port: address of the store.
        timeout: how long to wait for the connection and for missing keys.

    Raises:
        DistNetworkError: the store cannot be reached, or another kind of server answers.
    """

    def __init__(self, host: str, port: int, timeout: timedelta = default_timeout) -> None:
        super().__init__()
        self.host, self.port, self.timeout = host, port, timeout
        self._lock = threading.Lock()
        self._line = self._connect()

    def _connect(self) -> socket.socket:
        end = time.monotonic() + self.timeout.total_seconds()
        while True:
            try:
                line = socket.create_connection((self.host, self.port), timeout=self.timeout.total_seconds())
                break
            except OSError as error:
                if time.monotonic() > end:
                    raise DistNetworkError(f"cannot reach torchrun's store at {self.host}:{self.port}: {error}") from error
                time.sleep(0.05)
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._line = line
        nonce = os.getpid() & 0xFFFFFFFF
        line.sendall(struct.pack("=BI", VALIDATE, MAGIC) + struct.pack("=BI", PING, nonce))
        if self._read("=I") != nonce:
            raise DistNetworkError(f"the server at {self.host}:{self.port} is not torchrun's store")
        return line

    def _receive(self, size: int) -> bytes:
        received = bytearray()
        while len(received) < size:
            part = self._line.recv(size - len(received))
            if not part:
                raise DistNetworkError(f"torchrun's store at {self.host}:{self.port} has gone away")
            received += part
        return bytes(received)

    def _read(self, form: str) -> int:
        return int(struct.unpack(form, self._receive(struct.calcsize(form)))[0])

    def _read_bytes(self) -> bytes:
        return self._receive(self._read("=Q"))

    def _send(self, query: int, *fields: bytes) -> None:
        try:
            self._line.sendall(bytes([query]) + b"".join(fields))
        except OSError as error:
            raise DistNetworkError(f"torchrun's store at {self.host}:{self.port} has gone away") from error

    def check(self, keys: Sequence[str]) -> bool:
        with self._lock:
            self._send(CHECK, struct.pack("=Q", len(keys)), *map(_key, keys))
            return self._read("=B") == READY

    def num_keys(self) -> int:
        with self._lock:
            self._send(NUM_KEYS)
            return self._read("=q")

    def set(self, key: str, value: str | bytes) -> None:
        with self._lock:
            self._send(SET, _key(key), _field(as_bytes(value)))

    def get(self, key: str) -> bytes:
        self.wait([key])
        with self._lock:
            self._send(GET, _key(key))
            return self._read_bytes()

    def add(self, key: str, amount: int) -> int:
        with self._lock:
            self._send(ADD, _key(key), struct.pack("=q", amount))
            return self._read("=q")

    def append(self, key: str, value: str | bytes) -> None:
        with self._lock:
            self._send(APPEND, _key(key), _field(as_bytes(value)))

    def compare_set(self, key: str, expected: str | bytes, desired: str | bytes) -> bytes:
        with self._lock:
            self._send(COMPARE_SET, _key(key), _field(as_bytes(expected)), _field(as_bytes(desired)))
            return self._read_bytes()

    def delete_key(self, key: str) -> bool:
        with self._lock:
            self._send(DELETE, _key(key))
            return self._read("=q") > 0

    def close(self) -> None:
        """Close the connection."""
        self._line.close()


def _field(value: bytes) -> bytes:
    return struct.pack("=Q", len(value)) + value


def _key(key: str) -> bytes:
    return _field(f"/{key}".encode())
