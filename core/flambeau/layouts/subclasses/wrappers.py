"""Wrapper subclasses: tensors that hold other tensors, and define operations on them by `__torch_dispatch__`.

A wrapper has a shape, strides, a dtype and a device, but no elements: its array is one of the backend `meta`. `dispatch` passes
operations with wrapper arguments to `below_autograd`: the class computes the result from its inner tensors, and the call is then
recorded like any other. In a backward pass, `below_autograd` also receives the operations of derivative rules.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ...backend import for_device_type
from ...engine.calls import overriding
from ...engine.calls.dispatch import arguments_to_save
from ...engine.calls.facts import Kind, declared, facts_of, names
from ...engine.calls.record import Operation
from ...engine.calls.transform_hooks import hooks
from ...engine.devices.devices import DispatchKey, canonical, device, dispatch_key
from ...engine.devices.state import state
from ...engine.tape.grad_mode import grad_flag, is_inference_mode_enabled, no_grad
from ...engine.tape.saved import SAVE_HOOKS, is_saved_tensor, saved_outputs
from ...engine.tensors.storage import Storage
from ...engine.tensors.tensor import Tensor, new
from ...engine.values import dtypes
from ...engine.values.constants import sparse_coo, strided
from ...operations.creation.from_data import as_tensor
from ...operations.indexing.subscripts import raw_index

__all__ = ["WrapperKey"]


class WrapperKey(DispatchKey):
    """The dispatch key of wrappers of one dtype and device.  It has no kernels; their arrays belong to the backend `meta`."""

    __slots__ = ()
    wraps = True

    def __missing__(self, name: str) -> Any:
        raise RuntimeError(f"{name!r} is not routed through __torch_dispatch__ on wrapper subclasses")

    def to(self, dtype: dtypes.dtype) -> WrapperKey:
        return _key(dtype, self.device)

    def on(self, place: device) -> WrapperKey:
        return _key(self.dtype, place)

    @property
    def scalar_key(self) -> DispatchKey:
        return dispatch_key(self.dtype, self.device)


_keys: dict[tuple[dtypes.dtype, str, int | None], WrapperKey] = {}


def _key(dtype: dtypes.dtype, place: device) -> WrapperKey:
    name = (dtype, place.type, place.index)
    if name not in _keys:
        _keys.setdefault(name, WrapperKey(dtype, place, for_device_type("meta")))
    return _keys[name]


def make_wrapper_subclass(
    cls: type[Tensor],
    size: Sequence[int],
    strides: Sequence[int] | None = None,
    storage_offset: int | None = None,
    memory_format: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    dispatch_sizes_strides_policy: Any = None,
    dispatch_device: bool = False,
    dispatch_layout: bool = False,
    **_: Any,
) -> Any:
    """Create a wrapper of class `cls` with this shape, dtype and device, without elements; `cls.__new__` calls it.

    Raises:
        TypeError: the class has no `__torch_dispatch__`.
    """
    if cls not in overriding.DISPATCHING:
        overriding.prepare_subclass(cls)  # the class has an `__init_subclass__` that does not call Tensor's
    if cls not in overriding.DISPATCHING:
        raise TypeError(f"{cls.__name__} must define __torch_dispatch__")
    backend = for_device_type("meta")
    key = _key(dtypes.as_dtype(dtype or dtypes.get_default_dtype()), canonical(_Device(device or "cpu")))
    flat = backend.xp.empty(0, dtype=key.raw_dtype)
    if strides is None:
        array = backend.xp.empty(tuple(size), dtype=key.raw_dtype)
    else:
        extent = 1 + sum((n - 1) * step for n, step in zip(size, strides, strict=True)) if 0 not in size else 0
        flat = backend.xp.empty(extent + (storage_offset or 0), dtype=key.raw_dtype)
        array = backend.as_strided(flat, tuple(size), tuple(strides), storage_offset or 0)
    wrapper = new(cls)
    wrapper._array, wrapper._key = array, key
    wrapper._requires_grad = False
    wrapper._node = wrapper._grad = wrapper._storage = wrapper._view = None
    if layout is not None and layout is not strided:
        wrapper.layout, wrapper.is_sparse = layout, layout is sparse_coo
    if requires_grad:
        wrapper.requires_grad = True
    return wrapper


_Device = device

# --- asking the class ---------------------------------------------------------------------------------------------


def call_torch_dispatch(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call `__torch_dispatch__` of the arguments' classes for an operator, without recording.

    Raises:
        TypeError: all handlers returned NotImplemented.
    """
    if overriding.dispatch_disabled.get():
        return overriding.compute_on_data(function, args, kwargs)
    found: list[type] = []
    for value in overriding.relevant([*args, *kwargs.values()]):
        cls = type(value)
        if cls in overriding.DISPATCHING and cls not in found:
            place = next((number for number, other in enumerate(found) if issubclass(cls, other)), len(found))
            found.insert(place, cls)
    token = overriding.outer_grad_mode.set(grad_flag.get())
    try:
        with no_grad():
            for cls in found:
                result = cls.__torch_dispatch__(function, tuple(found), args, kwargs)
                if result is not NotImplemented:
                    return result
    finally:
        overriding.outer_grad_mode.reset(token)
    listed = "".join(f"\n  - tensor subclass {cls}" for cls in found)
    raise TypeError(
        f"Multiple dispatch failed for '{function}'; all __torch_dispatch__ handlers returned NotImplemented:\n{listed}"
    )


def _without_defaults(name: str, arguments: list[Any]) -> tuple[Any, ...]:
    """Drop the last arguments of an `aten` operator if they equal the operator's defaults, as PyTorch does."""
    declared = hooks.operator(name, None, tuple(arguments), {})._schema_object
    while declared is not None and declared.arguments[len(arguments) - 1].has_default_value():
        last, default = arguments[-1], declared.arguments[len(arguments) - 1].default_value
        if last is not default and (isinstance(last, (Tensor, list)) or last != default):
            break
        arguments.pop()
    return tuple(arguments)


def below_autograd(op: Operation, tensors: tuple[Any, ...], params: tuple[Any, ...], out: Any) -> Any:
    """Compute an operation on wrappers by `__torch_dispatch__`, and record the call."""
    if op.real_is_identity and tensors[0].dtype.category < dtypes.COMPLEX:
        return tensors[0]
    if op.name in _BASIC_INDEXING:
        result = _basic_index(tensors[0], *params)
    else:
        name = op.name
        public, args, kwargs = overriding.public_call(op, tensors, params, out)
        if op.variadic:
            args = (list(args[0]), *args[1:])
        elif "backend" in op.param_names and not op.facts.dispatches:
            public, args = _without_backend(op, tensors, params)
        elif op.facts.dispatches:
            name, *arguments = op.facts.dispatches(*tensors, *params)
            kwargs = arguments.pop() if isinstance(arguments[-1], dict) else {}
            public, args = None, _without_defaults(name, arguments)  # type: ignore[assignment]  # None for PyTorch's operator
        elif op.name == "index":
            places = _indices(params[0], tensors[0].ndim) if isinstance(params[0], tuple) else None
            public, args = (public, args) if places is None else (None, (tensors[0], places))  # type: ignore[assignment]  # None for PyTorch's operator
        result = call_torch_dispatch(*hooks.dispatched_call(name, public, args, kwargs))
    tracked = op.differentiable and grad_flag.get() and not is_inference_mode_enabled()
    if not tracked or not any(isinstance(tensor, Tensor) and tensor._requires_grad for tensor in tensors):
        return result
    if _dtype_of(result).category < dtypes.FLOATING:  # a conversion to integers has no gradient
        return result
    state.on_tensors = True
    place = next(tensor for tensor in tensors if isinstance(tensor, Tensor)).device
    tensors = arguments_to_save(op, dispatch_key(_dtype_of(result), place), tensors)
    results = list(result) if isinstance(result, (tuple, list)) else [result]
    results = [_detached_copy(item) if any(item is tensor for tensor in tensors) else item for item in results]
    arrays, keys = [item._array for item in results], tuple(item._key for item in results)
    waiting, SAVE_HOOKS[:] = SAVE_HOOKS[:], []  # postpone saved-tensor hooks to `_pack`, which passes wrappers
    if op.results or op.returns_list:
        recorded = op.record(arrays, keys, *tensors, *params)
    elif op.variadic:
        recorded = [op.record(arrays[0], keys[0], tensors, params)]
    else:
        recorded = [op.record(arrays[0], keys[0], *tensors, *params)]
    for item, place in zip(results, recorded, strict=True):
        item._node, item._requires_grad = place._node, place._requires_grad
    node = recorded[0].grad_fn
    node.on_tensors = True
    _store_wrappers(node, results)
    SAVE_HOOKS[:] = waiting
    for context in waiting[-1:]:
        _pack(node, context)
    return type(result)(results) if isinstance(result, (tuple, list)) else results[0]


def compute_on_wrappers(name: str, compute: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a composite function, which computes by other operations, with a wrapper-subclass argument.

    If PyTorch implements the function as a single operator, pass that operator to `__torch_dispatch__`; a backward pass then runs
    the function.  Otherwise, run the function: its operations reach `__torch_dispatch__` one by one.
    """
    if name.endswith("_like"):
        requires_grad = kwargs.pop("requires_grad", False)
        made = call_aten_operator(name, args, {key: value for key, value in kwargs.items() if value not in (None, False)})
        return made.requires_grad_() if requires_grad else made
    if kwargs.get("out") is not None:
        return call_aten_operator(name, args, kwargs)
    facts = facts_of(name)
    if facts is not None and facts.single_operator:
        is_tracked = not facts.returns_bool and _is_tracked((*args, *kwargs.values()))
        if not is_tracked or not (facts.random or facts.kind is Kind.VIEW or state.forward_levels):
            call = hooks.dispatched_call(name, compute, args, kwargs)
            if call[0].namespace == "aten":
                result = call_torch_dispatch(*call)
                return hooks.record_composite(compute, args, kwargs, result) if is_tracked else result
    if name in ("mm", "matmul") and len(args) == 2 and args[0].ndim == args[1].ndim == 2 and not _is_tracked(args):
        return call_aten_operator("mm", args, kwargs)
    return compute(*args, **kwargs)


def _is_tracked(args: tuple[Any, ...]) -> bool:
    """Whether autograd records a call with these arguments, or propagates the tangent of one."""
    if grad_flag.get() and any(value._requires_grad for value in overriding.relevant(args) if isinstance(value, Tensor)):
        return True
    return state.forward_levels > 0 and hooks.forward.has_tangent(args)


def _operator_method(name: str) -> Callable[..., Any]:
    compute = getattr(Tensor, name)
    return lambda self, *args, **kwargs: compute_on_wrappers(name, compute, (self, *args), kwargs)


def _indices(index: tuple[Any, ...], ndim: int) -> list[Tensor | None] | None:
    """Convert an index of arrays, `:` and `...` to a list of tensors, with None for `:`. Return None for other indices."""
    masks = ("bool", "torch.bool")
    used = sum(getattr(item, "ndim", 1) if str(getattr(item, "dtype", "")) in masks else 1 for item in index if item is not ...)
    found: list[Tensor | None] = []
    for item in index:
        if item is ...:
            found += [None] * (ndim - used)
        elif isinstance(item, slice) and item == slice(None):
            found.append(None)
        elif hasattr(item, "dtype"):
            found.append(as_tensor(item))
        else:
            return None
    return found


def _without_backend(op: Operation, tensors: tuple[Any, ...], params: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """Return a function and its arguments for an operation whose parameters include a `backend`.

    The arguments end before `backend`, because the inner tensors may have another backend.  The function calls the operation with
    the backend of its first argument and the remaining parameters.
    """
    place = op.param_names.index("backend")
    args = (*tensors, *(list(value) if isinstance(value, tuple) else value for value in params[:place]))

    def function(*args: Any) -> Any:
        return op.function(*args, args[0]._key.backend, *params[place + 1 :])

    function.__name__ = op.name
    return function, args


_BASIC_INDEXING = frozenset({"getitem_alias", "getitem_select", "getitem_slice", "getitem_unsqueeze"})


def _basic_index(tensor: Tensor, index: Any) -> Any:
    """Apply a basic index by PyTorch's operators `select`, `slice` and `unsqueeze`, one dimension at a time."""
    items = list(index) if isinstance(index, tuple) else [index]
    if ... in items:
        place = items.index(...)
        used = sum(item is not None for item in items) - 1
        items[place : place + 1] = [slice(None)] * (tensor.ndim - used)
    if all(item == slice(None) for item in items):
        return call_aten_operator("alias", (tensor,), {})
    result, dim = _detached_copy(tensor), 0
    for place, item in enumerate(items):
        if type(result) not in overriding.DISPATCHING:  # not a wrapper: apply the remaining index to it
            return result[(slice(None),) * dim + tuple(items[place:])]
        if item is None:
            result = call_aten_operator("unsqueeze", (result, dim), {})
        elif isinstance(item, slice):
            length = result.shape[dim]
            start, stop, step = item.indices(length)
            if (start, stop, step) != (0, length, 1):
                result = call_aten_operator("slice", (result, dim, start, stop, *([step] if step != 1 else [])), {})
        else:
            result = call_aten_operator("select", (result, dim, item), {})
            continue
        dim += 1
    return result


def _dtype_of(result: Any) -> dtypes.dtype:
    """Return the dtype of a result; for several tensors, that of the first."""
    return (result[0] if isinstance(result, (tuple, list)) else result).dtype  # type: ignore[no-any-return]  # `self` is a tensor


def _store_wrappers(node: Any, results: list[Tensor]) -> None:
    """For each result that a node has saved for the backward pass, store its wrapper."""
    for index, holder in saved_outputs(node):
        holder.__dict__["_wrapper"] = _detached_copy(results[index])


def _pack(node: Any, context: Any) -> None:
    """Apply the saved-tensor hooks of a context to the tensors that a node has saved."""

    def packed(saved: Any) -> Any:
        if not is_saved_tensor(saved):
            return saved
        index = saved[0].__dict__.get("_output_of")
        tensor = saved[0] if index is None else _detached_copy(saved[0].__dict__["_wrapper"])
        if index is not None:
            tensor.__dict__["_output_of"] = index
        return context.pack(tensor)

    for name in node.saved_tensor_slots:
        value = getattr(node, name)
        several = isinstance(value, (tuple, list)) and not is_saved_tensor(value)
        setattr(node, name, type(value)(map(packed, value)) if several else packed(value))


def _detached_copy(tensor: Tensor) -> Any:
    """Return a copy of a wrapper with the same inner tensors, without history."""
    cls: Any = type(tensor)
    copy = new(cls)
    copy._array, copy._key, copy._storage = tensor._array, tensor._key, tensor._storage
    copy._requires_grad, copy._node, copy._grad, copy._view = False, None, None, None
    copy.__dict__.update(tensor.__dict__)
    for name in _slots_below_tensor(cls):
        if hasattr(tensor, name):
            setattr(copy, name, getattr(tensor, name))
    return copy


@functools.cache
def _slots_below_tensor(cls: type[Tensor]) -> tuple[str, ...]:
    """Return the names of `__slots__` that a subclass and its bases define, without those of `Tensor`."""
    slots = [vars(base).get("__slots__", ()) for base in cls.__mro__[: cls.__mro__.index(Tensor)]]
    return tuple(name for names in slots for name in ((names,) if isinstance(names, str) else names))


# --- methods that are no operations -------------------------------------------------------------------------------


def call_aten_operator(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return call_torch_dispatch(hooks.operator(name, None, args, kwargs), args, kwargs)


def _detach(self: Tensor) -> Tensor:
    detached = call_aten_operator("detach", (self,), {})
    if type(detached) in overriding.DISPATCHING:
        detached._storage = self._storage or self._own_storage()  # the version counter
    return detached  # type: ignore[no-any-return]  # a class may return anything


def _item(self: Tensor) -> Any:
    if self.numel() != 1:
        raise RuntimeError(f"a Tensor with {self.numel()} elements cannot be converted to Scalar")
    return call_aten_operator("_local_scalar_dense", (self,), {})


def _single_element(self: Tensor) -> Any:
    if self.numel() != 1:
        raise ValueError("only one element tensors can be converted to Python scalars")
    return _item(self)


def _truth(self: Tensor) -> bool:
    return bool(_item(self)) if self.numel() == 1 else Tensor.__bool__(self)  # Tensor's method raises the error


def _tolist(self: Tensor) -> Any:
    raise RuntimeError(f".tolist() is not supported for tensor subclasses, got {type(self).__name__}")


def _numpy(self: Tensor, *, force: bool = False) -> Any:
    raise RuntimeError(".numpy() is not supported for tensor subclasses.")


def _data(self: Tensor) -> Tensor:
    return call_aten_operator("detach", (self,), {})  # type: ignore[no-any-return]  # a class may return anything


def _set_data(self: Tensor, value: Tensor) -> None:
    _replace_inner(self, value)


def _replace_inner(target: Tensor, source: Tensor) -> None:
    """Replace the inner tensors of `target` by those of `source`."""
    target._array, target._key = source._array, source._key
    target.__dict__.update({name: value for name, value in source.__dict__.items() if name not in ("_is_param", "_grad_dtype")})


def _inplace_method(name: str) -> Callable[..., Any]:
    return lambda self, *args, **kwargs: write_wrapper(name, self, args, kwargs)


def write_wrapper(name: str, self: Tensor, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Compute the in-place method `name` of a wrapper.

    If autograd records the call, the class computes the functional operator, whose inner tensors replace those of the wrapper.
    """
    if not _is_tracked((self, *args)):
        call_aten_operator(name, (self, *args), kwargs)
        (self._storage or self._own_storage()).version += 1
        return self
    if self._requires_grad and self._node is None:
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
    compute = getattr(_copy_with_history(self), name.rstrip("_"), None)
    if compute is None:
        raise RuntimeError(f"{type(self).__name__}: autograd does not support the in-place method {name} of wrapper subclasses")
    result = compute(*args, **kwargs)
    hooks.forward.overwrite(self, result)
    _replace_inner(self, result)
    self._node, self._requires_grad = result._node, result._requires_grad
    self._storage = Storage()
    return self


def _setitem(self: Tensor, index: Any, value: Any) -> None:
    """Write to a view of the indexed elements by `fill_` or `copy_`; with index tensors or masks, call `index_put_`."""
    if not self._key.wraps:
        Tensor.__setitem__(self, index, value)
        return
    raw, is_advanced, _ = raw_index(self, index)
    if not is_advanced and _is_tracked((self, value)):
        raise RuntimeError(f"{type(self).__name__}: autograd only supports assignments at index tensors and masks")
    if is_advanced:
        value = value if isinstance(value, Tensor) else as_tensor(value, dtype=self.dtype, device=self.device)
        items = index if isinstance(index, tuple) else (index,)
        has_wrapper = any(isinstance(item, Tensor) and item._key.wraps for item in items)  # `raw` has no elements of it
        write_wrapper("index_put_", self, (_indices(items if has_wrapper else raw, self.ndim), value), {})
    else:
        call_aten_operator("copy_" if isinstance(value, Tensor) else "fill_", (self[index], value), {})
        (self._storage or self._own_storage()).version += 1


def _copy_with_history(tensor: Tensor) -> Any:
    copy = _detached_copy(tensor)
    copy._node, copy._requires_grad = tensor._node, tensor._requires_grad
    return copy


def _inner_tensors(self: Any) -> list[Tensor]:
    """Return the inner tensors of a wrapper.  RuntimeError if its class does not define `__tensor_flatten__`."""
    if not hasattr(self, "__tensor_flatten__"):
        raise RuntimeError(
            f"{type(self).__name__} must define __tensor_flatten__, which names the tensors whose memory is shared"
        )
    return [getattr(self, name) for name in self.__tensor_flatten__()[0]]


def _share_memory_(self: Tensor) -> Tensor:
    for part in _inner_tensors(self):
        part.share_memory_()
    return self


def _is_shared(self: Tensor) -> bool:
    return all(part.is_shared() for part in _inner_tensors(self))


_NOT_ROUTED = frozenset({"requires_grad_", "detach_", "share_memory_", "rename_"})


def _new_method(name: str) -> Callable[..., Any]:
    """Return a method such as `new_zeros` that calls `__torch_dispatch__`; sizes are a tuple or separate arguments."""

    def method(self: Tensor, size: Any, *rest: Any, **options: Any) -> Tensor:
        if not isinstance(size, (tuple, list)):
            size, rest = (size, *rest), ()
        given = {key: value for key, value in options.items() if value not in (None, False) or key == "fill_value"}
        requires_grad = given.pop("requires_grad", False)
        made: Tensor = call_aten_operator(name, (self, tuple(size), *rest), given)
        return made.requires_grad_() if requires_grad else made

    return method


def prepare_dispatching(cls: type[Tensor]) -> None:
    """Replace methods of a wrapper subclass so that they call `__torch_dispatch__`.

    Methods in the table of operations call it already.
    """
    methods: dict[str, Any] = {"detach": _detach}
    single = [name for name in declared("single_operator") if hasattr(Tensor, name)]
    methods |= {name: _operator_method(name) for name in (*single, "matmul")} | {"__matmul__": _operator_method("matmul")}
    methods |= {"share_memory_": _share_memory_, "is_shared": _is_shared, "__setitem__": _setitem}
    methods |= {"item": _item, "_single_element": _single_element, "__bool__": _truth, "__nonzero__": _truth}
    methods |= {"tolist": _tolist, "numpy": _numpy}
    methods["data"] = property(_data, _set_data)
    shaped = names(kind=Kind.FACTORY) - {"new_tensor"}
    methods |= {name: _new_method(name) for name in shaped if name.startswith("new_")}
    for name in vars(Tensor):
        if name.endswith("_") and not name.startswith("_") and name not in _NOT_ROUTED:
            methods[name] = _inplace_method(name)
        elif overriding.OPERATOR_METHODS.get(name, "").endswith("_"):  # `a += b`
            methods[name] = _inplace_method(overriding.OPERATOR_METHODS[name])
    offered = cls.__torch_function__ is not overriding._disabled_torch_function_impl
    for name, method in methods.items():
        owner = next(base for base in cls.__mro__ if name in vars(base))
        if owner is not Tensor and (owner, name) not in overriding.GENERATED:
            continue
        if not isinstance(method, property):
            method = functools.wraps(getattr(Tensor, name))(method)
            method = overriding.offered(method) if offered else method
        setattr(cls, name, method)
