"""Dispatch keys of batched tensors, and the operations by which a tensor enters and leaves a batch.

A batched tensor is a Tensor with a `BatchedKey`, whose array hides one dimension per *level* (a running call of `vmap`).  Its
kernels are looked up in its dispatch key, as for any tensor.  Two tensors of different levels are first *lifted* to all of
these levels.  Entering and leaving a level are operations with derivatives: the gradient of a tensor that is the same for the
whole batch is the sum over the batch.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property, partial
from typing import Any, NamedTuple

from ...backend import Backend, MutableBackend
from ...engine.calls.facts import Kind
from ...engine.calls.op import op
from ...engine.calls.tables import OPS
from ...engine.devices.devices import DispatchKey, Kernels, device
from ...engine.devices.state import state
from ...engine.tape.grad_mode import grad_flag
from ...engine.tape.tensor_class import RECORDED
from ...engine.tensors.tensor import Tensor, wrap
from ...engine.values import dtypes
from ...operations.views.views import unsqueeze
from .. import forward_ad
from .arrays import BatchedArray, Namespace, namespace, namespaces
from .levels import BatchDevice, Level, levels_of
from .rules import RULES

__all__ = ["BatchedKey", "Level", "add_level", "align", "drop_level", "levels_of", "other_kernels"]


class BatchedBackend(MutableBackend):
    """A backend whose arrays are `BatchedArray`s: it implements all operations by another backend, `inner`."""

    mutable: bool
    has_data: bool

    complete = True
    all_inplace_kernels: Mapping[str, Callable[..., Any]] = {}

    def __init__(self, inner: Backend, depth: int) -> None:
        self.inner = inner
        self.name: str = inner.name
        self.device_type: str = inner.device_type
        self.mutable, self.has_data = inner.mutable, inner.has_data
        self.arithmetic_errors: tuple[type[Exception], ...] = inner.arithmetic_errors
        self.array_type = BatchedArray
        self.xp: Namespace = namespace(inner.forward_xp, depth)
        self.xp.clone = inner.all_kernels.get("clone", self.xp.clone)  # keeps the order of expanded dimensions
        self.depth = depth

    @cached_property
    def all_kernels(self) -> Mapping[str, Callable[..., Any]]:
        return {name: rule(self) for name, rule in RULES.items()}

    def compile_forward(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Compile `function` by the inner backend, as a function of raw arrays."""
        if name in ("all", "any"):  # they set the attribute `verdict` of their result, which raw arrays lack
            return function
        lifted, batched = self.xp.lifted, self.xp.made

        def on_raw(*args: Any, **kwargs: Any) -> Any:
            results = function(*_unpacked(args), **kwargs)
            return [lifted(result).raw for result in results] if isinstance(results, (tuple, list)) else lifted(results).raw

        inner = self.inner.compile_forward(name, on_raw)
        if inner is on_raw:
            return function

        def kernel(*args: Any, **kwargs: Any) -> Any:
            results = inner(*_packed(args), **kwargs)
            return [batched(result) for result in results] if isinstance(results, list) else batched(results)

        return kernel

    def ignoring_arithmetic_errors(self) -> AbstractContextManager[Any]:
        return self.inner.ignoring_arithmetic_errors()

    @property
    def dtypes(self) -> Mapping[Any, Any]:
        return self.inner.dtypes

    def dtype_of(self, array: Any) -> Any:
        return self.inner.dtype_of(getattr(array, "raw", array))

    def current_device(self) -> int:
        return self.inner.current_device()

    def asarray(self, data: Any, raw_dtype: Any = None, *, index: int = 0, copy: bool | None = None) -> BatchedArray:
        return self.xp.lifted(self.inner.asarray(data, raw_dtype, index=index, copy=copy))

    def wrap(self, array: Any) -> BatchedArray:
        return self.xp.lifted(array)

    def astype(self, array: Any, raw_dtype: Any) -> BatchedArray:
        return self.xp.made(self.inner.astype(self.xp.lifted(array).raw, raw_dtype))

    def reinterpret(self, array: Any, wanted: Any) -> BatchedArray:
        array = self.xp.lifted(array)

        def look(raw: Any) -> Any:
            return self.inner.reinterpret(raw, wanted)

        return BatchedArray(look(array.raw), self.xp, array, look)

    def copy(self, array: Any) -> BatchedArray:
        return self.xp.made(self.inner.copy(self.xp.lifted(array).raw))

    def strides(self, array: Any) -> tuple[int, ...]:
        return self.inner.strides(array.raw)[self.depth :]

    def data_ptr(self, array: Any) -> int:
        return self.inner.data_ptr(array.raw)

    def shares_memory(self, array: Any, other: Any) -> bool:
        return self.inner.shares_memory(array.raw, other.raw)

    def item(self, array: Any) -> Any:
        if array.raw.size == 1:
            return self.inner.item(array.raw)
        raise RuntimeError(
            "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() "
            "on a Tensor, please try to rewrite what you're doing with other operations. If error is occurring "
            "somewhere inside PyTorch internals, please file a bug report."
        )

    def truth(self, array: Any) -> bool:
        if array.raw.size == 1:
            return self.inner.truth(array.raw)
        return bool(array)

    def extremes(self, array: Any) -> tuple[Any, Any]:
        return self.inner.extremes(array.raw)

    def tolist(self, array: Any) -> Any:
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")

    def to_host(self, array: Any) -> BatchedArray:
        return array  # type: ignore[no-any-return]  # given as Any

    def copied_to(self, other: Any, array: Any, index: int = 0) -> BatchedArray:
        return other.xp.made(self.inner.copied_to(other.inner, self.xp.lifted(array).raw, index))  # type: ignore[no-any-return]  # `other` is Any

    def root(self, array: Any) -> tuple[Any, int]:
        flat, offset = self.inner.root(array.raw)
        return _Flat(flat, array.raw.shape[: self.depth], self.inner.strides(array.raw)[: self.depth]), offset

    def memory(self, array: Any) -> Any:
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")

    def as_strided(self, flat: Any, size: Sequence[int], stride: Sequence[int], offset: int) -> BatchedArray:
        return self.xp.made(self.inner.as_strided(flat.raw, (*flat.hidden, *size), (*flat.steps, *stride), offset))


class _Packed(NamedTuple):
    """A batched array as a tuple of its raw array and namespace: the inner backend accepts tuples, but no `BatchedArray`."""

    raw: Any
    xp: Namespace


def _packed(value: Any) -> Any:
    """Replace each batched array in `value`, also inside tuples and lists, by a `_Packed` raw array with its namespace."""
    if type(value) is BatchedArray:
        return _Packed(value.raw, value.xp)
    return type(value)(map(_packed, value)) if type(value) in (tuple, list) else value


def _unpacked(value: Any) -> Any:
    if type(value) is _Packed:
        return BatchedArray(value.raw, value.xp)
    return type(value)(map(_unpacked, value)) if type(value) in (tuple, list) else value


class _Flat(NamedTuple):
    """The whole memory of a batched array, with the sizes and strides (`steps`) of its hidden dimensions."""

    raw: Any
    hidden: tuple[int, ...]
    steps: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.raw.shape  # type: ignore[no-any-return]  # arrays are untyped


_backends: dict[tuple[int, int], BatchedBackend] = {}


def _backend(inner: Backend, depth: int) -> BatchedBackend:
    found = _backends.get((id(inner), depth))
    return found or _backends.setdefault((id(inner), depth), BatchedBackend(inner, depth))


class BatchedKey(DispatchKey):
    """The dispatch key of batched tensors with the same dtype, device and levels.

    The levels are in the order of the arrays' hidden dimensions, outermost first.
    """

    __slots__ = ("__weakref__", "levels", "plain")

    def __init__(self, plain: DispatchKey, levels: tuple[Level, ...]) -> None:
        place = levels[-1].device_for(levels, plain.device)
        super().__init__(plain.dtype, place, _backend(plain.backend, len(levels)), _shared(plain, len(levels)))
        self.plain: DispatchKey = plain
        self.levels: tuple[Any, ...] = levels
        if levels[-1].keys is not None:
            levels[-1].keys.add(self)

    def __missing__(self, name: str) -> tuple[Callable[..., Any], Any]:
        kernel, keys = self.F._key[name] if self.F._key is not self else super().__missing__(name)
        entry = kernel, tuple(map(self._own, keys)) if isinstance(keys, tuple) else self._own(keys)
        if self.levels[-1].keys is not None:  # the entry refers to this key, so it is cached only until the level closes
            self[name] = self.table[name] = entry
        return entry

    def forget(self) -> None:
        """Clear all caches: their entries refer to this dispatch key and would keep it alive."""
        self.clear()
        self.table.clear()
        self.constants.clear()

    def _own(self, key: DispatchKey) -> DispatchKey:
        return self.to(key.dtype)

    def to(self, dtype: dtypes.dtype) -> DispatchKey:
        return self if dtype is self.dtype else with_levels(self.plain.to(dtype), self.levels)

    def on(self, place: device) -> DispatchKey:
        return with_levels(self.plain.on(place), self.levels)

    def __repr__(self) -> str:
        return f"BatchedKey({self.plain!r}, depth {len(self.levels)})"


_keys: weakref.WeakValueDictionary[Any, BatchedKey] = weakref.WeakValueDictionary()
_templates: dict[tuple[DispatchKey, int], BatchedKey] = {}


def _shared(plain: DispatchKey, depth: int) -> Kernels:
    """Return the operations on raw arrays that all keys of the same depth share.  They belong to a permanent template key."""
    template = _templates.get((plain, depth))
    if template is None:
        template = DispatchKey.__new__(BatchedKey)
        template.plain, template.levels = plain, tuple(Level(-1 - number, 1) for number in range(depth))
        DispatchKey.__init__(template, plain.dtype, device(plain.device.type, plain.device.index), _backend(plain.backend, depth))
        template = _templates.setdefault((plain, depth), template)
    return template.F


def with_levels(plain: DispatchKey, levels: tuple[Level, ...]) -> DispatchKey:
    """Return the dispatch key of tensors with key `plain` inside `levels`."""
    if not levels:
        return plain
    key = plain, levels
    batched = _keys.get(key)
    if batched is None:
        batched = _keys.setdefault(key, BatchedKey(plain, levels))
    return batched


@contextmanager
def other_kernels() -> Iterator[None]:
    """Clear the kernels cached by batched keys while the kernels of plain keys are replaced; restore them afterwards."""
    kept = dict(_backends), dict(_templates), dict(_keys), dict(namespaces)
    caches: tuple[Any, ...] = (_backends, _templates, _keys, namespaces)
    for cache in caches:
        cache.clear()
    try:
        yield
    finally:
        for cache, entries in zip(caches, kept, strict=True):
            cache.clear()
            cache.update(entries)


def plain_of(key: DispatchKey) -> DispatchKey:
    return key.plain if isinstance(key, BatchedKey) else key


# --- entering and leaving a level ---------------------------------------------------------------------------------


BatchDevice.batched = staticmethod(with_levels)


def add_level(tensor: Any, level: Level, dim: int | None) -> Any:
    """Move a tensor into `level`: `dim` becomes the hidden batch dimension.  If it is None, all members share the tensor."""
    tensor = tensor._key.materialize(tensor)
    key = tensor._key
    if level in levels_of(key):
        return tensor
    levels = tuple(sorted((*levels_of(key), level), key=lambda member: member.number))
    target = with_levels(plain_of(key), levels)
    inside = _moved(tensor, "add_level", target, level, dim, levels.index(level))
    if dim:
        inside.__dict__["_hidden_at"] = level, dim  # passed as `in_dims` to the static method `vmap` of a Function
    return inside


def drop_level(tensor: Any, level: Level, dim: int | None) -> Any:
    """Move a tensor out of `level`: its batch dimension becomes dimension `dim`.  If `dim` is None, sum over the batch."""
    levels = levels_of(tensor._key)
    if level not in levels:
        if dim is not None:
            return Tensor.expand(unsqueeze(tensor, dim), *tensor.shape[:dim], level.size, *tensor.shape[dim:])
        tensor = add_level(tensor, level, None)
        levels = levels_of(tensor._key)
    position = levels.index(level)
    target = with_levels(plain_of(tensor._key), levels[:position] + levels[position + 1 :])
    return _moved(tensor, "drop_level", target, level, dim, position)


def _moved(tensor: Any, name: str, key: DispatchKey, level: Level, dim: int | None, position: int) -> Any:
    """Move a tensor into or out of a level.

    The result is a view, so that writes to it change `tensor`, unless `tensor` is a new tensor that leaves the level.  An
    argument that leaves the level unchanged is returned itself.
    """
    if state.forward_levels and forward_ad.innermost_level([tensor]) is not None:
        move = add_level if name == "add_level" else drop_level
        return forward_ad.along(lambda t: move(t, level, dim), tensor)
    record, params = OPS[name], (level, dim, position)
    if name == "drop_level" and tensor._view is not None and tensor._view[1] is OPS["add_level"] and tensor._view[2] == params:
        return tensor._view[0]
    if name == "drop_level" and dim is not None:  # a tensor created for all members, as by `x.new_zeros`, gets memory for each
        tensor._array.give_memory([member.size if member is level else 1 for member in levels_of(tensor._key)])
    array = record.forward(tensor._key.backend.xp, tensor._array, *params)
    if tensor._requires_grad and key.dtype.category >= dtypes.FLOATING:
        moved = record.record(array, key, tensor, *params)
    else:
        moved = wrap(array, key)
    if dim is not None:
        moved._storage = tensor._storage or tensor._own_storage()
        if name == "add_level" or tensor._view is not None:
            moved._view = (tensor, record, params, grad_flag.get())
            moved._storage.add_view(moved)
    return moved


def _hide(xp: Any, input: Any, /, level: Level, dim: int | None, position: int) -> BatchedArray:
    k, raw, inner = (input.depth, input.raw, xp.inner) if isinstance(input, BatchedArray) else (0, input, xp)
    if dim is None:
        return BatchedArray(inner.expand_dims(raw, axis=position), namespace(inner, k + 1))
    parent, look = input if k else None, partial(_with_axis_at, inner, axis=dim + k, destination=position)
    return BatchedArray(look(raw), namespace(inner, k + 1), parent, look, position)


def _show(xp: Any, input: Any, /, level: Level, dim: int | None, position: int) -> Any:
    k, raw, inner = input.depth, input.raw, xp.inner
    if dim is None:
        if raw.shape[position] == 1 != level.size:
            raw = raw * level.size
        raw = inner.asarray(inner.sum(raw, axis=position, dtype=raw.dtype))
        return BatchedArray(raw, namespace(inner, k - 1)) if k > 1 else raw

    def look(raw: Any) -> Any:
        if raw.shape[position] != level.size:
            raw = inner.broadcast_to(raw, (*raw.shape[:position], level.size, *raw.shape[position + 1 :]))
        return _with_axis_at(inner, raw, position, dim + k - 1)

    return BatchedArray(look(raw), namespace(inner, k - 1), input, look, position) if k > 1 else look(raw)


def _with_axis_at(xp: Any, array: Any, axis: int, destination: int) -> Any:
    return array if axis == destination else xp.moveaxis(array, axis, destination)


op(
    "add_level",
    _hide,
    kind=Kind.VIEW,
    public=False,
    method=False,
    out=False,
    grad_fn="AddBatchDimBackward0",
    input=lambda F, g, level, dim, position: F.drop_level(g, level, dim, position),
)
op(
    "drop_level",
    _show,
    kind=Kind.VIEW,
    public=False,
    method=False,
    out=False,
    grad_fn="RemoveBatchDimBackward0",
    input=lambda F, g, level, dim, position: F.add_level(g, level, dim, position),
)
# For Tensors, the gradient may be inside more levels than the node, so that `position` is not valid for it.
RECORDED.add_level = lambda g, level, dim, position: add_level(g, level, dim)
RECORDED.drop_level = lambda g, level, dim, position: drop_level(g, level, dim)


def align(tensors: Sequence[Any]) -> tuple[Any, ...]:
    """Lift tensors to the union of their levels."""
    levels: set[Level] = set()
    for tensor in tensors:
        if isinstance(tensor, Tensor):
            levels.update(levels_of(tensor._key))
    return tuple(lift(tensor, levels) if isinstance(tensor, Tensor) else tensor for tensor in tensors)


def lift(tensor: Tensor, levels: Any) -> Tensor:
    """Move a tensor into all of `levels`; in a level that it was not in, all members of the batch share it."""
    for level in sorted(set(levels) - set(levels_of(tensor._key)), key=lambda level: level.number):
        tensor = add_level(tensor, level, None)
    return tensor
