"""Faster kernels for flambeau's NumPy backend, compiled from C.

The pack is used automatically once installed; programs need no change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any

from flambeau.backend import Backend, hookimpl

__all__ = ["flambeau_fusion", "flambeau_inference", "flambeau_inplace_kernels", "flambeau_kernels", "flambeau_report_header"]


@hookimpl
def flambeau_kernels(backend: Backend) -> Mapping[str, Callable[..., Any]] | None:
    if backend.name != "numpy":
        return None
    from flambeau_backends.numpy.packs import follow

    from . import (  # noqa: F401  # importing a module registers its kernels
        attention,
        channels,
        convolution,
        dropping,
        elementwise,
        embedding,
        gamma,
        half_matrix,
        half_rows,
        halves,
        indexing,
        matrix,
        normal,
        optimizers,
        pooling,
        quantized,
        recurrent,
        rejection,
        rows,
        sums,
    )
    from .choice import KERNELS
    from .kernels import kernels

    follow(kernels.set_thread_count)
    return KERNELS


@hookimpl
def flambeau_inplace_kernels(backend: Backend) -> Mapping[str, Callable[..., Any]] | None:
    if backend.name != "numpy":
        return None
    from .choice import IN_PLACE

    return IN_PLACE


@hookimpl
def flambeau_fusion(backend: Backend) -> Any:
    if backend.name != "numpy":
        return None
    if find_spec("numba") is None:
        return None
    from .fusion import Loops

    return Loops()


@hookimpl
def flambeau_inference(backend: Backend) -> Any:
    if backend.name != "numpy":
        return None
    from .inference import Planner

    return Planner()


@hookimpl
def flambeau_report_header() -> str:
    from .kernels import kernels

    return f"flambeau-fast: {kernels.processor} kernels, {kernels.thread_count()} threads"
