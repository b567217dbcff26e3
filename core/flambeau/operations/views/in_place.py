"""In-place forms of views (`t_`, `squeeze_`, ...), `set_` and `resize_`.

Each makes a tensor another view of its memory, or a view of other memory.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from ...backend import contiguous_strides
from ...engine.calls.arguments import as_int
from ...engine.calls.dispatch import require_tensors
from ...engine.calls.facts import Kind, declare
from ...engine.calls.inplace import check_writable, regenerate
from ...engine.calls.signatures import REQUIRED, inplace_doc
from ...engine.calls.transform_hooks import hooks
from ...engine.calls.wrappers import as_method
from ...engine.devices.state import state
from ...engine.devices.warning import warn_once
from ...engine.tape.grad_mode import is_grad_enabled
from ...engine.tape.node import Error
from ...engine.tensors.tensor import Tensor, alias, attach
from ...engine.values.constants import contiguous_format, memory_format, preserve_format
from ...engine.values.dtypes import c_name
from ..conversion import format_of
from ..memory import Place, as_strided, relocate, resized
from .views import as_shape, sizes_given, squeeze, swapaxes, t, transpose, unsqueeze

__all__: list[str] = []


def _former_state(self: Tensor) -> Tensor:
    """Return a new tensor with the array, autograd node, view record and storage that `self` has now."""
    before: Tensor = alias(self)
    before._node, before._requires_grad, before._view = self._node, self._requires_grad, self._view
    before._storage = self._storage or self._own_storage()
    if state.forward_levels:
        hooks.forward.copy(self, before)
    return before


def _rebase_views(self: Tensor, before: Tensor) -> bool:
    """Make the views of `self` views of `before`, its former state.  Return whether `self` has views or shares memory."""
    views = before._storage.views_of(self)  # type: ignore[union-attr]  # it has one
    for view in views:
        if view._view is not None:
            view._view = (before, *view._view[1:])
            if view._view[3] is not True and is_grad_enabled():  # a view made in no_grad mode
                regenerate(view)
        else:
            view.__dict__["_shares"] = before
    if before._view is None:
        before.__dict__["_became"] = weakref.ref(self)
    memory = self.__dict__.pop("_shares", None)
    if memory is not None:
        before.__dict__["_shares"] = memory
    return bool(views) or memory is not None


def _become_view(self: Tensor, view: Callable[[Tensor], Tensor]) -> Tensor:
    """Replace a tensor, in place, by the view of it that the function `view` returns.

    If the tensor has views, a new tensor takes over its former state.  The tensor and its views become views of the new tensor,
    so that a write to one of them is visible in all.
    """
    check_writable(self)
    before = _former_state(self)
    shown = view(before)
    if shown is before:
        return self
    if state.forward_levels:
        hooks.forward.follow(self, shown)
    self._array = shown._array
    self._bump_version()
    if self._requires_grad and not is_grad_enabled():
        return self
    self._node, self._requires_grad = shown._node, shown._requires_grad
    if _rebase_views(self, before) or self._view is not None:
        assert before._storage is not None and shown._view is not None
        if self._view is None:
            before._storage.add_view(self)
        else:
            before._storage.add_former(before, self)
        self._view = (*shown._view[:3], True if self._view is None else self._view[3])
    return self


def _in_place(name: str, view: Callable[..., Tensor]) -> None:
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return _become_view(self, lambda before: view(before, *args, **kwargs))

    method.__name__ = method.__qualname__ = name
    method.__doc__ = inplace_doc(name.rstrip("_"), view.__doc__, ": the tensor itself becomes the view")
    method.__wrapped__ = view  # type: ignore[attr-defined]  # a function has attributes
    setattr(Tensor, name, method)


for _name, _function in (
    ("t_", t),
    ("transpose_", transpose),
    ("swapaxes_", swapaxes),
    ("swapdims_", transpose),
    ("squeeze_", squeeze),
    ("unsqueeze_", unsqueeze),
    ("as_strided_", as_strided),
):
    _in_place(_name, _function)


# --- other memory -------------------------------------------------------------------------------------------------


def _set_(
    self: Tensor, source: Any = REQUIRED, storage_offset: int | None = None, size: Any = None, stride: Any = None
) -> Tensor:
    """Make this tensor a view of the memory of a storage or of another tensor; memory that is too small is enlarged.

    Args:
        source: a storage or a tensor; by default, empty memory.
        storage_offset: the number of elements before the first one.
        size: the shape; by default, that of `source`.
        stride: the strides; None for row-major ones.

    Raises:
        TypeError: `source` is neither a storage nor a tensor, or an offset or stride is given without a size.
        RuntimeError: `source` has another dtype or device, or its memory is too small and cannot be enlarged.
    """
    source = _as_source_tensor(self, self.new_empty(0) if source is REQUIRED else source)
    if size is not None:
        shape = as_shape((_sizes("size", size),))
        place = Place(
            shape,
            contiguous_strides(shape) if stride is None else as_shape((_sizes("stride", stride),)),
            as_int("set_", "storage_offset", storage_offset or 0),
        )
        source = _view_at(source, place)
    elif storage_offset is not None or stride is not None:
        raise TypeError("set_() received an invalid combination of arguments: a storage offset or a stride without a size")
    check_writable(self)
    before = _former_state(self)
    _rebase_views(self, before)
    self._array, self._key, self._view = source._array, source._key, None
    if not self._key.backend.mutable:
        self._storage = (source._storage or source._own_storage()).twin()
        self._storage.link(self, source)
    self._bump_version()
    if self._requires_grad and is_grad_enabled():
        self._node = Error.before(self, "derivative for set_ is not implemented")
    return self


def _as_source_tensor(self: Tensor, source: Any) -> Tensor:
    """Convert the source of `set_` to a tensor; check its dtype and device."""
    from ...storage import TypedStorage, UntypedStorage

    if isinstance(source, (TypedStorage, UntypedStorage)):
        own = getattr(source, "dtype", self.dtype)
        if own is not self.dtype:
            raise RuntimeError(
                f"Expected a Storage of type {c_name(self.dtype)} or an UntypedStorage, but got type "
                f"{own.legacy_name} for argument 1 'storage'"
            )
        source = source.as_tensor(self.dtype)
    if not isinstance(source, Tensor):
        raise TypeError(
            f"set_() received an invalid combination of arguments - got ({type(source).__name__}), but expected a "
            "torch.Storage or a Tensor"
        )
    if source.dtype is not self.dtype:
        raise RuntimeError(f"Could not set tensor of type {c_name(source.dtype)} to a tensor of type {c_name(self.dtype)}")
    if source.device != self.device:
        raise RuntimeError(
            f'Attempted to set the storage of a tensor on device "{self.device}" to a storage on different '
            f'device "{source.device}".  This is no longer allowed; the devices must match.'
        )
    return source


def _sizes(name: str, value: Any) -> Any:
    if not isinstance(value, (tuple, list)):
        raise TypeError(f"set_(): argument '{name}' must be tuple of ints, not {type(value).__name__}")
    return value


def _view_at(source: Tensor, place: Place) -> Tensor:
    """Return a view of the memory of `source` with the layout `place`; memory that is too small is enlarged."""
    backend, nbytes = source._key.backend, place.end * source.element_size()
    if backend.mutable and nbytes > backend.memory(source._array).shape[0]:
        relocate(source, resized(source, nbytes))
    return as_strided(source, *place)


def _resize_(self: Tensor, size: Any, *rest: Any, memory_format: Any = None) -> Tensor:
    """Change the shape in place: memory that is too small is enlarged; new elements are uninitialized.

    Without `memory_format`, a tensor that already has this shape keeps its strides; any other tensor becomes row-major.

    Args:
        size: the shape: integers, or one sequence of them.
        memory_format: `torch.contiguous_format` or `torch.channels_last`, for example; None as described above.

    Raises:
        RuntimeError: a size is negative, the tensor requires grad, or the memory format does not suit the shape.
    """
    shape = tuple(sizes_given(size, rest))
    if min(shape, default=0) < 0:
        raise RuntimeError(f"requested resize to {list(shape)}: sizes are not negative")
    if self._requires_grad:
        raise RuntimeError("cannot resize variables that require grad")
    check_writable(self)
    if memory_format is None and shape == tuple(self._array.shape):
        return self
    if memory_format is preserve_format:
        raise RuntimeError("Unsupported memory formatPreserve")
    backend = self._key.backend
    flat, offset = backend.root(self._array)
    place = Place(shape, _strides_in(shape, memory_format or contiguous_format), offset)
    shortage = place.end - flat.shape[0]
    if shortage <= 0 and type(self._array) is backend.array_type:
        self._array = backend.as_strided(flat, *place)
    elif backend.mutable:
        from ..memory import reach

        del flat  # an additional reference would make unshared memory look shared
        reach(self, place)
    else:
        xp = backend.namespace_on(self.device.index)
        flat = xp.concat([flat, xp.empty((shortage,), dtype=self._key.raw_dtype)])
        self._array = backend.as_strided(flat, *place)
    self._bump_version()
    return self


def _strides_in(shape: tuple[int, ...], target: memory_format) -> tuple[int, ...]:
    """Return the strides of a dense tensor in a memory format."""
    order = target.order(len(shape))
    strides = dict(zip(order, contiguous_strides(tuple(shape[dim] for dim in order)), strict=True))
    return tuple(strides[dim] for dim in range(len(shape)))


def _resize(self: Tensor, *sizes: Any) -> Tensor:
    """Return a view of another shape.  Deprecated in favour of `view`.

    Args:
        *sizes: the shape: integers, or one sequence of them.
    """
    warn_once("non-inplace resize is deprecated")
    return self.reshape(*sizes)


def _resize_as(self: Tensor, tensor: Tensor) -> Tensor:
    """Return a view of the shape of `tensor`.  Deprecated in favour of `view_as`.

    Args:
        tensor: a tensor with as many elements.
    """
    return _resize(self, tensor.shape)


@declare(
    "resize_as_",
    kind=Kind.OTHER,
    schema="resize_as_(Tensor(a!) self, Tensor the_template, *, MemoryFormat? memory_format=None) -> Tensor(a!)",
)
def _resize_as_(self: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """Change the shape in place to that of `the_template`; see `resize_`.

    The memory format `torch.preserve_format` is that of `the_template`.

    Args:
        the_template: the tensor whose shape is used.
        memory_format: as for `resize_`.
    """
    require_tensors("resize_as_", the_template=the_template)
    if memory_format is preserve_format:
        memory_format = format_of(the_template)
    return _resize_(self, the_template.shape, memory_format=memory_format)


attach(set_=_set_, resize_=_resize_, resize=_resize, resize_as=as_method(_resize_as), resize_as_=as_method(_resize_as_))
