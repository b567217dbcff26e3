"""flambeau on JAX: a device type `jax` whose arrays are immutable and whose kernels XLA compiles."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy

from flambeau.backend import Backend, hookimpl

from .compiled import PROGRAMS, Compiled
from .kernels import KERNELS, cast

__all__ = ["JaxBackend"]

jax.config.update("jax_enable_x64", True)  # PyTorch programs count in int64
if jax.config.jax_compilation_cache_dir is None:
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    jax.config.update("jax_compilation_cache_dir", os.path.join(caches, "flambeau-jax"))
if "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS" not in os.environ:  # programs are small and many, and the same in every run
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)


def on_device(host: Any) -> Any:
    """A NumPy array's elements as JAX's array.  `jnp.asarray` is faster, and compiles a program for each shape: numbers have one."""
    return jax.device_put(host) if host.ndim else jnp.asarray(host)


class _New:
    """`jax.numpy`, but new arrays are created by NumPy: XLA would compile a program for each shape to fill."""

    def __getattr__(self, name: str) -> Any:
        function = getattr(jnp, name)
        if name in ("arange", "empty", "eye", "full", "linspace", "ones", "zeros"):
            make = getattr(numpy, name)

            def function(*args: Any, **kwargs: Any) -> Any:
                return on_device(make(*args, **kwargs))

        setattr(self, name, function)
        return function


_NEW = _New()


class JaxBackend(Backend):
    """Arrays are `jax.Array`; `xp` is `jax.numpy`, which follows the array API standard."""

    name = "jax"
    device_type = "jax"
    complete = True
    xp = jnp
    array_type = type(jnp.zeros(()))

    @property
    def kernels(self) -> Mapping[str, Callable[..., Any]]:
        return KERNELS

    def compiled(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        return Compiled(name, function)

    def forget(self) -> None:
        PROGRAMS.forget()
        jax.clear_caches()

    # --- arrays ---

    def asarray(self, data: Any, raw_dtype: Any = None, *, index: int = 0, copy: bool | None = None) -> Any:
        if isinstance(data, jax.Array):
            return data if raw_dtype in (None, data.dtype) else self.astype(data, raw_dtype)
        return on_device(numpy.array(data, dtype=raw_dtype))  # a copy, because JAX may keep using the memory

    def wrap(self, array: Any) -> Any:
        return self.asarray(array)

    def on(self, index: int | None) -> Any:
        return _NEW

    def to_host(self, array: Any) -> Any:
        return numpy.asarray(array)

    def from_host(self, data: Any, index: int = 0) -> Any:
        return self.asarray(data)

    def tolist(self, array: Any) -> Any:
        return numpy.asarray(array).tolist()

    def item(self, array: Any) -> Any:
        return array.item()

    def astype(self, array: Any, raw_dtype: Any) -> Any:
        return cast(array, raw_dtype)

    def reinterpret(self, array: Any, wanted: Any) -> Any:
        return array.view(self.dtypes[wanted])

    def copy(self, array: Any) -> Any:
        return array  # immutable

    def synchronize(self, index: int | None = None) -> None:
        jax.effects_barrier()

    def report(self) -> str:
        return f"jax {jax.__version__} on {jax.default_backend()}"


_backend = JaxBackend()


@hookimpl
def flambeau_backend(name: str) -> JaxBackend | None:
    return _backend if name == "jax" else None
