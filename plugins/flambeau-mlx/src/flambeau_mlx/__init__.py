"""flambeau on MLX: the device type `mlx`, whose arrays are lazy and immutable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import mlx.core as mx
import numpy

from flambeau.backend import Backend, hookimpl

from . import namespace
from .kernels import KERNELS

__all__ = ["MLXBackend"]


class MLXBackend(Backend):
    """Backend for MLX: arrays are `mlx.core.array` on MLX's default device, a GPU if present."""

    name = "mlx"
    device_type = "mlx"
    xp = namespace
    array_type = mx.array
    kernels = KERNELS

    @cached_property
    def dtypes(self) -> Mapping[Any, Any]:
        """The dtypes of MLX except float64, which MLX supports only on the CPU, and there computes in float32 precision."""
        return {dtype: raw for dtype, raw in super().dtypes.items() if raw != mx.float64}

    def asarray(self, data: Any, raw_dtype: Any = None, *, index: int = 0, copy: bool | None = None) -> Any:
        if isinstance(data, mx.array):
            return data if raw_dtype is None or data.dtype == raw_dtype else data.astype(raw_dtype)
        host = numpy.asarray(data)
        if host.dtype.name == "bfloat16":  # MLX cannot convert NumPy's bfloat16; float32 represents each value exactly
            return mx.array(host.astype(numpy.float32)).astype(raw_dtype or mx.bfloat16)
        return mx.array(host, dtype=raw_dtype)

    def to_host(self, array: Any) -> Any:
        if array.dtype == mx.bfloat16:
            import ml_dtypes

            return numpy.array(array.astype(mx.float32)).astype(ml_dtypes.bfloat16)
        return numpy.asarray(array)

    def evaluate(self, arrays: Sequence[Any]) -> None:
        mx.async_eval(*arrays)

    def synchronize(self, index: int | None = None) -> None:
        mx.synchronize()

    def report(self) -> str:
        return f"mlx {mx.__version__} on {mx.default_device()}"


_backend = MLXBackend()


@hookimpl
def flambeau_backend(name: str) -> MLXBackend | None:
    return _backend if name == "mlx" else None
