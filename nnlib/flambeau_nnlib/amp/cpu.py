"""Deprecated classes of `torch.cpu.amp`."""

from __future__ import annotations

import flambeau as torch

from . import autocast_mode, grad_scaler
from .cuda.common import deprecate

__all__ = ["GradScaler", "autocast"]


class autocast(autocast_mode.autocast):
    """Deprecated: use `torch.amp.autocast("cpu", ...)`."""

    def __init__(self, enabled: bool = True, dtype: torch.dtype = torch.bfloat16, cache_enabled: bool = True) -> None:
        deprecate("cpu", "autocast", "autocast('cpu', args...)")
        super().__init__("cpu", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


class GradScaler(grad_scaler.GradScaler):
    """Deprecated: use `torch.amp.GradScaler("cpu", ...)`."""

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        deprecate("cpu", "GradScaler", "GradScaler('cpu', args...)")
        super().__init__("cpu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
