"""`torch.distributed.rpc`: calls of functions in other processes. They are not to be had here, which `is_available` says.

>>> from flambeau.distributed import rpc
>>> rpc.is_available()
False
"""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["init_rpc", "is_available", "remote", "rpc_async", "rpc_sync", "shutdown"]


def is_available() -> bool:
    """False, as in a PyTorch that was built without it."""
    return False


def _refuse(name: str) -> NoReturn:
    raise RuntimeError(f"{name}(): torch.distributed.rpc is not available; torch.distributed's collectives and send/recv are")


def init_rpc(name: str, *args: Any, **kwargs: Any) -> NoReturn:
    """Raises RuntimeError."""
    _refuse("init_rpc")


def rpc_sync(to: Any, func: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Raises RuntimeError."""
    _refuse("rpc_sync")


def rpc_async(to: Any, func: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Raises RuntimeError."""
    _refuse("rpc_async")


def remote(to: Any, func: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Raises RuntimeError."""
    _refuse("remote")


def shutdown(graceful: bool = True, timeout: float = 0) -> NoReturn:
    """Raises RuntimeError."""
    _refuse("shutdown")
