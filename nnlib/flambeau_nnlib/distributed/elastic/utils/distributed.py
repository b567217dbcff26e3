"""Free ports."""

from __future__ import annotations

import socket

__all__ = ["get_free_port"]


def get_free_port() -> int:
    """Return the number of a port of this machine that is not in use now."""
    with socket.socket() as found:
        found.bind(("localhost", 0))
        return int(found.getsockname()[1])
