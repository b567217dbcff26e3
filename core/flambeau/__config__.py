"""`torch.__config__`: a description of the configuration at run time."""

from __future__ import annotations

import flambeau as torch

from .cli.env import report

__all__ = ["parallel_info", "show"]


def show() -> str:
    """The versions, backends and devices in use, as `python -m flambeau env` prints them."""
    return report()


def parallel_info() -> str:
    """The numbers of threads that work on the CPU."""
    return f"get_num_threads() : {torch.get_num_threads()}\nget_num_interop_threads() : {torch.get_num_interop_threads()}\n"
