"""`torch.backends.cuda`: settings for matrix products and attention on CUDA devices."""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import SimpleNamespace
from typing import Any, NamedTuple

from ..engine.devices.settings import get_float32_matmul_precision, set_float32_matmul_precision
from .switches import changed

__all__ = [
    "SDPAParams", "can_use_cudnn_attention", "can_use_efficient_attention", "can_use_flash_attention", "cudnn_sdp_enabled",
    "enable_cudnn_sdp", "enable_flash_sdp", "enable_math_sdp", "enable_mem_efficient_sdp", "flash_sdp_enabled",
    "is_available", "is_built", "math_sdp_enabled", "matmul", "mem_efficient_sdp_enabled",
    "preferred_linalg_library", "sdp_kernel",
]  # fmt: skip


class _Matmul(SimpleNamespace):
    """Settings of matrix products."""

    @property
    def allow_tf32(self) -> bool:
        """Whether float32 factors may be rounded to TF32: True unless `get_float32_matmul_precision()` is `"highest"`."""
        return get_float32_matmul_precision() != "highest"

    @allow_tf32.setter
    def allow_tf32(self, allowed: bool) -> None:
        set_float32_matmul_precision("high" if allowed else "highest")


matmul: _Matmul = _Matmul(
    allow_fp16_reduced_precision_reduction=True, allow_bf16_reduced_precision_reduction=True,
    allow_fp16_accumulation=False, fp32_precision="none",
)  # fmt: skip

_LINALG_LIBRARIES = ("default", "cusolver", "magma")


def preferred_linalg_library(backend: str | None = None) -> str:
    """Return the library for linear algebra on CUDA devices, always "default": cuSOLVER and cuBLAS, as CuPy chooses them.

    Raises:
        RuntimeError: `backend` is not "default", "cusolver" or "magma", or it is "magma", which is not supported.
    """
    if backend not in (None, *_LINALG_LIBRARIES):
        raise RuntimeError(f"Unknown input value. Choose from: {', '.join(_LINALG_LIBRARIES)}.")
    if backend == "magma":
        raise RuntimeError("Cannot set preferred backend to MAGMA if PyTorch has not been compiled with MAGMA.")
    return "default"


_flash = _mem_efficient = _math = _cudnn = True  # which attention implementations may be used


def is_available() -> bool:
    """Whether a CUDA device is usable."""
    from .. import cuda

    return cuda.is_available()


def is_built() -> bool:
    """Whether a backend for CUDA devices is installed."""
    from ..engine.devices import cuda as runtime

    try:
        return runtime.backend() is not None
    except AssertionError:
        return False


def flash_sdp_enabled() -> bool:
    """Whether flash attention may be used."""
    return _flash


def enable_flash_sdp(enabled: bool) -> None:
    """Set whether flash attention may be used."""
    global _flash
    _flash = enabled


def mem_efficient_sdp_enabled() -> bool:
    """Whether memory-efficient attention may be used."""
    return _mem_efficient


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Set whether memory-efficient attention may be used."""
    global _mem_efficient
    _mem_efficient = enabled


def math_sdp_enabled() -> bool:
    """Whether attention by plain matrix products may be used."""
    return _math


def enable_math_sdp(enabled: bool) -> None:
    """Set whether attention by plain matrix products may be used."""
    global _math
    _math = enabled


def cudnn_sdp_enabled() -> bool:
    """Whether cuDNN's attention may be used."""
    return _cudnn


def enable_cudnn_sdp(enabled: bool) -> None:
    """Set whether cuDNN's attention may be used."""
    global _cudnn
    _cudnn = enabled


class SDPAParams(NamedTuple):
    """The arguments of a call of `scaled_dot_product_attention`."""

    query: Any
    key: Any
    value: Any
    attn_mask: Any
    dropout: float
    is_causal: bool
    enable_gqa: bool


def can_use_flash_attention(params: SDPAParams, debug: bool = False) -> bool:
    """Return False: PyTorch's fused attention kernels are not used; flambeau has its own."""
    return False


can_use_efficient_attention = can_use_flash_attention
can_use_cudnn_attention = can_use_flash_attention


def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True
) -> AbstractContextManager[None]:
    """Deprecated: return a context that sets which implementations of attention may be used."""
    from ..engine.devices.warning import warn_once

    warn_once(
        "`torch.backends.cuda.sdp_kernel()` is deprecated. In the future, this context manager will be removed. "
        "Please see `torch.nn.attention.sdpa_kernel()` for the new context manager, with updated signature.",
        FutureWarning,
    )
    return changed(globals(), _flash=enable_flash, _mem_efficient=enable_mem_efficient, _math=enable_math, _cudnn=enable_cudnn)
