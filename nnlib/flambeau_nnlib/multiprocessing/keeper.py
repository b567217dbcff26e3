"""A process that removes the files of shared memory whose owners were killed.

The strategy `file_system` names its memory, and a name outlasts the process that should remove it. So every process that owns
such files tells the keeper their names, over a connection of its own, which the kernel closes however the process ends. The
keeper is started by the first process that needs one, serves it and all that it starts, and ends with the last of them.

Run as a program, this file is the keeper; it imports nothing of flambeau, to be small.
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

__all__ = ["connect", "tell"]

# What a line says of the name after it, by its first character
OWN = "+"  # it is the sender's
SENT = ">"  # it is in a message of the sender, and stays if the sender ends normally before that is received
GONE = "-"  # it has been removed
END = "!"  # no name: the sender is about to end normally

_ADDRESS = "FLAMBEAU_SHARED_MEMORY_KEEPER"  # the variable of the environment by which other processes find the keeper

_connection: socket.socket | None = None
_lock = threading.RLock()  # the collector may release a block while a line is written


def tell(what: str, name: str = "") -> None:
    """Tell the keeper about a file; see `OWN`, `SENT` and `GONE`."""
    connection = connect()
    with _lock:
        connection.sendall(f"{what}{name}\n".encode())


def connect() -> socket.socket:
    """This process's connection to the keeper, which is started if there is none."""
    global _connection
    with _lock:
        if _connection is None:
            _connection = _connected(os.environ.get(_ADDRESS)) or _started()
        return _connection


def _connected(address: str | None) -> socket.socket | None:
    if not address:
        return None
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(address)
    except OSError:  # the keeper of a program that started this one, and has ended
        connection.close()
        return None
    return connection


def _started() -> socket.socket:
    address = str(Path(tempfile.mkdtemp(prefix="flambeau-keeper-"), "socket"))
    with socket.socket(socket.AF_UNIX) as listener, open(os.devnull, "r+b") as nothing:
        listener.bind(address)
        listener.listen()
        program = os.fsdecode(spawn.get_executable())
        redirections = [
            (os.POSIX_SPAWN_DUP2, listener.fileno(), 0),
            *((os.POSIX_SPAWN_DUP2, nothing.fileno(), n) for n in (1, 2)),
        ]
        os.posix_spawn(program, [program, "-I", "-S", __file__, address], os.environ, file_actions=redirections)
        connection = _connected(address)
    assert connection is not None
    os.environ[_ADDRESS] = address
    return connection


def _say_goodbye() -> None:
    if _connection is not None:
        with suppress(OSError):
            tell(END)
        _disconnect()


def _at_end(say_goodbye: Callable[[], None]) -> None:
    """Have a function called at a normal end, after the threads of queues have sent their last, and may have connected."""
    util.Finalize(None, say_goodbye, exitpriority=-30)


_at_end(_say_goodbye)
util.register_after_fork(_say_goodbye, _at_end)  # a new process of `multiprocessing` has forgotten what to do at the end


def _disconnect() -> None:
    """Close the connection; in the child of a fork too, whose copy would keep it open when the parent is killed."""
    global _connection, _lock
    if _connection is not None:
        _connection.close()
    _connection, _lock = None, threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_disconnect)


# --- the program ---


class _Client:
    """A connected process: the paths that are its own, and those in its messages."""

    def __init__(self) -> None:
        self.own: set[str] = set()
        self.sent: set[str] = set()
        self.ends_normally = False
        self.line = b""


class _Keeper:
    def __init__(self, listener: socket.socket) -> None:
        self.selector = selectors.DefaultSelector()
        self.selector.register(listener, selectors.EVENT_READ)
        self.clients: dict[socket.socket, _Client] = {}
        self.unreceived: set[str] = set()  # in messages of processes that have ended

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
            else:  # it may have been sent by another process
                for paths in (self.unreceived, *(paths for each in self.clients.values() for paths in (each.own, each.sent))):
                    paths.discard(path)

    def remove(self, client: _Client) -> None:
        """Remove the files of a process that has ended, but those that another one is to receive."""
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
    """Serve the socket that is the standard input, and has this address."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # they mean the processes that it serves
        signal.signal(number, signal.SIG_IGN)
    keeper = _Keeper(socket.socket(fileno=0))
    try:
        keeper.run()
    finally:
        unlink(keeper.unreceived)
        shutil.rmtree(os.path.dirname(address), ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1])
