"""Operations that are batched by a rule of their own: it is faster than the array-API forward, or that one does not do.

A rule takes a `BatchedBackend` and gives a kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

from ...backend import Backend
from ...calls.tables import OPS
from ...runtime.devices import device, dispatch_key
from ...runtime.host import kernel_on_host
from .arrays import BatchedArray

if TYPE_CHECKING:
    from .keys import BatchedBackend

__all__ = ["RULES"]


def _fold_into_first(name: str) -> Callable[[BatchedBackend], Callable[..., Any]]:
    """For an operation that has a batch of its own as first dimension of its first argument: where the other arguments are
    the same for all, a larger batch.
    """

    def rule(backend: BatchedBackend) -> Callable[..., Any]:
        xp, k = backend.xp, backend.depth
        forward = backend.compiled(name, partial(OPS[name].forward, xp))
        inner = backend.inner.all_kernels.get(name)

        def kernel(first: Any, *others: Any, **options: Any) -> Any:
            differ = any(isinstance(each, BatchedArray) and prod(each.raw.shape[:k]) > 1 for each in others)
            if inner is None or differ or not isinstance(first, BatchedArray):
                return forward(first, *others, **options)
            raw = first.raw
            shared = [xp.inner.reshape(each.raw, each.shape) if isinstance(each, BatchedArray) else each for each in others]
            made = inner(xp.inner.reshape(raw, (prod(raw.shape[: k + 1]), *raw.shape[k + 1 :])), *shared, **options)
            return xp.made(xp.inner.reshape(made, (*raw.shape[: k + 1], *made.shape[1:])))

        return kernel

    return rule


def _with_leading_dimensions(name: str) -> Callable[[BatchedBackend], Callable[..., Any]]:
    """For an operation that a backend has a kernel for and the array API has not, and whose arguments have any dimensions in
    front, the same ones each.
    """

    def rule(backend: BatchedBackend) -> Callable[..., Any]:
        xp, below = backend.xp, backend.inner

        def kernel(*args: Any, **options: Any) -> Any:
            count = len(OPS[name].tensor_names)
            plain = dispatch_key(below.dtype_of(args[0].raw), device(below.device_type, below.current_device()))
            inner = below.all_kernels.get(name) or kernel_on_host(name, plain)
            hidden = xp.hidden_shape(args[:count])
            made = inner(*(xp.spread(each, hidden) for each in args[:count]), *args[count:], **options)
            return tuple(map(xp.made, made)) if isinstance(made, tuple) else xp.made(made)

        return kernel

    return rule


def _of_own_backend(name: str) -> Callable[[BatchedBackend], Callable[..., Any]]:
    """For an operation that is told the backend of its input: what a derivative passes through it may be in further batches."""

    def rule(backend: BatchedBackend) -> Callable[..., Any]:
        forward = backend.compiled(name, partial(OPS[name].forward, backend.xp))

        def own(param: Any) -> Any:
            if isinstance(param, Backend):
                return backend
            return tuple(map(own, param)) if type(param) is tuple else param

        return lambda *args: forward(*map(own, args))

    return rule


RULES: dict[str, Callable[[BatchedBackend], Callable[..., Any]]] = {
    **{name: _fold_into_first(name) for name in ("convolution", "convolution_transposed")},
    **{name: _with_leading_dimensions(name) for name in ("linalg_ldl_factor_ex", "linalg_ldl_solve")},
    **{name: _of_own_backend(name) for name in ("as_strided", "unfold", "view_scatter")},
}
