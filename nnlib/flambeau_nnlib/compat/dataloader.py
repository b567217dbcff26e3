"""Types of `torch.utils.data.dataloader`, for use in annotations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__: list[str] = []

_collate_fn_t = Callable[[list[Any]], Any]
_worker_init_fn_t = Callable[[int], None]
