"""`torch.distributed.rpc`, remote procedure calls. Flambeau does not support them: `is_available` returns False.

>>> from flambeau.distributed import rpc
>>> rpc.is_available()
False
"""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["init_rpc", "is_available", "remote", "rpc_async", "rpc_sync", "shutdown"]


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
