"""Messages between hosts, by ZeroMQ: encrypted, and only between processes that hold the job's secret.

All processes of a job derive the same pair of CURVE keys from the job's secret. A server accepts only clients with this key, so
processes without the secret can neither send nor read messages.
"""

from __future__ import annotations

import atexit
import hashlib
import threading
from collections.abc import Callable
from typing import Any

from .errors import DistBackendError
from .secret import job_secret

__all__ = ["RemoteMessenger"]


def _zmq() -> Any:
    try:
        import zmq
        import zmq.auth.thread
    except ImportError as error:
        raise ImportError(
            "processes on several hosts need pyzmq, which is not installed: pip install pyzmq; "
            "processes of one host need no package (alternatively, use backend='mpi' with mpi4py)"
        ) from error
    if not zmq.has("curve"):
        raise ImportError("processes on several hosts need a pyzmq that was built with CURVE")
    return zmq


class RemoteMessenger:
    """Send and receive messages between this process and processes on other hosts.

    Args:
        put: called in a thread with the key, the call description and the bytes of each received message.
    """

    def __init__(self, put: Callable[[bytes, bytes, Any], None]) -> None:
        zmq = _zmq()
        self._put, self._zmq = put, zmq
        self._secret = zmq.utils.z85.encode(hashlib.sha256(b"flambeau CURVE" + job_secret()).digest())
        self._public: bytes = zmq.curve_public(self._secret)
        self._context = zmq.Context()
        self._guard = zmq.auth.thread.ThreadAuthenticator(self._context)
        self._guard.start()
        self._guard.configure_curve_callback(domain="*", credentials_provider=self)
        self._lines: dict[int, Any] = {}
        self._lock = threading.Lock()
        self._receiver = self._socket(zmq.PULL)
        self._receiver.curve_server = True
        self.port = self._receiver.bind_to_random_port("tcp://*")
        self._closing = False
        atexit.register(self.close)  # at exit, sends the messages that are still queued
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def callback(self, domain: str, key: bytes) -> bool:
        """Whether a client with this key may connect. Called by the ZeroMQ authenticator."""
        return key == self._public

    def _socket(self, kind: int) -> Any:
        socket = self._context.socket(kind)
        socket.curve_publickey, socket.curve_secretkey = self._public, self._secret
        socket.sndhwm = socket.rcvhwm = 0  # no limit on queued messages: senders never block
        socket.heartbeat_ivl, socket.heartbeat_timeout = 1000, 4000
        return socket

    def _read(self) -> None:
        while not self._closing:
            if self._receiver.poll(200):
                key, call, data = self._receiver.recv_multipart(copy=False)
                self._put(key.bytes, call.bytes, data.buffer)

    def reach(self, rank: int, address: str) -> None:
        """Connect to a process."""
        line = self._socket(self._zmq.PUSH)
        line.curve_serverkey = self._public
        line.linger = 2000
        line.connect(address)
        self._lines[rank] = line

    def send(self, rank: int, key: bytes, call: bytes, data: Any) -> None:
        """Send a message to a process."""
        with self._lock:
            try:
                self._lines[rank].send_multipart((key, call, data), copy=True)
            except self._zmq.ZMQError as error:
                raise DistBackendError(f"cannot send to rank {rank}: {error}") from error

    def close(self) -> None:
        """Send the queued messages and close all connections."""
        if self._closing:
            return
        self._closing = True
        atexit.unregister(self.close)
        self._thread.join()
        self._receiver.close(linger=0)
        for line in self._lines.values():
            line.close()
        self._guard.stop()
        self._context.term()
