"""What a backend leaves to the CPU: random numbers, the optional extensions of the array API standard, and bits.

These are the defaults for a library that has nothing of its own.  Arrays are copied to the host and back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..backend import Array, Backend, for_device_type
from ..values.dtypes import dtype
from .devices import DispatchKey, device, dispatch_key

__all__ = ["HostGenerator", "kernel_on_host", "reinterpret"]

_OF_DTYPE = frozenset(
    {"bernoulli", "cauchy", "exponential", "geometric", "integers", "log_normal", "normal", "permutation", "uniform"}
)
_OF_ARRAYS = frozenset({"binomial", "dirichlet", "gamma", "multinomial", "poisson"})


class HostGenerator:
    """The CPU's random stream for device `index` of another backend: samplers take its dtypes and give its arrays."""

    def __init__(self, backend: Backend, index: int, stream: Any = None) -> None:
        host = for_device_type("cpu")
        self._backend, self._index = backend, index
        self._stream = stream or host.generator(0)
        self._dtypes = {raw: host.dtypes[each] for each, raw in backend.dtypes.items() if each in host.dtypes}

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._stream, name)  # seeds and states are the stream's own
        return self._sampler(found, name in _OF_DTYPE) if name in _OF_DTYPE or name in _OF_ARRAYS else found

    def _sampler(self, draw: Callable[..., Any], takes_dtype: bool) -> Callable[..., Any]:
        backend = self._backend

        def sample(size: Any, *args: Any, **kwargs: Any) -> Any:
            if takes_dtype:
                args = (self._dtypes[args[0]], *args[1:])
            given = [backend.to_host(each) if isinstance(each, backend.array_type) else each for each in (size, *args)]
            return backend.from_host(draw(*given, **kwargs), self._index)

        return sample

    def clone(self) -> HostGenerator:
        """A generator that continues independently from here."""
        return HostGenerator(self._backend, self._index, self._stream.clone())


def kernel_on_host(name: str, key: DispatchKey) -> Callable[..., Any]:
    """The CPU's kernel of an operation, for arrays of another backend."""
    host_key, backend, index = key.on(device("cpu")), key.backend, key.device.index or 0
    host, array_type = host_key.backend, backend.array_type

    def there(value: Any) -> Any:
        return backend.copied_to(host, value) if isinstance(value, array_type) else value

    def back(value: Any) -> Any:
        return host.copied_to(backend, value, index) if isinstance(value, host.array_type) else value

    def kernel(*args: Any, **kwargs: Any) -> Any:
        made = host.computed(host_key[name][0], *map(there, args), **kwargs)
        return tuple(map(back, made)) if isinstance(made, (tuple, list)) else back(made)

    return kernel


def reinterpret(backend: Backend, array: Array, wanted: dtype) -> Array:
    """The bytes of an array of another backend read as another dtype."""
    key = dispatch_key(backend.dtype_of(array), device("cpu"))
    there = key["contiguous"][0](key.backend.asarray(backend.to_host(array)))
    return backend.from_host(key.backend.reinterpret(there, wanted))


Backend.default_generator, Backend.default_reinterpret = HostGenerator, staticmethod(reinterpret)
