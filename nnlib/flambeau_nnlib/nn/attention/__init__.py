"""The choice of the implementations of attention.

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

# Whether PyTorch warns where none of its kernels for CUDA serves a mask; there are none here, and nothing is warned of.
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
    """A context that allows only these implementations of attention; of several that apply, the fastest is used.

    `set_priority` is accepted for compatibility.

    Raises:
        AssertionError: `backends` is neither a backend nor a list of them.
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
