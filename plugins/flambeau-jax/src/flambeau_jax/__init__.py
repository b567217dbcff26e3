"""flambeau on JAX: the device type `jax`, with immutable arrays and kernels compiled by XLA."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy

from flambeau.backend import Creating, RecordableBackend, hookimpl

from .compiled import PROGRAMS, Compiled
from .kernels import KERNELS, cast
from .program import CompiledProgram, number_in_program

__all__ = ["JaxBackend"]

jax.config.update("jax_enable_x64", True)  # PyTorch's default integer dtype is int64
if jax.config.jax_compilation_cache_dir is None:
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    jax.config.update("jax_compilation_cache_dir", os.path.join(caches, "flambeau-jax"))
if "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS" not in os.environ:  # cache small kernels as well, because every run needs them
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
if os.environ.get("FLAMBEAU_CONFORMANCE") == "quick":
    jax.config.update("jax_disable_most_optimizations", True)


def on_device(host: Any) -> Any:
    """Copy a NumPy array to JAX.  `jnp.asarray` is used only for 0-d arrays, as it compiles a program for each shape."""
    return jax.device_put(host) if host.ndim else jnp.asarray(host)


def by_numpy(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a creation function: NumPy creates the array, which is copied to JAX. JAX would compile a program for each shape."""
    make = getattr(numpy, function.__name__)
    return lambda *args, **kwargs: on_device(make(*args, **kwargs))


_CREATING = Creating(jnp, by_numpy)


class JaxBackend(RecordableBackend):
    """Backend for JAX: arrays are `jax.Array`; `xp` is `jax.numpy`, which follows the array API standard."""

    name = "jax"
    device_type = "jax"
    complete = True
    compiles_programs = True
    xp = jnp
    array_type = type(jnp.zeros(()))
    kernels = KERNELS

    def compile_forward(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        return Compiled(name, function)

    def compile_program(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        return CompiledProgram(function, name)

    def clear_caches(self) -> None:
        PROGRAMS.forget()
        jax.clear_caches()

    # --- arrays ---

    def asarray(self, data: Any, raw_dtype: Any = None, *, index: int = 0, copy: bool | None = None) -> Any:
        if isinstance(data, jax.Array):
            return data if raw_dtype in (None, data.dtype) else self.astype(data, raw_dtype)
        return on_device(numpy.array(data, dtype=raw_dtype))  # a copy, because JAX may keep using the memory of `data`

    def namespace_on(self, index: int | None) -> Any:
        return _CREATING

    def to_host(self, array: Any) -> Any:
        return numpy.asarray(array)

    def item(self, array: Any) -> Any:
        return number_in_program(array) if isinstance(array, jax.core.Tracer) else array.item()

    def astype(self, array: Any, raw_dtype: Any) -> Any:
        return cast(array, raw_dtype)

    def reinterpret(self, array: Any, wanted: Any) -> Any:
        return array.view(self.dtypes[wanted])

    def synchronize(self, index: int | None = None) -> None:
        jax.effects_barrier()

    def report(self) -> str:
        return f"jax {jax.__version__} on {jax.default_backend()}"


_backend = JaxBackend()


@hookimpl
def flambeau_backend(name: str) -> JaxBackend | None:
    return _backend if name == "jax" else None
