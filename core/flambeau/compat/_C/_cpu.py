"""Queries of CPU instructions, with which libraries choose kernels of PyTorch's C++ library: flambeau has none of them."""

from __future__ import annotations

__all__ = ["_is_amx_tile_supported", "_is_vnni_supported"]


def _is_amx_tile_supported() -> bool:
    """Return False: no operator takes weights packed for AMX tiles."""
    return False


def _is_vnni_supported() -> bool:
    """Return False: there are no kernels for VNNI instructions."""
    return False
