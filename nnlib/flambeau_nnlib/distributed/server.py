"""Authenticated connections between processes that hold the job's secret."""

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

# Connections that forked children close: with a copy in a child, peers would not notice when this process ends.
_open_connections: weakref.WeakSet[Any] = weakref.WeakSet()


def _close_in_child() -> None:
    for connection in list(_open_connections):
        with suppress(OSError):
            connection.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)


def host_identity() -> str:
    """Return a string that is equal for processes that can share memory and local sockets. `FLAMBEAU_HOST_ID` overrides it."""
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
    """Return the address of this host on the network that leads to the host `towards`."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((towards or socket.gethostname(), 9))  # connecting a UDP socket sends no packet
        except OSError:
            return socket.gethostbyname(socket.gethostname())
        return str(probe.getsockname()[0])


class Server:
    """Listen at an address, and run `serve(connection)` in a thread for each authenticated connection.

    Args:
        address: host and port, where port 0 is any free port. A loopback host accepts connections of this host only;
            any other name listens on all networks. None uses a local socket that leaves no file, or a loopback port on Windows.
        serve: handles a connection until it returns or the other side closes.
    """

    def __init__(self, address: tuple[str, int] | None, serve: Callable[[Connection], None]) -> None:
        self._serve, self._closing, self._secret = serve, False, job_secret()
        if address is None and sys.platform == "win32":
            address = ("127.0.0.1", 0)
        if address is None:
            name = f"\0flambeau-{uuid.uuid4().hex}" if sys.platform == "linux" else None  # None: a socket file, removed by close
            self._listener = Listener(name, family="AF_UNIX", backlog=128)
        else:
            host, port = address
            local = host == "localhost" or host.startswith("127.")
            self._listener = Listener(("127.0.0.1" if local else "0.0.0.0", port), backlog=128)
        _open_connections.add(self._listener)
        found = self._listener.address
        self.address: Address = found.decode() if isinstance(found, bytes) else found
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def _accept(self) -> None:
        while True:
            try:
                connection = self._listener.accept()
            except ConnectionError:  # the client closed the connection before it was accepted
                continue
            except OSError:
                return
            if self._closing:
                connection.close()
                return
            _open_connections.add(connection)
            threading.Thread(target=self._serve_until_gone, args=(connection,), daemon=True).start()

    def _serve_until_gone(self, connection: Connection) -> None:
        with connection, suppress(EOFError, OSError, AuthenticationError):
            deliver_challenge(connection, self._secret)
            answer_challenge(connection, self._secret)
            _set_keepalive(connection)
            self._serve(connection)

    def close(self) -> None:
        """Stop listening and free the port."""
        if self._closing:
            return
        self._closing = True
        address = self.address if isinstance(self.address, str) else ("127.0.0.1", self.address[1])
        with suppress(OSError):  # wakes the thread in `accept`, which closing the socket would not do
            Client(address).close()
        self._thread.join()
        self._listener.close()


def connect(address: Address, timeout: timedelta) -> Connection:
    """Connect to a `Server` at an address.

    Raises:
        OSError: the server was not reached within the timeout.
        AuthenticationError: the server does not hold the same secret.
    """
    end = time.monotonic() + timeout.total_seconds()
    while True:
        try:
            connection: Connection = Client(address, authkey=job_secret())  # type: ignore[assignment, unused-ignore]
        except AuthenticationError as error:
            raise AuthenticationError(
                f"the process at {address!r} does not hold this job's secret: set {VARIABLE} to one value for all processes"
            ) from error
        except (OSError, EOFError) as error:
            if time.monotonic() > end:
                raise OSError(str(error)) from error
            time.sleep(0.02)
        else:
            _open_connections.add(connection)
            _set_keepalive(connection)
            return connection


def _set_keepalive(connection: Connection) -> None:
    """Set TCP options with which the system notices within seconds when the other host has vanished."""
    tcp_socket = socket.socket(fileno=connection.fileno())
    try:
        if tcp_socket.family != socket.AF_INET:
            return
        tcp_socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        tcp_socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in (("TCP_KEEPIDLE", 1), ("TCP_KEEPINTVL", 1), ("TCP_KEEPCNT", 2), ("TCP_USER_TIMEOUT", 3000)):
            if hasattr(socket, option):
                tcp_socket.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    finally:
        tcp_socket.detach()  # the connection closes it
