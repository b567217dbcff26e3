"""`torch.testing._internal.common_distributed`: a decorator of PyTorch's tests on several GPUs."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any
from unittest import SkipTest

import flambeau as torch

__all__ = ["skip_if_lt_x_gpu"]


def skip_if_lt_x_gpu(x: int, *, allow_cpu: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator of tests that skips them if fewer than `x` GPUs are available.

    Args:
        x: the number of GPUs.
        allow_cpu: run the test also where no GPU is available.
    """

    def decorator(test: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(test)
        def run(*args: Any, **kwargs: Any) -> Any:
            count = torch.cuda.device_count()
            if count < x and not (allow_cpu and count == 0):
                raise SkipTest(f"Need at least {x} CUDA devices")
            return test(*args, **kwargs)

        return run

    return decorator
