"""Batching rules for operations whose array API forward is slow on batched arrays or does not work on them.

A rule is called with a `BatchedBackend` and returns a kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

from ...backend import Backend
from ...engine.calls.tables import OPS
from ...engine.devices.devices import device, dispatch_key
from ...engine.devices.host import kernel_on_host
from ...engine.values.constants import preserve_format
from ...operations.indexing.standard import getitem
from ...operations.views.views import inferred_shape
from .arrays import BatchedArray, view

if TYPE_CHECKING:
    from .keys import BatchedBackend

__all__ = ["RULES"]


def _fold_into_first(name: str) -> Callable[[BatchedBackend], Callable[..., Any]]:
    """Return a rule for an operation whose first argument has a batch dimension, such as the input of a convolution.

    If the other arguments are the same for all members, the hidden dimensions are merged into the batch dimension.
    """

    def rule(backend: BatchedBackend) -> Callable[..., Any]:
        xp, k = backend.xp, backend.depth
        forward = backend.compile_forward(name, partial(OPS[name].forward, xp))
        inner = backend.inner.all_kernels.get(name)

        def kernel(first: Any, *others: Any, **options: Any) -> Any:
            differ = any(isinstance(other, BatchedArray) and prod(other.raw.shape[:k]) > 1 for other in others)
            if inner is None or differ or not isinstance(first, BatchedArray):
                return forward(first, *others, **options)
            raw = first.raw
            shared = [xp.inner.reshape(other.raw, other.shape) if isinstance(other, BatchedArray) else other for other in others]
            folded = inner(xp.inner.reshape(raw, (prod(raw.shape[: k + 1]), *raw.shape[k + 1 :])), *shared, **options)
            return xp.made(xp.inner.reshape(folded, (*raw.shape[: k + 1], *folded.shape[1:])))

        return kernel

    return rule


def _with_leading_dimensions(name: str) -> Callable[[BatchedBackend], Callable[..., Any]]:
    """Return a rule for an operation outside the array API whose kernel accepts any leading batch dimensions.

    The hidden dimensions become leading dimensions of all tensor arguments.
    """

    def rule(backend: BatchedBackend) -> Callable[..., Any]:
        xp, below = backend.xp, backend.inner

        def kernel(*args: Any, **options: Any) -> Any:
            count = len(OPS[name].tensor_names)
            plain = dispatch_key(below.dtype_of(args[0].raw), device(below.device_type, below.current_device()))
            inner = below.all_kernels.get(name) or kernel_on_host(name, plain)
            hidden = xp.hidden_shape(args[:count])
            results = inner(*(xp.spread(arg, hidden) for arg in args[:count]), *args[count:], **options)
            return tuple(map(xp.made, results)) if isinstance(results, tuple) else xp.made(results)

        return kernel

    return rule


def _view_scatter(backend: BatchedBackend) -> Callable[..., Any]:
    """Return a kernel of `view_scatter` that replaces the backend among the parameters of the view by the batched one.

    Derivative rules may call the operation on gradients that are inside more levels than the recorded input.
    """
    forward = backend.compile_forward("view_scatter", partial(OPS["view_scatter"].forward, backend.xp))

    def own(param: Any) -> Any:
        if isinstance(param, Backend):
            return backend
        return tuple(map(own, param)) if type(param) is tuple else param

    return lambda *args: forward(*map(own, args))


def _view(
    name: str, raw_params: Callable[..., tuple[Any, ...]] = lambda *_: ()
) -> Callable[[BatchedBackend], Callable[..., Any]]:
    """Return a rule for a view that the inner backend makes of the raw array.

    The forward function would copy an array that is not contiguous, or lose the link to the array that owns the memory.

    Args:
        name: the name of the operation.
        raw_params: a function of the batched backend, the raw array and the parameters of the operation, which returns the
            parameters for the raw array.
    """

    def rule(backend: BatchedBackend) -> Callable[..., Any]:
        below, xp = backend.inner, backend.xp
        inner = below.all_kernels.get(name) or below.compile_forward(name, partial(OPS[name].forward, xp.inner))
        return partial(view(lambda xp, array, *params: lambda raw: inner(raw, *raw_params(backend, raw, *params))), xp)

    return rule


def _shifted(backend: BatchedBackend, raw: Any, offset: int, dim1: int, dim2: int) -> tuple[Any, ...]:
    return offset, dim1 + backend.depth, dim2 + backend.depth


def _strided(backend: BatchedBackend, raw: Any, size: Any, stride: Any, offset: int, *_: Any) -> tuple[Any, ...]:
    steps = backend.inner.strides(raw)[: backend.depth]
    return (*raw.shape[: backend.depth], *size), (*steps, *stride), offset, backend.inner, None


def _shaped(backend: BatchedBackend, raw: Any, shape: Any) -> tuple[Any, ...]:
    return ((*raw.shape[: backend.depth], *inferred_shape(shape, raw.shape[backend.depth :])),)


def _windows(backend: BatchedBackend, raw: Any, dim: int, size: int, step: int, _: Any) -> tuple[Any, ...]:
    return dim + backend.depth, size, step, backend.inner


def _reshape(backend: BatchedBackend) -> Callable[..., Any]:
    """Return a kernel of `reshape` whose result is a copy, not a view of its input."""
    xp = backend.xp
    return lambda array, shape: xp.made(xp.reshape(array, shape).raw)


def _clone(backend: BatchedBackend) -> Callable[..., Any]:
    """Return a kernel of `clone` that stores each member of the batch in the given order of dimensions."""
    xp, contiguous = backend.xp, _contiguous(backend)

    def kernel(array: Any, memory_format: Any = None) -> Any:
        if memory_format is None or memory_format is preserve_format:
            return xp.asarray(array, copy=True)
        order = memory_format.order(array.ndim)
        return xp.permute_dims(contiguous(xp.permute_dims(array, order)), tuple(map(order.index, range(array.ndim))))

    return kernel


def _contiguous(backend: BatchedBackend) -> Callable[..., Any]:
    xp = backend.xp
    inner = backend.inner.all_kernels.get("contiguous") or partial(OPS["contiguous"].forward, xp.inner)
    return lambda array: xp.made(inner(xp.lifted(array).raw))


def _index_backward(backend: BatchedBackend) -> Callable[..., Any]:
    """Return a kernel of `index_backward` that adds the gradients of the whole batch in one call, to one flat array."""
    xp, name = backend.xp, "index_backward"
    inner = backend.inner.all_kernels.get(name) or partial(OPS[name].forward, xp.inner)

    def kernel(gradient: Any, shape: Any, index: Any) -> BatchedArray:
        size = prod(shape)
        places = getitem(xp, xp.reshape(xp.arange(size), shape), index)
        hidden = xp.hidden_shape([gradient, places])
        count = prod(hidden)
        rows = xp.inner.reshape(xp.spread(places, hidden), (count, -1 if size else 0))
        rows = rows + size * xp.inner.reshape(xp.inner.arange(count, dtype=rows.dtype), (count, 1))
        sums = inner(xp.inner.reshape(xp.spread(gradient, hidden), (-1,)), (count * size,), (xp.inner.reshape(rows, (-1,)),))
        return xp.made(xp.inner.reshape(sums, (*hidden, *shape)))

    return kernel


def _getitem_backward(backend: BatchedBackend) -> Callable[..., Any]:
    """Return a kernel of `getitem_backward` that writes the gradients of the whole batch in one call."""
    xp, name = backend.xp, "getitem_backward"
    forward = backend.compile_forward(name, partial(OPS[name].forward, xp))
    inner = backend.inner.all_kernels.get(name)

    def kernel(gradient: Any, shape: Any, index: Any) -> Any:
        items = index if isinstance(index, tuple) else (index,)
        if inner is None or not isinstance(gradient, BatchedArray) or any(hasattr(item, "dtype") for item in items):
            return forward(gradient, shape, index)
        hidden = gradient.raw.shape[: backend.depth]
        return xp.made(inner(gradient.raw, (*hidden, *shape), (*(slice(None),) * backend.depth, *items)))

    return kernel


def _pad_to(backend: BatchedBackend) -> Callable[..., Any]:
    embed = _getitem_backward(backend)
    return lambda input, shape: input if input.shape == tuple(shape) else embed(input, shape, tuple(map(slice, input.shape)))


RULES: dict[str, Callable[[BatchedBackend], Callable[..., Any]]] = {
    **{name: _fold_into_first(name) for name in ("convolution", "convolution_transposed")},
    **{name: _with_leading_dimensions(name) for name in ("linalg_ldl_factor_ex", "linalg_ldl_solve")},
    **{name: _view(name) for name in ("imag", "real", "view_as_complex", "view_as_real")},
    "as_strided": _view("as_strided", _strided),
    "clone": _clone,
    "contiguous": _contiguous,
    "diagonal": _view("diagonal", _shifted),
    "getitem_backward": _getitem_backward,
    "index_backward": _index_backward,
    "pad_to": _pad_to,
    "reshape": _reshape,
    "unfold": _view("unfold", _windows),
    "view": _view("view", _shaped),
    "view_scatter": _view_scatter,
}
