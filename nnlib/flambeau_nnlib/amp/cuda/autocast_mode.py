"""Deprecated: `torch.cuda.amp.autocast`, `custom_fwd` and `custom_bwd`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau as torch

from .. import autocast_mode
from .common import deprecate

__all__ = ["autocast", "custom_bwd", "custom_fwd"]


class autocast(autocast_mode.autocast):
    """Deprecated: use `torch.amp.autocast("cuda", ...)`."""

    def __init__(self, enabled: bool = True, dtype: torch.dtype = torch.float16, cache_enabled: bool = True) -> None:
        deprecate("cuda", "autocast", "autocast('cuda', args...)")
        super().__init__("cuda", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


def custom_fwd(fwd: Callable[..., Any] | None = None, *, cast_inputs: torch.dtype | None = None) -> Any:
    """Deprecated: use `torch.amp.custom_fwd(..., device_type="cuda")`."""
    deprecate("cuda", "custom_fwd", "custom_fwd(args..., device_type='cuda')")
    return autocast_mode.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Callable[..., Any]) -> Any:
    """Deprecated: use `torch.amp.custom_bwd(..., device_type="cuda")`."""
    deprecate("cuda", "custom_bwd", "custom_bwd(args..., device_type='cuda')")
    return autocast_mode.custom_bwd(bwd, device_type="cuda")
