"""`torch.distributed.rpc`, remote procedure calls. Flambeau does not support them: `is_available` returns False.

>>> from flambeau.distributed import rpc
>>> rpc.is_available()
False
"""

from __future__ import annotations

from enum import Enum
from typing import Any, NoReturn

__all__ = [
    "BackendType", "RRef", "TensorPipeRpcBackendOptions", "get_worker_info", "init_rpc", "is_available", "remote", "rpc_async",
    "rpc_sync", "shutdown",
]  # fmt: skip


class BackendType(Enum):
    """The transport of remote procedure calls."""

    TENSORPIPE = "TENSORPIPE"


class TensorPipeRpcBackendOptions:
    """Options of the transport, which are kept as attributes."""

    def __init__(
        self, *, num_worker_threads: int = 16, rpc_timeout: float = 60.0, init_method: str = "env://", **options: Any
    ) -> None:
        self.num_worker_threads, self.rpc_timeout, self.init_method = num_worker_threads, rpc_timeout, init_method
        self.__dict__.update(options)


class RRef:
    """A reference to an object of another process.  The constructor raises RuntimeError."""

    def __init__(self, value: Any, type_hint: Any = None) -> None:
        _refuse("RRef")


def is_available() -> bool:
    """Return False, as PyTorch does when built without RPC."""
    return False


def _refuse(name: str) -> NoReturn:
    raise RuntimeError(f"{name}(): torch.distributed.rpc is not available; use collectives or send/recv instead")


def init_rpc(name: str, *args: Any, **kwargs: Any) -> NoReturn:
    """Raise RuntimeError: remote procedure calls are not supported."""
    _refuse("init_rpc")


def rpc_sync(to: Any, func: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Raise RuntimeError: remote procedure calls are not supported."""
    _refuse("rpc_sync")


def rpc_async(to: Any, func: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Raise RuntimeError: remote procedure calls are not supported."""
    _refuse("rpc_async")


def remote(to: Any, func: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Raise RuntimeError: remote procedure calls are not supported."""
    _refuse("remote")


def shutdown(graceful: bool = True, timeout: float = 0) -> NoReturn:
    """Raise RuntimeError: remote procedure calls are not supported."""
    _refuse("shutdown")


def get_worker_info(worker_name: str | None = None) -> NoReturn:
    """Raise RuntimeError: remote procedure calls are not supported."""
    _refuse("get_worker_info")
