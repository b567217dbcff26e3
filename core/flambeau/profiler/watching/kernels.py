"""Observe the kernels that operations, derivative rules and optimizers call: their names, times and origins."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any

from ...backend import Backend
from ...engine.calls.resolve import is_on_host
from ...engine.calls.tables import OPS
from ...engine.devices.devices import DispatchKey, device, dispatch_key
from ...engine.values import dtypes
from ...transforms.capture.interceptor import TransformInterceptor

__all__ = ["KernelCall", "KernelObserver"]


@dataclass(slots=True)
class KernelCall:
    """One call of a kernel, with its arguments and its result; `origin` describes where the kernel comes from."""

    name: str
    origin: str
    function: Callable[..., Any]
    time: int  # in nanoseconds
    args: tuple[Any, ...]
    result: Any
    in_place: bool = False  # whether it writes to its first argument

    def release(self) -> None:
        """Forget the arguments and the result, so that their memory can be freed."""
        self.args, self.result = (), None


Observe = Callable[[KernelCall], None]


class KernelObserver(TransformInterceptor):
    """Context in which `observe` is called after each kernel call; a kernel that another one calls is not observed.

    Args:
        backends: the backends whose kernels are observed.
        observe: takes a `KernelCall`.
    """

    observe: Observe
    depth: int

    def __init__(self, backends: Sequence[Backend], observe: Observe) -> None:
        super().__init__(backends)
        self.observe, self.depth = observe, 0
        self._found: dict[str, tuple[str, Callable[..., Any]]] = {}  # origin and function of kernels that are being looked up
        for backend in backends:
            for dtype in backend.dtypes:  # keys that are created later would not be intercepted
                dispatch_key(dtype, device(backend.device_type))

    def stand_in(self, backend: Backend) -> ObservedBackend:
        return ObservedBackend(backend, self)

    def resolve(self, name: str, key: DispatchKey) -> tuple[Callable[..., Any], Any]:
        if self.intercepts(key):
            self._found[name] = find_kernel(name, key, self.real_backends.get(key.backend, key.backend))
        return super().resolve(name, key)

    def wrap_kernel(self, name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
        origin, function = self._found.get(name, ("formula of the optimizer", kernel))
        return self.observed(name, kernel, origin, function)

    def observed(
        self, name: str, kernel: Callable[..., Any], origin: str, function: Callable[..., Any], in_place: bool = False
    ) -> Callable[..., Any]:
        """Wrap a kernel so that its calls are observed; `function` is the kernel without casts."""

        def call(*args: Any, **kwargs: Any) -> Any:
            if self.depth:
                return kernel(*args, **kwargs)
            self.depth += 1
            start = perf_counter_ns()
            try:
                result = kernel(*args, **kwargs)
            finally:
                time = perf_counter_ns() - start
                self.depth -= 1
            self.observe(KernelCall(name, origin, function, time, args, result, in_place))
            return result

        return call


class ObservedBackend:
    """Replacement of a backend whose kernels are observed; everything else is the backend's."""

    def __init__(self, real: Backend, observer: KernelObserver) -> None:
        self._real = real

        def observed(name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
            return observer.observed(name, kernel, _origin_of_kernel(name, real), kernel)

        def observed_for_half(name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
            return observer.observed(name, kernel, f"{real.name} kernel for half precision", kernel)

        def observed_in_place(name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
            return observer.observed(f"{name}_", kernel, f"{real.name} in-place kernel", kernel, in_place=True)

        self.all_kernels: _ObservedKernels = _ObservedKernels(real.all_kernels, observed)
        self.half_kernels: _ObservedKernels = _ObservedKernels(real.half_kernels, observed_for_half)
        self.all_inplace_kernels: _ObservedKernels = _ObservedKernels(real.all_inplace_kernels, observed_in_place)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


class _ObservedKernels(Mapping[str, Callable[..., Any]]):
    """Kernels by name, each wrapped when it is looked up."""

    def __init__(self, real: Mapping[str, Callable[..., Any]], wrap: Callable[[str, Callable[..., Any]], Any]) -> None:
        self._real, self._wrap = real, wrap

    def __getitem__(self, name: str) -> Callable[..., Any]:
        return self._wrap(name, self._real[name])  # type: ignore[no-any-return]  # a function

    def __iter__(self) -> Iterator[str]:
        return iter(self._real)

    def __len__(self) -> int:
        return len(self._real)


def find_kernel(name: str, key: DispatchKey, backend: Backend) -> tuple[str, Callable[..., Any]]:
    """Return where the kernel of an operation comes from, such as "numpy kernel" or "array-API forward", and its function."""
    if key.dtype in dtypes.HALF and name in backend.half_kernels:
        return f"{backend.name} kernel for half precision", backend.half_kernels[name]
    if name in backend.all_kernels:
        return _origin_of_kernel(name, backend), backend.all_kernels[name]
    record = OPS[name]
    if is_on_host(record, backend):
        return f"the CPU, because the library of {backend.name} has no {record.requires}", record.forward
    return "array-API forward", record.forward


def _origin_of_kernel(name: str, backend: Backend) -> str:
    kernel = backend.all_kernels[name]
    if backend.kernels.get(name) is kernel:
        return f"{backend.name} kernel"
    package = (getattr(kernel, "__module__", None) or "").partition(".")[0]
    return f"kernel pack {package}".rstrip()
