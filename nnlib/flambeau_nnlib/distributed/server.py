"""Connections between processes that hold the job's secret."""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
import uuid
import weakref
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener, answer_challenge, deliver_challenge
from typing import Any

from .secret import VARIABLE, job_secret

__all__ = ["Server", "connect", "host_identity", "own_address"]

Address = tuple[str, int] | str

_open: weakref.WeakSet[Any] = weakref.WeakSet()  # what a forked child must not keep open, or nobody sees this process end


def _close_in_child() -> None:
    for connection in list(_open):
        with suppress(OSError):
            connection.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)


def host_identity() -> str:
    """What processes have in common that can share memory and local sockets; `FLAMBEAU_HOST_ID` sets it."""
    given = os.environ.get("FLAMBEAU_HOST_ID")
    if given:
        return given
    parts = [socket.gethostname()]
    with suppress(OSError):
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            parts.append(file.read().strip())
        parts += [os.readlink(f"/proc/self/ns/{space}") for space in ("pid", "net", "mnt")]
    return " ".join(parts)


def own_address(towards: str | None) -> str:
    """The address of this host, as another host sees it that `towards` leads to."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((towards or socket.gethostname(), 9))  # sends nothing
        except OSError:
            return socket.gethostbyname(socket.gethostname())
        return str(probe.getsockname()[0])


class Server:
    """Listens at a port (any free one for 0), and runs `serve(connection)` in a thread for each process with the secret.

    Args:
        address: a host and a port; a loopback host is not reached from other hosts, any other name means all networks of this
            host. None: a local socket of this host, which leaves nothing behind.
        serve: what to do with a connection, until it returns or the other side closes.
    """

    def __init__(self, address: tuple[str, int] | None, serve: Callable[[Connection], None]) -> None:
        self._serve, self._closing, self._secret = serve, False, job_secret()
        if address is None:
            name = f"\0flambeau-{uuid.uuid4().hex}" if sys.platform == "linux" else None  # None: a file, removed when closed
            self._listener = Listener(name, family="AF_UNIX", backlog=128)
        else:
            host, port = address
            local = host == "localhost" or host.startswith("127.")
            self._listener = Listener(("127.0.0.1" if local else "0.0.0.0", port), backlog=128)
        _open.add(self._listener)
        found = self._listener.address
        self.address: Address = found.decode() if isinstance(found, bytes) else found
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def _accept(self) -> None:
        while True:
            try:
                connection = self._listener.accept()
            except ConnectionError:  # gone before it was accepted
                continue
            except OSError:
                return
            if self._closing:
                connection.close()
                return
            _open.add(connection)
            threading.Thread(target=self._serve_until_gone, args=(connection,), daemon=True).start()

    def _serve_until_gone(self, connection: Connection) -> None:
        with connection, suppress(EOFError, OSError, AuthenticationError):
            deliver_challenge(connection, self._secret)
            answer_challenge(connection, self._secret)
            _watch_the_line(connection)
            self._serve(connection)

    def close(self) -> None:
        """Stop listening.  The port is free afterwards."""
        if self._closing:
            return
        self._closing = True
        address = self.address if isinstance(self.address, str) else ("127.0.0.1", self.address[1])
        with suppress(OSError):  # closing a socket does not wake a thread that waits at it, and so does not close it either
            Client(address).close()
        self._thread.join()
        self._listener.close()


def connect(address: Address, timeout: timedelta) -> Connection:
    """A connection to a `Server`.

    Raises:
        OSError: it was not reached in time.
        AuthenticationError: it does not hold the same secret.
    """
    end = time.monotonic() + timeout.total_seconds()
    while True:
        try:
            connection = Client(address, authkey=job_secret())
        except AuthenticationError as error:
            raise AuthenticationError(
                f"the process at {address!r} does not hold this job's secret: set {VARIABLE}, the same for all its processes"
            ) from error
        except (OSError, EOFError) as error:
            if time.monotonic() > end:
                raise OSError(str(error)) from error
            time.sleep(0.02)
        else:
            _open.add(connection)
            _watch_the_line(connection)
            return connection


def _watch_the_line(connection: Connection) -> None:
    """Have the system notice within seconds that the other host has vanished."""
    line = socket.socket(fileno=os.dup(connection.fileno()))
    with line:
        if line.family == socket.AF_UNIX:
            return
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        line.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in (("TCP_KEEPIDLE", 1), ("TCP_KEEPINTVL", 1), ("TCP_KEEPCNT", 2), ("TCP_USER_TIMEOUT", 3000)):
            if hasattr(socket, option):
                line.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
