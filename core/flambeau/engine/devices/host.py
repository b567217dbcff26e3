"""CPU fallbacks for backends: random numbers, missing functions of the array API standard, and reinterpreted dtypes.

A backend may override them with its own implementations.  Arrays are copied to the host and back.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ...backend import Array, Backend, for_device_type, upper_layers
from ..values import dtypes
from ..values.dtypes import dtype
from .devices import DispatchKey, device, dispatch_key

__all__ = [
    "COMPUTED_ON_HOST",
    "HostGenerator",
    "MissingError",
    "StandardNamespace",
    "kernel_on_host",
    "or_on_host",
    "reinterpret",
]

_SAMPLERS_OF_DTYPE = frozenset(
    {"bernoulli", "cauchy", "exponential", "geometric", "integers", "log_normal", "normal", "permutation", "uniform"}
)
_SAMPLERS_OF_ARRAYS = frozenset({"binomial", "dirichlet", "gamma", "multinomial", "poisson"})


class HostGenerator:
    """A CPU random generator for device `index` of `backend`: its samplers take dtypes, and return arrays, of that backend."""

    def __init__(self, backend: Backend, index: int, stream: Any = None) -> None:
        host = for_device_type("cpu")
        self._backend, self._index = backend, index
        self._stream = stream or host.generator(0)
        self._dtypes = {raw: host.dtypes[d] for d, raw in backend.dtypes.items() if d in host.dtypes}

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._stream, name)  # a method that draws samples, or an attribute such as the seed
        return (
            self._sampler(attribute, name in _SAMPLERS_OF_DTYPE)
            if name in _SAMPLERS_OF_DTYPE or name in _SAMPLERS_OF_ARRAYS
            else attribute
        )

    def _sampler(self, draw: Callable[..., Any], takes_dtype: bool) -> Callable[..., Any]:
        backend = self._backend

        def sample(size: Any, *args: Any, **kwargs: Any) -> Any:
            if takes_dtype:
                args = (self._dtypes[args[0]], *args[1:])
            arguments = [backend.to_host(a) if isinstance(a, backend.array_type) else a for a in (size, *args)]
            return backend.from_host(draw(*arguments, **kwargs), self._index)

        return sample

    def clone(self) -> HostGenerator:
        """Return a new generator with the current state."""
        return HostGenerator(self._backend, self._index, self._stream.clone())


COMPUTED_ON_HOST: dict[str, set[str]] = {}
"""For each backend name, the operations called so far that the CPU computes for the backend."""


def kernel_on_host(name: str, key: DispatchKey) -> Callable[..., Any]:
    """Wrap the CPU's kernel of an operation so that it takes arrays of another backend: copy them to the host and back."""
    COMPUTED_ON_HOST.setdefault(key.backend.name, set()).add(name)
    host_key, backend, index = key.on(device("cpu")), key.backend, key.device.index or 0
    host, array_type = host_key.backend, backend.array_type

    def to_host(value: Any) -> Any:
        return backend.copied_to(host, value) if isinstance(value, array_type) else value

    def from_host(value: Any) -> Any:
        return host.copied_to(backend, value, index) if isinstance(value, host.array_type) else value

    def kernel(*args: Any, **kwargs: Any) -> Any:
        results = host.compute(host_key[name][0], *map(to_host, args), **kwargs)
        return tuple(map(from_host, results)) if isinstance(results, (tuple, list)) else from_host(results)

    return kernel


class MissingError(AttributeError):
    """Raised if a library lacks a function or a dtype of the array API standard."""


class StandardNamespace:
    """The namespace of a backend's library, which raises `MissingError` for missing functions and dtypes.

    Dtypes that are not in the backend's `dtypes` are missing even if the library has attributes with their names.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        for known in dtypes.ALL:
            if known in backend.dtypes:
                setattr(self, known.name, backend.dtypes[known])

    def __getattr__(self, name: str) -> Any:
        if name not in _DTYPE_NAMES:
            try:
                value = getattr(self._backend.xp, name)
            except AttributeError:
                pass
            else:
                value = _Extension(self._backend, name, value) if name in ("fft", "linalg") else value
                setattr(self, name, value)  # cached: Python calls `__getattr__` for missing attributes only
                return value
        raise MissingError(f"the library of the {self._backend.name} backend has no {name}")


class _Extension:
    """The namespace of an extension of the standard, such as `linalg`; raises `MissingError` for missing functions."""

    def __init__(self, backend: Backend, name: str, part: Any) -> None:
        self._backend, self._name, self._part = backend, name, part

    def __getattr__(self, name: str) -> Any:
        try:
            value = getattr(self._part, name)
        except AttributeError:
            raise MissingError(f"the library of the {self._backend.name} backend has no {self._name}.{name}") from None
        setattr(self, name, value)
        return value


_DTYPE_NAMES = frozenset(known.name for known in dtypes.ALL)


def or_on_host(name: str, key: DispatchKey, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a kernel: if it raises `MissingError`, warn, and use the CPU's kernel from then on."""
    current = kernel

    def compute(*args: Any, **kwargs: Any) -> Any:
        nonlocal current
        try:
            return current(*args, **kwargs)
        except MissingError as error:
            if current is not kernel:
                raise
            warnings.warn(f"{name} is computed on the CPU, and copied: {error}. A kernel {name!r} would avoid that", stacklevel=2)
            current = kernel_on_host(name, key)
        return current(*args, **kwargs)

    return compute


def reinterpret(backend: Backend, array: Array, wanted: dtype) -> Array:
    """Reinterpret the bytes of another backend's array as the dtype `wanted`, on the CPU, and copy the result back."""
    key = dispatch_key(backend.dtype_of(array), device("cpu"))
    on_host = key["contiguous"][0](key.backend.asarray(backend.to_host(array)))
    return backend.from_host(key.backend.reinterpret(on_host, wanted))


upper_layers.host_generator, upper_layers.host_reinterpret = HostGenerator, reinterpret
upper_layers.standard_namespace = StandardNamespace
