"""How the processes of a job find each other: the address of a store that all share, from a URL."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlparse

from .agent_store import TorchrunStore
from .store import FileStore, Store, TCPStore, default_timeout

__all__ = ["register_rendezvous_handler", "rendezvous"]

_handlers: dict[str, Callable[..., Iterator[Any]]] = {}


def register_rendezvous_handler(scheme: str, handler: Callable[..., Iterator[Any]]) -> None:
    """Register `handler(url)` for `init_method="scheme://..."`. It yields a store, the rank and the world size."""
    if scheme in _handlers:
        raise RuntimeError(f"Rendezvous handler for {scheme}:// already registered")
    _handlers[scheme] = handler


def rendezvous(url: str, rank: int = -1, world_size: int = -1, **kwargs: Any) -> Iterator[tuple[Store, int, int]]:
    """Yield a store that all processes share, the rank, and the world size.

    `env://` reads RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT; `tcp://host:port` and `file:///path` contain the
    address.
    """
    parts = urlparse(url)
    if parts.scheme not in _handlers:
        raise RuntimeError(f"No rendezvous handler for {parts.scheme}://")
    query = {key: int(values[0]) for key, values in parse_qs(parts.query).items() if key in ("rank", "world_size")}
    rank, world_size = query.get("rank", rank), query.get("world_size", world_size)
    return _handlers[parts.scheme](parts, rank, world_size, **kwargs)


def _rendezvous_env(
    parts: Any, rank: int, world_size: int, timeout: timedelta = default_timeout
) -> Iterator[tuple[Store, int, int]]:
    def value(name: str) -> str:
        if name not in os.environ:
            raise ValueError(
                f"Error initializing torch.distributed using env:// rendezvous: environment variable {name} expected, but not set"
            )
        return os.environ[name]

    rank = int(value("RANK")) if rank < 0 else rank
    world_size = int(value("WORLD_SIZE")) if world_size < 0 else world_size
    address, port = value("MASTER_ADDR"), int(value("MASTER_PORT"))
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True":  # the launcher serves the store
        if "FLAMBEAU_LAUNCHER" in os.environ:
            yield TCPStore(address, port, world_size, False, timeout, wait_for_workers=False), rank, world_size
        else:
            yield TorchrunStore(address, port, timeout), rank, world_size
    else:
        yield TCPStore(address, port, world_size, rank == 0, timeout), rank, world_size


def _rendezvous_tcp(
    parts: Any, rank: int, world_size: int, timeout: timedelta = default_timeout
) -> Iterator[tuple[Store, int, int]]:
    _check_specified("tcp://", rank, world_size)
    yield TCPStore(parts.hostname, parts.port, world_size, rank == 0, timeout), rank, world_size


def _rendezvous_file(
    parts: Any, rank: int, world_size: int, timeout: timedelta = default_timeout
) -> Iterator[tuple[Store, int, int]]:
    _check_specified("file://", rank, world_size)
    yield FileStore(parts.path, world_size), rank, world_size


def _check_specified(scheme: str, rank: int, world_size: int) -> None:
    for name, value in (("rank", rank), ("world size", world_size)):
        if value < 0:
            raise ValueError(f"Error initializing torch.distributed using {scheme} rendezvous: {name} parameter missing")


_handlers.update(env=_rendezvous_env, tcp=_rendezvous_tcp, file=_rendezvous_file)
