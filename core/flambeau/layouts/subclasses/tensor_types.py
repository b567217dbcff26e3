"""Legacy tensor types and constructors: `FloatTensor(2, 3)`, `x.type('torch.LongTensor')`.

A tensor type represents a dtype on a device type.  It constructs tensors, `x.type()` returns its name, and
`isinstance(x, FloatTensor)` checks whether `x` has that dtype and device type.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

from ...engine.calls.facts import Kind, declare
from ...engine.calls.overriding import DisableTorchFunctionSubclass, _disabled_torch_function_impl
from ...engine.calls.tables import OPS
from ...engine.devices import cuda as cuda_runtime
from ...engine.devices.devices import device, dispatch_key, forget_kernels
from ...engine.devices.devices import device as Device  # `construct` has a parameter `device`
from ...engine.devices.warning import warn_once
from ...engine.tape.grad_mode import inference_mode
from ...engine.tensors.tensor import Tensor
from ...engine.values import dtypes
from ...engine.values.dtypes import dtype
from ...engine.values.sizes import Size
from ...operations.conversion import to_key
from ...operations.creation.from_data import from_data
from ...operations.creation.from_shape import empty
from ...storage import TypedStorage, UntypedStorage

__all__ = [
    "TENSOR_TYPES", "as_subclass", "checked_device", "construct", "construct_as", "set_default_tensor_type", "tensor_type",
]  # fmt: skip


class TensorType(type):
    """Metaclass of the legacy tensor types, such as `FloatTensor`."""

    dtype: dtype
    device_type: str

    def __new__(mcs, name: str, dtype: dtypes.dtype, device_type: str) -> TensorType:
        if isinstance(dtype, tuple):  # a class statement passes its bases
            raise TypeError(f"type '{dtype[0].spelled}' is not an acceptable base type")
        module = "flambeau" if device_type == "cpu" else f"flambeau.{device_type}"
        cls = super().__new__(
            mcs,
            name,
            (Tensor,),
            {
                "__slots__": (),
                "__module__": module,
                "__doc__": f"Legacy type of {dtype} tensors on device type {device_type}: a constructor, for `isinstance` too.",
                "__torch_function__": _disabled_torch_function_impl,
            },
        )
        cls.dtype, cls.device_type = dtype, device_type
        return cls

    def __init__(cls, *args: Any) -> None:
        pass

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and instance.dtype is cls.dtype and instance.device.type == cls.device_type

    def __call__(cls, *args: Any, **kwargs: Any) -> Tensor:
        cls.require()
        given = kwargs.pop("device", None)
        args = _from_keyword(cls.__name__, args, kwargs)
        return construct_as(cls.dtype, checked_device(given, cls.device_type, args), args)

    def require(cls) -> None:
        """Raise TypeError if this is a CUDA type and CUDA is not available."""
        if cls.device_type == "cuda" and not cuda_runtime.is_available():
            raise TypeError(f"type {cls.spelled} not available. Torch not compiled with CUDA enabled.")

    @property
    def spelled(cls) -> str:
        """The name that `x.type()` returns: `torch.FloatTensor`."""
        where = "" if cls.device_type == "cpu" else f"{cls.device_type}."
        return f"torch.{where}{cls.__name__}"

    def __repr__(cls) -> str:
        return f"<class '{cls.spelled}'>"


def construct_as(dtype: dtype, place: Any, args: Sequence[Any]) -> Tensor:
    """Create the tensor that a legacy constructor such as `FloatTensor(*args)` returns.

    `args` are sizes, data, a storage, or another tensor.  The result shares the memory of that tensor.
    """
    key = dispatch_key(dtype, place if isinstance(place, device) else device(place))
    if not args:
        return empty(0, dtype=dtype, device=key.device)
    first = args[0]
    if len(args) > 1 or (isinstance(first, (Integral, Size)) and not isinstance(first, bool)):
        return empty(*args, dtype=dtype, device=key.device)
    if isinstance(first, (TypedStorage, UntypedStorage)):
        return first.as_tensor(dtype)
    if isinstance(first, Tensor):
        if first.dtype is not dtype:
            raise TypeError(f"expected {tensor_type(key.dtype, key.device.type).spelled} (got {first.type()})")
        return _aliased(first)
    if not hasattr(first, "__len__"):
        raise TypeError(f"new(): data must be a sequence (got {type(first).__name__})")
    return from_data(first, dtype, key.device, copy=None)


def _from_keyword(function: str, args: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, ...]:
    """Convert a keyword of a legacy constructor (`size`, `data`, `other` or `storage`) to the positional argument.

    Raises:
        TypeError: there are other keywords, or positional arguments as well.
    """
    if not keywords:
        return args
    name, value = next(iter(keywords.items()))
    if name not in ("data", "other", "size", "storage") or args or len(keywords) > 1:
        raise TypeError(f"{function}() got an unexpected keyword argument '{name}'")
    return (Size(value),) if name == "size" else (value,)


def checked_device(given: Any, own: Any, args: Sequence[Any], constructor: str = "constructor") -> Any:
    """Return the device of the tensor that a legacy constructor creates from `args`: `given`, by default `own`.

    Raises:
        RuntimeError: `given` has another type than `own`, or is used with a tensor, which has a device.
    """
    if given is None:
        return own
    if len(args) == 1 and isinstance(args[0], Tensor):
        form = "tensor.new" if constructor == "new" else "torch.Tensor"
        raise RuntimeError(
            f"Legacy tensor {constructor} of the form {form}(tensor, device=device) is not supported.  Use torch.as_tensor(...) "
            "instead."
        )
    place, expected = Device(given), Device(own).type
    if place.type != expected:
        raise RuntimeError(f"legacy constructor expects device type: {expected} but device type: {place.type} was passed")
    return place


def construct(cls: type[Tensor], *args: Any, device: Any = None, requires_grad: bool = False, **unknown: Any) -> Any:
    """Create the tensor that the legacy constructor `Tensor(...)` returns, with the default dtype."""
    args = _from_keyword(cls.__name__, args, unknown)
    place = checked_device(device, _default_type.device_type, args)
    if len(args) == 1 and isinstance(args[0], Tensor):
        result = _aliased(args[0])
    else:
        result = construct_as(_default_type.dtype, place, args)
    if requires_grad:
        result.requires_grad_()
    return result if cls is Tensor else result._as(cls)


def as_subclass(self: Tensor, cls: type[Tensor]) -> Any:
    """Return the tensor as an instance of `cls`, with the same memory and history.

    Args:
        cls: a subclass of Tensor.

    >>> class Labelled(torch.Tensor): pass
    >>> x = torch.ones(2, requires_grad=True)
    >>> x.as_subclass(Labelled).sum().backward()
    >>> x.grad
    tensor([1., 1.])
    """
    is_leaf = self._node is None and self._requires_grad
    return (_aliased(self) if is_leaf else self)._as(cls)  # for a leaf, the result needs a node that passes gradients to it


def _aliased(tensor: Tensor) -> Tensor:
    """Return a plain tensor with the same memory and history: `x[...]`, also where gradients are disabled."""
    with DisableTorchFunctionSubclass(), inference_mode(False):
        result: Tensor = OPS["getitem_alias"].function(tensor, (Ellipsis,))
    return result


# --- the types ----------------------------------------------------------------------------------------------------


def _make_types(device_type: str) -> dict[str, TensorType]:
    named = [d for d in dtypes.ALL if d.name not in ("uint16", "uint32", "uint64")]
    return {f"{d.legacy_name}Tensor": TensorType(f"{d.legacy_name}Tensor", d, device_type) for d in named}


TENSOR_TYPES = {device_type: _make_types(device_type) for device_type in ("cpu", "cuda")}
_default_type = TENSOR_TYPES["cpu"]["FloatTensor"]


def tensor_type(dtype: dtype, device_type: str) -> TensorType:
    """Return the legacy type of tensors of this dtype and device type."""
    if device_type not in TENSOR_TYPES:
        TENSOR_TYPES[device_type] = _make_types(device_type)
    name = f"{dtype.legacy_name}Tensor"
    if name not in TENSOR_TYPES[device_type]:
        TENSOR_TYPES[device_type][name] = TensorType(name, dtype, device_type)
    return TENSOR_TYPES[device_type][name]


def find_type(spec: Any) -> TensorType:
    """Return the tensor type for a class or a string such as `'torch.cuda.LongTensor'`."""
    if isinstance(spec, TensorType):
        return spec
    if isinstance(spec, type) and issubclass(spec, Tensor):
        return _default_type
    if not isinstance(spec, (str, type)):
        raise TypeError("dtype must be a type, str, or dtype object")
    text = spec if isinstance(spec, str) else spec.__name__
    *_, device_type, name = ("cpu", *text.removeprefix("torch.").split("."))
    if name == "Tensor":
        return tensor_type(_default_type.dtype, device_type)
    table = TENSOR_TYPES.get(device_type, {})
    if not text.startswith("torch.") or name not in table:
        raise ValueError(f"invalid type: '{text}'")
    return table[name]


@declare("type", kind=Kind.CONVERSION)
def type_method(self: Tensor, dtype: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
    """Return the name of the tensor's type; or, given a type (class, name or dtype), the tensor converted to it.

    Args:
        dtype: a tensor type or its name, or a dtype; None to return the name.
        non_blocking: whether a copy between pinned CPU memory and a GPU may return before it has finished.

    >>> torch.ones(1).type(), torch.ones(1).type(torch.LongTensor)
    ('torch.FloatTensor', tensor([1]))
    """
    unknown = next((name for name in kwargs if name != "async"), None)  # `async` is the legacy name of `non_blocking`
    if unknown is not None:
        raise TypeError(f"type() got an unexpected keyword argument '{unknown}'")
    if dtype is None:
        return tensor_type(self.dtype, self.device.type).spelled
    if isinstance(dtype, dtypes.dtype):
        return to_key(self, self._key.to(dtype))
    tensor_type_ = find_type(dtype)
    place = self.device if self.device.type == tensor_type_.device_type else device(tensor_type_.device_type)
    return to_key(self, dispatch_key(tensor_type_.dtype, place), non_blocking=non_blocking)


def new_method(self: Tensor, *args: Any, **options: Any) -> Tensor:
    """Create a tensor with the dtype and device of this one, from sizes or data, like the legacy constructors.

    Args:
        *args: the sizes of an uninitialised tensor, or one sequence of numbers, array or tensor.
        **options: `device`, the device of the result, which must have the type of this tensor's device.
    """
    given = options.pop("device", None)
    args = _from_keyword("new", args, options)
    return construct_as(self.dtype, checked_device(given, self.device, args, "new"), args)


def set_default_dtype(d: dtype, /) -> None:
    """Set the default dtype, a floating-point one, for tensors created from Python floats or without `dtype=`.

    Args:
        d: the dtype: float16, bfloat16, float32 or float64.

    Raises:
        TypeError: the dtype is not floating point.
    """
    global _default_type
    if not isinstance(d, dtypes.dtype):
        raise TypeError(f"invalid dtype object: {d}")
    if not d.is_floating_point:
        raise TypeError(f"only floating-point types are supported as the default type, but got {d}")
    if d in dtypes.FLOAT8:
        raise TypeError(f"couldn't find storage object {d.legacy_name}Storage")
    dtypes.set_default(d)
    forget_kernels()
    _default_type = tensor_type(d, _default_type.device_type)


def set_default_tensor_type(t: Any, /) -> None:
    """Deprecated: set the default dtype and device of new tensors to those of a tensor type.

    Args:
        t: a floating-point tensor type, or its name, such as "torch.DoubleTensor".

    Raises:
        TypeError: the type is not floating-point.
    """
    global _default_type
    from ...engine.devices.devices import set_default_device

    warn_once(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use torch.set_default_dtype() and "
        "torch.set_default_device() as alternatives."
    )
    if not isinstance(t, (str, TensorType)):
        raise TypeError("invalid type object: only floating-point types are supported as the default type")
    tensor_type_ = find_type(t)
    if not tensor_type_.dtype.is_floating_point:
        raise TypeError(f"only floating-point types are supported as the default type, but got {tensor_type_.dtype}")
    tensor_type_.require()
    dtypes.set_default(tensor_type_.dtype)
    forget_kernels()
    _default_type = tensor_type_
    set_default_device(None if tensor_type_.device_type == "cpu" else tensor_type_.device_type)
