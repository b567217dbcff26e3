"""`torch.__config__`: a description of the versions, backends, devices and thread counts in use."""

from __future__ import annotations

import flambeau as torch

from .cli.env import report

__all__ = ["parallel_info", "show"]


def show() -> str:
    """Return the versions, backends and devices in use, as `python -m flambeau env` prints them."""
    return report()


def parallel_info() -> str:
    """Return the numbers of intra-operation and inter-operation CPU threads as text."""
    return f"get_num_threads() : {torch.get_num_threads()}\nget_num_interop_threads() : {torch.get_num_interop_threads()}\n"
