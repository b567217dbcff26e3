"""Temporarily replace the kernel tables of dispatch keys, to record kernel calls.  No other module replaces them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from ...backend import Backend
from .devices import DispatchKey, cached_keys, kernels_of

__all__ = ["Interceptor", "intercepts", "read_number", "real_backend", "wrapped_kernel"]


class Interceptor:
    """Context in which all kernels of some backends go through `wrap_kernel`.

    Kernels are only reached through a `DispatchKey`: its entries (`key["exp"]`), its kernels for derivative rules (`key.F`) and
    its backend.  Inside the context, each plain key of these backends has:

    - the result of `stand_in` in place of its backend, with the stand-in's `array_type`;
    - an empty table, filled on demand: a kernel is looked up for the real backend (inside `suspended`), then wrapped;
    - a new `F`, new constants, and the changes made by `set_up`.

    Keys are shared by all threads, so only one interceptor is installed at a time: `Interceptor.active`.  When the context ends,
    even by an error, all keys are restored; kernels looked up in between are kept.  Subclasses handle keys derived from plain
    keys, such as those of conjugate views and of `vmap`, because transforms are in a higher layer.

    Args:
        backends: the backends whose kernels are wrapped.
    """

    active: ClassVar[Interceptor | None] = None

    def __init__(self, backends: Sequence[Backend]) -> None:
        self.backends: list[Backend] = list(backends)
        self.real_backends: dict[Any, Backend] = {}  # the backend of each stand-in
        self._contents: dict[DispatchKey, _Contents] = {}  # the original contents of the keys

    # --- for subclasses ---

    def stand_in(self, backend: Backend) -> Any:
        """Return the object that replaces a backend in dispatch keys."""
        raise NotImplementedError

    def wrap_kernel(self, name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
        """Return the replacement for the kernel of operation `name`."""
        raise NotImplementedError

    def read_number(self, backend: Any, array: Any) -> Any:
        """Return the number in a one-element array of a stand-in.  A subclass may return a number that records its use."""
        return backend.item(array)

    def set_up(self, key: DispatchKey) -> None:
        """Change further attributes of a dispatch key whose backend has been replaced."""

    # --- the context ---

    def __enter__(self) -> Self:
        if Interceptor.active is not None:
            raise RuntimeError("another interceptor is installed; exit its context first")
        Interceptor.active, self._resolve = self, DispatchKey.resolve
        try:
            stand_ins = {backend: self.stand_in(backend) for backend in self.backends}
            self.real_backends = {stand_in: backend for backend, stand_in in stand_ins.items()}
            self._contents = {key: _Contents.of(key) for key in set(cached_keys.values()) if key.backend in stand_ins}
            for key in self._contents:
                self._replace(key, stand_ins[key.backend])
            DispatchKey.resolve = staticmethod(self.resolve)
        except BaseException:
            self._restore()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        self._restore()

    def _replace(self, key: DispatchKey, stand_in: Any) -> None:
        key.clear()
        key.backend, key.array_type = stand_in, stand_in.array_type
        key.constants, key.table = {}, {}
        self.set_up(key)
        key.F = kernels_of(key)

    def _restore(self) -> None:
        DispatchKey.resolve = staticmethod(self._resolve)
        for key, contents in self._contents.items():
            contents.restore(key)
        Interceptor.active = None

    # --- while it is installed ---

    def intercepts(self, key: DispatchKey) -> bool:
        """Whether this interceptor wraps the kernels of a dispatch key."""
        return key in self._contents

    def resolve(self, name: str, key: DispatchKey) -> tuple[Callable[..., Any], Any]:
        """Return the wrapped kernel of an operation and the dispatch key of its result. Called at the first lookup in a key."""
        if key not in self._contents:
            return self._resolve(name, key)
        with self.suspended():
            kernel, result = key[name]
            self._contents[key].entries[name] = kernel, result
        return self.wrap_kernel(name, kernel), result

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """Context in which all dispatch keys have their original contents."""
        replaced = {key: _Contents.of(key) for key in self._contents}
        DispatchKey.resolve = staticmethod(self._resolve)
        for key, contents in self._contents.items():
            contents.restore(key)
        try:
            yield
        finally:
            DispatchKey.resolve = staticmethod(self.resolve)
            for key, contents in replaced.items():
                contents.restore(key)


@dataclass(slots=True)
class _Contents:
    """The entries and attributes of a dispatch key that an interceptor replaces."""

    entries: dict[str, Any]
    attributes: dict[str, Any]

    @classmethod
    def of(cls, key: DispatchKey) -> _Contents:
        names = ("backend", "array_type", "constants", "scalars", "constant_types", "F", "table")
        return cls(dict(key), {name: getattr(key, name) for name in names})

    def restore(self, key: DispatchKey) -> None:
        key.clear()
        key.update(self.entries)
        for name, value in self.attributes.items():
            setattr(key, name, value)


def real_backend(backend: Backend) -> Backend:
    """Return the real backend of a stand-in; return other backends unchanged."""
    active = Interceptor.active
    return backend if active is None else active.real_backends.get(backend, backend)


def wrapped_kernel(name: str, kernel: Callable[..., Any], backend: Backend) -> Callable[..., Any]:
    """Wrap a kernel that is in no dispatch key's table if `backend` is a stand-in; otherwise return the kernel unchanged."""
    active = Interceptor.active
    return kernel if active is None or backend not in active.real_backends else active.wrap_kernel(name, kernel)


def intercepts(backend: Backend) -> bool:
    """Whether `backend` is a stand-in of the active interceptor."""
    active = Interceptor.active
    return active is not None and backend in active.real_backends


def read_number(backend: Backend, array: Any) -> Any:
    """Return the number in a one-element array of a stand-in, by the active interceptor's `read_number`."""
    assert Interceptor.active is not None
    return Interceptor.active.read_number(backend, array)
