"""`torch.__config__`: what there is at run time, in words."""

from __future__ import annotations

import flambeau as torch

from .launching.env import report

__all__ = ["parallel_info", "show"]


def show() -> str:
    """The versions, backends and devices in use, as `python -m flambeau env` prints them."""
    return report()


def parallel_info() -> str:
    """How many threads work on the CPU."""
    return f"get_num_threads() : {torch.get_num_threads()}\nget_num_interop_threads() : {torch.get_num_interop_threads()}\n"
