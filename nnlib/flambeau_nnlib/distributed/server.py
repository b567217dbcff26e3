"""A port of this machine that other processes connect to."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Client, Connection, Listener

__all__ = ["Server"]


class Server:
    """Listens at a port (any free one for 0), and runs `serve(connection)` in a thread for each that connects."""

    def __init__(self, host: str, port: int, serve: Callable[[Connection], None]) -> None:
        self._listener = Listener((host, port), backlog=128)
        self._serve, self._closing = serve, False
        self.host, self.port = host, self._listener.address[1]
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
            threading.Thread(target=self._serve_until_gone, args=(connection,), daemon=True).start()

    def _serve_until_gone(self, connection: Connection) -> None:
        with connection, suppress(EOFError, OSError):
            self._serve(connection)

    def close(self) -> None:
        """Stop listening.  The port is free afterwards."""
        if self._closing:
            return
        self._closing = True
        with suppress(OSError):  # closing a socket does not wake a thread that waits at it, and so does not close it either
            Client((self.host, self.port)).close()
        self._thread.join()
        self._listener.close()
