"""Conversions of dtype, device and memory format: `to` and related methods."""

from __future__ import annotations

from typing import Any

from ..backend import AcceleratorBackend, contiguous_strides, has_channels_last_strides
from ..engine.calls import overriding
from ..engine.calls.dispatch import refuse_size, require_flags, require_tensors
from ..engine.calls.facts import Kind, declare, register
from ..engine.calls.inplace import assign, check_writable, is_plain, snapshot, write_by_dispatch
from ..engine.calls.node_names import merge_nodes
from ..engine.calls.op import op
from ..engine.calls.out_rules import Out
from ..engine.calls.outputs import check_memory
from ..engine.calls.tables import OPS
from ..engine.calls.transform_hooks import hooks
from ..engine.calls.wrappers import as_method
from ..engine.devices import cuda as cuda_runtime
from ..engine.devices.devices import DispatchKey, device, dispatch_key
from ..engine.devices.state import state
from ..engine.devices.warning import warn_once
from ..engine.tape.fast_path import FAST
from ..engine.tape.node import rename_node
from ..engine.tensors.tensor import Tensor, attach, wrap
from ..engine.values import dtypes
from ..engine.values.constants import channels_last, channels_last_3d, contiguous_format, memory_format, preserve_format


def _to_copy_call(input: Tensor, key: DispatchKey, source: DispatchKey) -> tuple[str, Tensor, dict[str, Any]]:
    """Return the call of PyTorch's operator, with the device if it changes; with the dtype if it or nothing else changes."""
    moves = key.device != source.device
    changes: dict[str, Any] = {"device": key.device} if moves else {}
    if key.dtype is not source.dtype or not moves:
        changes["dtype"] = key.dtype
    return "_to_copy", input, changes


_cast = op(
    "to_key", lambda xp, input, /, target, source: _converted(input, target),
    kind=Kind.CONVERSION, public=False, method=False, out=False,
    grad_fn="ToCopyBackward0", dispatches=_to_copy_call,
    input=lambda F, g, target, source: _move_gradient_back(g, target, source),  # the gradient keeps the dtype of `target`
)  # fmt: skip


def _converted(array: Any, key: DispatchKey) -> Any:
    return key.backend.astype(array, key.raw_dtype)


def _move_gradient_back(g: Any, key: DispatchKey, source: DispatchKey) -> Any:
    """Move a gradient to the device that the tensor was on before the conversion."""
    if key.device is source.device:
        return g
    return g.to(source.device) if isinstance(g, Tensor) else _copy_to_device(g, key, source.to(key.dtype), False)


def to_key(input: Tensor, key: DispatchKey, copy: bool = False, non_blocking: bool = False, writing: bool = False) -> Tensor:
    """Return `input` with the dtype and device of `key`; it is `input` itself if both match and `copy` is False.

    A lazily conjugated or negated tensor may stay lazy; with `writing`, it is materialized.
    """
    source = input._key
    if source.wraps:
        key = source.to(key.dtype).on(key.device)
        return _cast(input, key, source) if copy or key is not source else input
    if type(source) is not type(key) or type(source) is not DispatchKey:
        if source.materialized is key and not copy and not writing:
            return input
        if source is not key:
            input, key = source.materialize(input), key.materialized
            source = input._key
        if type(source) is not DispatchKey or type(key) is not DispatchKey:  # a batched tensor stays batched, whatever `key` is
            key = source.to(key.dtype)
    if source is key:
        return rename_node(input.clone(), "ToCopyBackward0") if copy else input
    if state.forward_levels and key.dtype.category >= dtypes.FLOATING and hooks.forward.has_tangent([input]):
        return hooks.forward.along(lambda x: to_key(x, key, non_blocking=non_blocking), input)
    return _convert_to_key(input, key, non_blocking)


def _convert_to_key(input: Tensor, key: DispatchKey, non_blocking: bool) -> Tensor:
    source, array = input._key, input._array
    if source.dtype.is_complex and dtypes.BOOL < key.dtype.category <= dtypes.FLOATING:
        warn_once("Casting complex values to real discards the imaginary part")
    try:
        if source.device is not key.device:
            array = _copy_to_device(array, source, key, non_blocking)
        elif source.dtype is not key.dtype:
            array = key.backend.astype(array, key.raw_dtype)
    except Exception as error:
        refuse_size(error)
        raise
    if input._requires_grad and key.dtype.category >= dtypes.FLOATING:
        return OPS["to_key"].record(array, key, input, key, source)  # type: ignore[no-any-return]  # a generated function
    return wrap(array, key)


def _copy_to_device(array: Any, source: DispatchKey, key: DispatchKey, non_blocking: bool) -> Any:
    """Copy the array to the device of `key`, through host memory if the two backends differ."""
    index = key.device.index or 0
    without_waiting = non_blocking and source.dtype is key.dtype
    if source.backend is key.backend:
        moved = key.backend.to_device(array, index)
    elif without_waiting and key.device.type == "cpu" and isinstance(source.backend, AcceleratorBackend):
        moved = key.backend.wrap(source.backend.to_host_async(array))
    elif without_waiting and isinstance(key.backend, AcceleratorBackend):
        moved = key.backend.from_host_async(source.backend.to_host(array), index)
    else:
        moved = source.backend.copied_to(key.backend, array, index)
    return moved if source.dtype is key.dtype else key.backend.astype(moved, key.raw_dtype)


_TO_OPTIONS = "bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None"


@declare(
    "to",
    kind=Kind.CONVERSION,
    schema=(
        f"to.device(Tensor(a) self, Device device, ScalarType dtype, {_TO_OPTIONS}) -> Tensor(a)",
        f"to.dtype(Tensor(a) self, ScalarType dtype, {_TO_OPTIONS}) -> Tensor(a)",
        f"to.other(Tensor(a) self, Tensor other, {_TO_OPTIONS}) -> Tensor(a)",
    ),
)
def _to_method(
    self: Tensor,
    *args: Any,
    dtype: Any = None,
    device: Any = None,
    other: Any = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Convert to a dtype and device, or to those of another tensor; return `self` if nothing changes.

    Args:
        dtype: the dtype of the result; None for that of `self`.
        device: the device of the result; None for that of `self`.
        other: a tensor whose dtype and device are used.
        non_blocking: whether a copy between pinned CPU memory and a GPU may return before it has finished.
        copy: whether a copy is returned even if nothing changes.
        memory_format: the order of the dimensions in memory; None for that of `self`.

    >>> torch.ones(1).to(torch.int64), torch.ones(1).to("cpu", torch.float64)
    (tensor([1]), tensor([1.], dtype=torch.float64))
    """
    if type(self) not in FAST and overriding.should_offer((self,), name="to"):
        options = {
            "dtype": dtype,
            "device": device,
            "other": other,
            "non_blocking": non_blocking,
            "copy": copy,
            "memory_format": memory_format,
        }
        kwargs = {name: value for name, value in options.items() if value is not None and value is not False}
        return overriding.handle_torch_function(Tensor.to, (self,), self, *args, **kwargs)  # type: ignore[no-any-return]  # an override may return anything
    if args:  # the positional forms: (dtype, *flags), (other, *flags) and (device, dtype, *flags)
        first, flags = args[0], args[1:]
        if type(first) is dtypes.dtype or isinstance(first, type):
            dtype = first
        elif isinstance(first, Tensor):
            other = first
        elif hasattr(first, "__torch_function__"):
            return overriding.handle_torch_function(Tensor.to, (self, first), self, *args)  # type: ignore[no-any-return]  # an override may return anything
        else:
            device = first
            if flags:
                dtype, flags = flags[0], flags[1:]
        if len(flags) > 2:
            raise TypeError(f"to() received an invalid combination of arguments - got {len(args)} by position")
        if flags:
            non_blocking, copy = flags if len(flags) == 2 else (*flags, copy)
    if type(non_blocking) is not bool or type(copy) is not bool:
        require_flags("to", non_blocking=non_blocking, copy=copy)
    if other is not None:
        dtype, device = other.dtype, other.device
    key = self._key
    if dtype is not None and type(dtype) is not dtypes.dtype:
        dtype = dtypes.as_dtype(dtype)
    if device is not None:
        key = dispatch_key(dtype or key.dtype, _as_device(device))
    elif dtype is not None and dtype is not key.dtype:
        key = key.to(dtype)
    is_same = key is self._key and type(key) is DispatchKey and not copy
    result = self if is_same else to_key(self, key, copy, non_blocking)
    if memory_format is None or memory_format is preserve_format or (is_same and memory_format is format_of(self)):
        return result
    return merge_nodes(result.contiguous(memory_format=memory_format), "ToCopyBackward0", (self,))


_device = device


def _as_device(place: Any) -> device:
    return place if isinstance(place, device) else _device(place)


_to_method.__name__ = "to"
attach(to=_to_method)


def _converter(name: str, dtype: dtypes.dtype) -> None:
    def method(self: Tensor, memory_format: Any = None) -> Tensor:
        if type(self) not in FAST and overriding.should_offer((self,), name=name):
            return overriding.handle_torch_function(method, (self,), self)  # type: ignore[no-any-return]  # an override may return anything
        if memory_format is not None:
            return _to_method(self, dtype, memory_format=memory_format)
        return to_key(self, self._key.to(dtype))

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"""Return `self.to({dtype!r})`.

    Args:
        memory_format: the order of the dimensions in memory; None for that of the tensor.
    """
    register(name, {"kind": Kind.CONVERSION})
    setattr(Tensor, name, method)


for _name, _dtype in {
    "float": dtypes.float32,
    "double": dtypes.float64,
    "half": dtypes.float16,
    "bfloat16": dtypes.bfloat16,
    "long": dtypes.int64,
    "int": dtypes.int32,
    "short": dtypes.int16,
    "char": dtypes.int8,
    "byte": dtypes.uint8,
    "bool": dtypes.bool_,
    "chalf": dtypes.complex32,
    "cfloat": dtypes.complex64,
    "cdouble": dtypes.complex128,
}.items():
    _converter(_name, _dtype)


@declare("type_as", kind=Kind.CONVERSION)
def _type_as(self: Tensor, other: Tensor) -> Tensor:
    """Convert to the dtype and device of `other`: `self.type(other.type())`.

    Args:
        other: a tensor.
    """
    require_tensors("type_as", other=other)
    return to_key(self, other._key)


@declare("cpu", kind=Kind.CONVERSION)
def _cpu(self: Tensor, *, memory_format: Any = None) -> Tensor:
    """Return the tensor in CPU memory.

    Args:
        memory_format: without effect.
    """
    return to_key(self, dispatch_key(self.dtype, _device("cpu")))


@declare("cuda", kind=Kind.CONVERSION)
def _cuda(self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None, **legacy: Any) -> Tensor:
    """Return the tensor on `device`, by default the current CUDA device.  The legacy `cuda(async=True)` is accepted.

    Args:
        device: the device or its index; None for the current one.
        non_blocking: whether a copy from pinned CPU memory may return before it has finished.
        memory_format: without effect.

    Raises:
        RuntimeError: `device` is not a CUDA device.
    """
    if isinstance(device, bool):
        device = None
    counted = isinstance(device, int) and cuda_runtime.is_available()
    place = _device("cuda", device) if device is None or counted else _as_device(device)
    if place.type != "cuda":
        raise RuntimeError(f"Invalid device, must be cuda device, but got {place}")
    cuda_runtime.init()
    return to_key(self, dispatch_key(self.dtype, place), non_blocking=non_blocking or legacy.get("async", False))


attach(type_as=as_method(_type_as), cpu=_cpu, cuda=_cuda)


# --- layout -------------------------------------------------------------------------------------------------------


def _is_contiguous(self: Tensor, *, memory_format: Any = None) -> bool:
    """Whether the elements are stored in row-major order, or in the order of `memory_format`.

    Args:
        memory_format: `torch.channels_last`, `torch.channels_last_3d`, or None for row-major order.
    """
    if memory_format is not None and _is_channels_last(memory_format):
        return _in_channels_last(self)
    return self._key.backend.is_contiguous(self._array)


def _is_channels_last(value: Any) -> bool:
    if not isinstance(value, memory_format):
        raise TypeError(f"argument 'memory_format' must be torch.memory_format, not {type(value).__name__}")
    return value.is_channels_last


def _in_channels_last(self: Tensor) -> bool:
    if self.ndim not in (4, 5):
        return False
    order = (0, *range(2, self.ndim), 1)
    shape, strides = self.shape, self.stride()
    expected = contiguous_strides([shape[d] for d in order])
    return all(shape[d] == 1 or strides[d] == w for d, w in zip(order, expected, strict=True))


def format_of(tensor: Tensor) -> memory_format:
    """Return `channels_last(_3d)` for tensors with such strides that are not row-major, else `contiguous_format`."""
    if tensor._array.ndim not in (4, 5) or tensor._key.backend.is_contiguous(tensor._array):
        return contiguous_format
    if not has_channels_last_strides(tensor.shape, tensor.stride()):
        return contiguous_format
    return channels_last if tensor.ndim == 4 else channels_last_3d


def in_format_of(tensor: Tensor, like: Tensor) -> Tensor:
    """Return `tensor` in channels-last format if `like` has that format: operations on images preserve it."""
    target = format_of(like)
    return tensor if target is contiguous_format else tensor.contiguous(memory_format=target)


def _contiguous(self: Tensor, *, memory_format: Any = None) -> Tensor:
    """Return the tensor itself if it is contiguous, else a contiguous copy.

    Args:
        memory_format: `torch.channels_last`, `torch.channels_last_3d`, or None for row-major order.
    """
    if memory_format is not None and _is_channels_last(memory_format):
        return self if _in_channels_last(self) else self.clone(memory_format=memory_format)
    return self if self._key.backend.is_contiguous(self._array) else _contiguous_copy(self)


_contiguous_copy = op(
    "contiguous", lambda xp, input: xp.asarray(input, copy=True),
    kind=Kind.CONVERSION, public=False, method=False, out=False, operator="clone",
    dispatches=lambda input: ("clone", input, {"memory_format": contiguous_format}),
    grad_fn="CloneBackward0", input=lambda F, g: g,
)  # fmt: skip


def _to_dense(self: Tensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
    """Return this tensor, which is dense already; converted to `dtype` if that is given.

    Args:
        dtype: the dtype of the result; None for that of this tensor.
        masked_grad: without effect on a dense tensor.
    """
    return self if dtype is None else self.to(dtype)


attach(is_contiguous=_is_contiguous, contiguous=_contiguous, to_dense=_to_dense)


@declare("copy_", kind=Kind.CONVERSION)
def _copy(self: Tensor, other: Any, non_blocking: bool = False) -> Tensor:
    """Overwrite the elements with those of `other`, broadcast and converted; gradients flow to `other` only.

    Args:
        other: a tensor that can be broadcast to the shape of `self`.
        non_blocking: whether a copy between pinned CPU memory and a GPU may return before it has finished.

    >>> torch.zeros(2).copy_(torch.tensor([1, 2]))
    tensor([1., 2.])
    """
    kernel = self._key.backend.all_inplace_kernels.get("copy")
    alike = type(other) in FAST and type(self) in FAST and other._key is self._key and other._array.shape == self._array.shape
    separate = alike and (self._storage is None or self._storage is not other._storage)
    if kernel and separate and not other._requires_grad and is_plain(self) and kernel(self._array, other._array):
        self._bump_version()
        return self
    if type(other) not in overriding.DIRECT and overriding.may_override((other,)):
        return overriding.offer_method("copy_", (self, other, non_blocking), {})  # type: ignore[no-any-return]  # an override may return anything
    if isinstance(other, (bool, int, float, complex)):
        return self.fill_(other)
    if not isinstance(other, Tensor):
        raise TypeError(f"copy_(): argument 'other' (position 1) must be Tensor, not {type(other).__name__}")
    check_memory(Out(0), self, (other,))
    # a copy to the host waits: the host cannot tell when an asynchronous copy is done
    non_blocking = non_blocking and self.device.type != "cpu"
    return write_over(self, other, non_blocking=non_blocking)


def write_over(
    self: Tensor, value: Tensor, grad_fn: str = "CopyBackwards", name: str = "copy", non_blocking: bool = False
) -> Tensor:
    """Overwrite all elements with `value`, broadcast and converted to the tensor's dtype.

    Args:
        self: the tensor to overwrite.
        value: the new elements.
        grad_fn: the name of the autograd node.
        name: the name of the operation, without the underscore.
        non_blocking: whether a copy to another device may return before it has finished.
    """
    if self._key.wraps:
        return hooks.write_wrapper(f"{name}_", self, (value,), {})
    if state.dispatching and write_by_dispatch(f"{name}_", self, [self, value], (self, value)):
        return self
    check_writable(self)
    value = to_key(value, self._key, non_blocking=non_blocking, writing=True)
    if value._array.shape != self._array.shape:
        value = value.expand(self.shape)
    return assign(self, rename_node(_copied(snapshot(self), value), grad_fn), name)


_copied = op(
    "copied", lambda xp, input, src: src,
    kind=Kind.CONVERSION, promote="match", public=False, method=False, out=False, grad_fn="CopyBackwards",
    doc="Return `src`, the new value of `input`, whose gradient is zero.",
    input=lambda F, g, input_shape: F.zeros_of(g, input_shape),
    src=lambda F, g: g,
)  # fmt: skip
attach(copy_=_copy)


def _module_load(self: Tensor, other: Tensor, assign: bool = False) -> Tensor:
    """Return the tensor that `Module.load_state_dict` stores: `other` if `assign`, else this tensor with its values.

    Args:
        other: the tensor of the state dict.
        assign: whether `other` replaces this tensor.
    """
    return other.detach() if assign else self.copy_(other).detach()


attach(module_load=_module_load)
