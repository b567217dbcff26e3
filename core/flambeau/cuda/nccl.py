"""`torch.cuda.nccl`: collectives between the GPUs of one process, which are not supported; see `torch.distributed`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

__all__ = ["all_gather", "all_reduce", "broadcast", "is_available", "reduce", "reduce_scatter", "unique_id", "version"]


def is_available(tensors: Any) -> bool:
    """Return False: the functions of this module are not supported."""
    return False


def _refuse(*args: Any, **kwargs: Any) -> NoReturn:
    """Raise RuntimeError: the functions of this module are not supported."""
    raise RuntimeError("torch.cuda.nccl is not supported; use torch.distributed")


version: Callable[..., NoReturn] = _refuse
unique_id: Callable[..., NoReturn] = _refuse
all_reduce: Callable[..., NoReturn] = _refuse
reduce: Callable[..., NoReturn] = _refuse
broadcast: Callable[..., NoReturn] = _refuse
all_gather: Callable[..., NoReturn] = _refuse
reduce_scatter: Callable[..., NoReturn] = _refuse
