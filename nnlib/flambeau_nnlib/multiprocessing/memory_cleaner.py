"""A helper process that removes shared memory files of killed processes.

With the strategy `file_system`, memory is a named file, which outlives a killed process. So each process that owns such
files reports their names to the helper over a socket, which the kernel closes when the process ends. The first process
that needs the helper starts it. It serves that process and its descendants, and ends with the last of them.

This file is also the helper's program. It imports nothing of flambeau, to be small.
"""

from __future__ import annotations

import os
import selectors
import shutil
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import spawn, util
from pathlib import Path

__all__ = ["connect", "report"]

# Messages: the first character of a line, before a file name
OWN = "+"  # the sender owns the file
SENT = ">"  # the sender has sent the file to another process: if the sender exits normally, keep the file for the receiver
GONE = "-"  # the file has been removed
END = "!"  # not followed by a name: the sender is about to exit normally

_ADDRESS = "FLAMBEAU_SHARED_MEMORY_KEEPER"  # environment variable with the helper's address

_connection: socket.socket | None = None
_lock = threading.RLock()  # reentrant: garbage collection during `report` may release a block, which calls `report`


def report(what: str, name: str = "") -> None:
    """Report a file to the helper; see `OWN`, `SENT` and `GONE`."""
    connection = connect()
    with _lock:
        connection.sendall(f"{what}{name}\n".encode())


def connect() -> socket.socket:
    """Return this process's connection to the helper; start the helper if necessary."""
    global _connection
    with _lock:
        if _connection is None:
            _connection = _try_connect(os.environ.get(_ADDRESS)) or _start()
        return _connection


def _try_connect(address: str | None) -> socket.socket | None:
    if not address or sys.platform == "win32":
        return None
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(address)
    except OSError:  # the helper that had this address has ended
        connection.close()
        return None
    return connection


def _start() -> socket.socket:
    if sys.platform == "win32":
        raise NotImplementedError("the helper requires a POSIX system")
    address = str(Path(tempfile.mkdtemp(prefix="flambeau-cleaner-"), "socket"))
    with socket.socket(socket.AF_UNIX) as listener, open(os.devnull, "r+b") as nothing:
        listener.bind(address)
        listener.listen()
        program = os.fsdecode(spawn.get_executable())
        redirections = [
            (os.POSIX_SPAWN_DUP2, listener.fileno(), 0),
            *((os.POSIX_SPAWN_DUP2, nothing.fileno(), n) for n in (1, 2)),
        ]
        os.posix_spawn(program, [program, "-I", "-S", __file__, address], os.environ, file_actions=redirections)
        connection = _try_connect(address)
    assert connection is not None
    os.environ[_ADDRESS] = address
    return connection


def _report_exit() -> None:
    if _connection is not None:
        with suppress(OSError):
            report(END)
        _disconnect()


def _register_at_exit(report_exit: Callable[[], None]) -> None:
    """Register a function to call at normal exit, after the threads of queues have sent their last messages."""
    util.Finalize(None, report_exit, exitpriority=-30)


_register_at_exit(_report_exit)
util.register_after_fork(_report_exit, _register_at_exit)  # again: child processes clear all finalizers


def _disconnect() -> None:
    """Close the connection. A forked child calls this also: its copy would keep the connection open if the parent is killed."""
    global _connection, _lock
    if _connection is not None:
        _connection.close()
    _connection, _lock = None, threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_disconnect)


# --- the program ---


class _Client:
    """What the helper stores for a connected process: the files that the process owns, and the files in its messages."""

    def __init__(self) -> None:
        self.own: set[str] = set()
        self.sent: set[str] = set()
        self.ends_normally = False
        self.line = b""


class _Cleaner:
    def __init__(self, listener: socket.socket) -> None:
        self.selector = selectors.DefaultSelector()
        self.selector.register(listener, selectors.EVENT_READ)
        self.clients: dict[socket.socket, _Client] = {}
        self.unreceived: set[str] = set()  # files in messages that ended processes have sent

    def run(self) -> None:
        """Serve until the last process has ended."""
        while True:
            for key, _ in self.selector.select():
                source = key.fileobj
                assert isinstance(source, socket.socket)
                if source in self.clients:
                    self.read(source)
                else:
                    connection, _ = source.accept()
                    self.clients[connection] = _Client()
                    self.selector.register(connection, selectors.EVENT_READ)
            if not self.clients:
                return

    def read(self, connection: socket.socket) -> None:
        client = self.clients[connection]
        data = b""
        with suppress(ConnectionError):
            data = connection.recv(1 << 16)
        if not data:
            self.selector.unregister(connection)
            connection.close()
            self.remove(self.clients.pop(connection))
            return
        *lines, client.line = (client.line + data).split(b"\n")
        for line in lines:
            what, path = chr(line[0]), os.fsdecode(line[1:])
            if what == OWN:
                client.own.add(path)
            elif what == SENT:
                client.sent.add(path)
            elif what == END:
                client.ends_normally = True
            else:  # GONE; the file may be in the lists of another process
                for paths in (self.unreceived, *(paths for each in self.clients.values() for paths in (each.own, each.sent))):
                    paths.discard(path)

    def remove(self, client: _Client) -> None:
        """Remove the files of a process that has ended, except those in messages that are still to be received."""
        if client.ends_normally:
            self.unreceived |= client.sent
        else:
            unlink(client.sent)
        unlink(client.own)


def unlink(paths: set[str]) -> None:
    for path in paths:
        with suppress(OSError):
            os.unlink(path)


def main(address: str) -> None:
    """Serve the listening socket at standard input, bound to `address`."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # such signals are meant for the other processes
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    cleaner = _Cleaner(socket.socket(fileno=0))
    try:
        cleaner.run()
    finally:
        unlink(cleaner.unreceived)
        shutil.rmtree(os.path.dirname(address), ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1])
