"""`torch.backends.cudnn`: settings of cuDNN, NVIDIA's library of neural network layers for CUDA devices."""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import SimpleNamespace
from typing import Any, Final

from .switches import changed

__all__ = [
    "allow_tf32", "benchmark", "benchmark_limit", "conv", "deterministic", "enabled", "flags", "fp32_precision",
    "is_acceptable", "is_available", "rnn", "version",
]  # fmt: skip

enabled = True
benchmark = False
benchmark_limit: int | None = None
deterministic = False
allow_tf32 = True
fp32_precision = "none"
conv: Final = SimpleNamespace(fp32_precision="tf32")
rnn: Final = SimpleNamespace(fp32_precision="tf32")


def version() -> int | None:
    """Return the version of cuDNN, such as 91002; None if it is not in use."""
    return _backend_version() if is_available() else None


def _backend_version() -> int | None:
    from ..engine.devices import cuda as runtime

    number: int | None = getattr(runtime.backend(), "cudnn_version", lambda: None)()
    return number


def is_available() -> bool:
    """Whether cuDNN is in use."""
    from .. import cuda

    return cuda.is_available() and _backend_version() is not None


def is_acceptable(tensor: Any) -> bool:
    """Whether cuDNN can compute with this tensor: cuDNN is enabled, and the tensor is a floating-point CUDA tensor."""
    return is_available() and enabled and tensor.is_cuda and tensor.is_floating_point()


def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
) -> AbstractContextManager[None]:
    """Return a context in which the given settings of cuDNN apply."""
    return changed(
        globals(),
        enabled=enabled,
        benchmark=benchmark,
        benchmark_limit=benchmark_limit,
        deterministic=deterministic,
        allow_tf32=allow_tf32,
    )
