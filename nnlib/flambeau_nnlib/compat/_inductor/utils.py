"""`torch._inductor.utils`: helpers around PyTorch's compiler back end."""

from __future__ import annotations

import flambeau as torch

from ..unsupported import unsupported_function
from . import config

__all__ = ["parallel_num_threads", "run_and_get_code"]

run_and_get_code = unsupported_function("run_and_get_code", "flambeau's compiler writes no source code")


def parallel_num_threads() -> int:
    """Return the setting `cpp.threads`, or torch's number of threads if the setting is below 1."""
    threads = config.cpp.threads
    return int(threads if threads > 0 else torch.get_num_threads())
