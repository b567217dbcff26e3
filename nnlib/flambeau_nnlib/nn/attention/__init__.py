"""Selection of the implementation of `scaled_dot_product_attention`.

>>> from flambeau.nn.attention import SDPBackend, sdpa_kernel
>>> q = torch.ones(1, 2, 4)
>>> with sdpa_kernel(SDPBackend.MATH):
...     torch.nn.functional.scaled_dot_product_attention(q, q, q).shape
torch.Size([1, 2, 4])
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import Enum

import flambeau as torch

from .implementations import (
    activate_flash_attention_impl,
    current_flash_attention_impl,
    list_flash_attention_impls,
    register_flash_attention_impl,
    restore_flash_attention_impl,
)

__all__ = [
    "WARN_FOR_UNFUSED_KERNELS", "SDPBackend", "activate_flash_attention_impl", "current_flash_attention_impl",
    "list_flash_attention_impls", "register_flash_attention_impl", "restore_flash_attention_impl", "sdpa_kernel",
]  # fmt: skip

# In PyTorch, this flag enables a warning when no fused CUDA kernel supports a mask. It has no effect in flambeau.
WARN_FOR_UNFUSED_KERNELS = False


class SDPBackend(Enum):
    """An implementation of `scaled_dot_product_attention`."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


_SWITCHES = {
    SDPBackend.MATH: "math_sdp",
    SDPBackend.FLASH_ATTENTION: "flash_sdp",
    SDPBackend.EFFICIENT_ATTENTION: "mem_efficient_sdp",
    SDPBackend.CUDNN_ATTENTION: "cudnn_sdp",
}


@contextmanager
def sdpa_kernel(backends: Iterable[SDPBackend] | SDPBackend, set_priority: bool = False) -> Iterator[None]:
    """Context in which attention uses only the given implementations; the fastest applicable one is chosen.

    `set_priority` is accepted for compatibility.

    Raises:
        AssertionError: `backends` is neither an `SDPBackend` nor a list of them.
    """
    if not isinstance(backends, (list, SDPBackend)):
        raise AssertionError(
            f"Backend must be an instance of SDPBackend or a list of SDPBackend instances, got {type(backends).__name__}"
        )
    allowed = {backends} if isinstance(backends, SDPBackend) else set(backends)
    switches, before = torch.backends.cuda, {}
    for backend, name in _SWITCHES.items():
        before[name] = getattr(switches, f"{name}_enabled")()
        getattr(switches, f"enable_{name}")(backend in allowed)
    try:
        yield
    finally:
        for name, enabled in before.items():
            getattr(switches, f"enable_{name}")(enabled)
