"""Fake tensors: tensors on the device `meta` that report another device, which need not be available.

Functions run on them as on other `meta` tensors.  `FakeTensorMode.compute` wraps each call: it sets the device that the results
report, and replaces errors about missing data by PyTorch's exceptions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import flambeau as torch

from ...engine.calls.overriding import disabled
from ...engine.devices.devices import chosen_device
from ...library.dispatch_modes import disable_modes
from ...overrides import DisableTorchFunctionSubclass, TorchFunctionMode, resolve_name
from ...serialization.options import materializes_fake_tensors
from ...utils.pytree import tree_iter, tree_map
from ...utils.weak import WeakTensorKeyDictionary

__all__ = [
    "DataDependentOutputException", "DynamicOutputShapeException", "FakeTensor", "FakeTensorConverter", "FakeTensorMode",
    "UnsupportedFakeTensorException", "UnsupportedOperatorException", "fake_tensor_mode_of", "is_fake", "unset_fake_temporarily",
]  # fmt: skip

Tensor = torch.Tensor
Device = torch.device

# Functions whose tensor arguments may be on different devices.
_MULTI_DEVICE_FUNCTIONS = frozenset({
    "__get__", "__getitem__", "__set__", "__setitem__", "backward", "copy_", "grad", "index_put", "index_put_", "set_", "to",
    "type_as",
})  # fmt: skip
_MAX_CONSTANT_NUMEL = 16  # maximum number of elements of a constant: a tensor whose values follow from numbers in the program
_CONSTANT_FACTORIES = frozenset({"tensor", "as_tensor", "scalar_tensor"})
_SCALAR_CONVERSIONS = frozenset({"item", "tolist", "__bool__", "__float__", "__int__", "__complex__", "__index__"})


class UnsupportedFakeTensorException(RuntimeError):
    """A tensor of this type cannot be converted to a fake tensor."""


class UnsupportedOperatorException(RuntimeError):
    """The operator does not support fake tensors."""


class DataDependentOutputException(RuntimeError):
    """A scalar depends on the data of a tensor, which fake tensors do not have."""


class DynamicOutputShapeException(RuntimeError):
    """The shape of the result depends on values, which fake tensors do not have."""


class FakeTensor(Tensor):
    """A tensor with a shape, strides, dtype and device, but without data.  A `FakeTensorMode` creates it.

    Args:
        fake_mode: the mode that the tensor belongs to.
        elem: a tensor on `meta` with the shape, strides and dtype.
        device: the device that the tensor reports.

    Raises:
        AssertionError: `elem` is not on `meta`.

    Example:
        >>> from flambeau.compat._subclasses import FakeTensorMode
        >>> x = FakeTensorMode().from_tensor(torch.ones(2, 3))
        >>> x.t() @ x
        FakeTensor(..., size=(3, 3))
    """

    fake_device: Device
    fake_mode: FakeTensorMode
    constant: Tensor | None = None  # a real tensor with the same values, if the values follow from numbers in the program

    def __new__(cls, fake_mode: FakeTensorMode, elem: Tensor, device: Any, constant: Any = None, **_: Any) -> Any:
        if elem.device.type != "meta":
            raise AssertionError(f"elem.device.type must be 'meta', got {elem.device.type}")
        return _as_fake(elem.detach(), fake_mode, Device(device)).requires_grad_(elem.requires_grad)

    @staticmethod
    def from_tensor(t: Tensor, fake_mode: FakeTensorMode) -> FakeTensor:
        """Return a fake tensor like `t` that belongs to `fake_mode`."""
        return fake_mode.from_tensor(t)

    @property
    def device(self) -> Device:
        return self._key.device if disabled.get() else self.fake_device

    @property
    def is_meta(self) -> bool:
        return self.device.type == "meta"

    @property
    def is_cpu(self) -> bool:
        return self.device.type == "cpu"

    @property
    def is_cuda(self) -> bool:
        return self.device.type == "cuda"

    @property
    def grad(self) -> Any:
        with DisableTorchFunctionSubclass():
            gradient = Tensor.grad.__get__(self)
        return gradient if gradient is None or is_fake(gradient) else _as_fake(gradient, self.fake_mode, self.fake_device)

    @grad.setter
    def grad(self, value: Any) -> None:
        with DisableTorchFunctionSubclass():
            Tensor.grad.__set__(self, value)  # type: ignore[attr-defined]  # a property

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    @property
    def data(self) -> Any:
        return self.detach()

    @data.setter
    def data(self, value: Any) -> None:
        with DisableTorchFunctionSubclass():
            Tensor.data.__set__(self, value)  # type: ignore[attr-defined]  # a property
        self.fake_device = value.fake_device

    def get_device(self) -> int:
        return -1 if self.device.type in ("cpu", "meta") else self.device.index or 0

    def numpy(self, *, force: bool = False) -> Any:
        raise RuntimeError(".numpy() is not supported for tensor subclasses.")

    def __repr__(self, **_: Any) -> str:  # type: ignore[override]  # takes what Tensor takes
        details = ["..."]
        if self.fake_device.type != "cpu":
            details.append(f"device='{self.fake_device}'")
        details.append(f"size={tuple(self.shape)}")
        if self.dtype is not torch.get_default_dtype():
            details.append(f"dtype={self.dtype}")
        if self.grad_fn is not None:
            details.append(f"grad_fn=<{self.grad_fn.name()}>")
        elif self.requires_grad:
            details.append("requires_grad=True")
        text = f"FakeTensor({', '.join(details)})"
        return f"Parameter({text})" if isinstance(self, torch.nn.Parameter) else text

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = self.fake_mode._like(self, self.fake_device)
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> Any:
        if not materializes_fake_tensors():
            return super().__reduce_ex__(protocol)
        with disable_modes(), DisableTorchFunctionSubclass():  # the values are not read
            real = torch.empty_strided(self.size(), self.stride(), dtype=self.dtype, device=self.fake_device)
            return real.requires_grad_(self.requires_grad).__reduce_ex__(protocol)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        mode = next((leaf.fake_mode for leaf in tree_iter((args, kwargs)) if isinstance(leaf, FakeTensor)), None)
        if mode is None:  # a call with the class but without a fake tensor
            with DisableTorchFunctionSubclass():
                return func(*args, **(kwargs or {}))
        return mode.compute(func, args, kwargs or {})


def _as_fake(tensor: Tensor, mode: FakeTensorMode, device: Device) -> FakeTensor:
    """Turn a `meta` tensor into a fake tensor, in place because the autograd graph and views refer to the object."""
    tensor.__class__ = FakeTensor
    fake: FakeTensor = tensor  # type: ignore[assignment]  # its class was assigned above
    fake.fake_mode, fake.fake_device = mode, _with_index(device)
    return fake


def _with_index(device: Any) -> Device:
    device = Device(device)
    return device if device.index is not None or device.type in ("cpu", "meta") else Device(device.type, 0)


def is_fake(x: object) -> bool:
    """Whether `x` is a fake tensor."""
    return isinstance(x, FakeTensor)


class FakeTensorConverter:
    """Creates the fake tensors of a mode, and returns the same one at each call with the same tensor."""

    def __init__(self) -> None:
        self._fakes: Any = WeakTensorKeyDictionary()

    def from_real_tensor(self, fake_mode: FakeTensorMode, t: Tensor, **_: Any) -> FakeTensor:
        """Return a fake tensor of `fake_mode` with the shape, strides, dtype and device of `t`."""
        found: FakeTensor | None = self._fakes.get(t)
        if found is None:
            found = self._fakes[t] = fake_mode._like(t, t.device)
        return found


class FakeTensorMode(TorchFunctionMode):
    """A context in which all new tensors are fake.  They use no memory, and their devices need not be available.

    Args:
        allow_fallback_kernels: no effect: all operations support fake tensors.
        allow_non_fake_inputs: whether real tensors in a call are converted to fake ones; otherwise they raise AssertionError.
        shape_env, static_shapes, export: no effect: shapes are always numbers.

    Raises:
        AssertionError: a call has a real tensor (see `allow_non_fake_inputs`), or a fake tensor of another mode.
        DataDependentOutputException, DynamicOutputShapeException: a value or a shape depends on the data of a fake tensor.
    """

    sees_methods = False

    def __init__(
        self,
        *,
        allow_fallback_kernels: bool = True,
        allow_non_fake_inputs: bool = False,
        shape_env: Any = None,
        static_shapes: bool | None = None,
        export: bool = False,
    ) -> None:
        self.allow_fallback_kernels, self.allow_non_fake_inputs = allow_fallback_kernels, allow_non_fake_inputs
        self.shape_env, self.static_shapes, self.export = shape_env, static_shapes, export
        self.fake_tensor_converter = FakeTensorConverter()

    def from_tensor(self, tensor: Tensor, *, static_shapes: Any = None, source: Any = None, **_: Any) -> FakeTensor:
        """Return a fake tensor with the tensor's shape, strides, dtype and device; the same one at each call.

        Raises:
            AssertionError: the tensor is a fake tensor of another mode.
        """
        if isinstance(tensor, FakeTensor):
            if tensor.fake_mode is not self:
                raise AssertionError(f"Mixing fake modes NYI x.fake_mode={tensor.fake_mode} vs self={self}")
            return tensor
        return self.fake_tensor_converter.from_real_tensor(self, tensor)

    def _like(self, tensor: Tensor, device: Any) -> FakeTensor:
        with disable_modes(), DisableTorchFunctionSubclass():
            empty = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="meta")
            fake = _as_fake(empty, self, device)
            fake.requires_grad_(tensor.requires_grad)
        if isinstance(tensor, torch.nn.Parameter):
            fake.__dict__["_is_param"] = True
        return fake

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self.compute(func, args, kwargs or {})

    def compute(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Call `func` on fake tensors.  Return its result as fake tensors on the device that real tensors would give."""
        name = getattr(func, "__name__", "")
        args, kwargs = tree_map(lambda leaf: self._convert_input(leaf, func, args, kwargs), (args, kwargs))
        known = [leaf for leaf in tree_iter((args, kwargs)) if isinstance(leaf, FakeTensor)]
        args, kwargs, target = _split_device(name, args, kwargs)
        if name in ("__get__", "__set__") and target is None:
            target = known[0].fake_device
        elif target is None:
            target = _common_device(known, name) or chosen_device() or Device("cpu")
        constant = self._constant(func, name, known, args, kwargs)
        if name in _SCALAR_CONVERSIONS and constant is not None:
            return constant
        try:
            with disable_modes(), DisableTorchFunctionSubclass(), Device("meta"):
                result = args[0] if name in ("cpu", "cuda") else func(*args, **kwargs)
        except (NotImplementedError, RuntimeError) as error:
            _raise_as_pytorch(error, name)
        if name in ("to", "cpu", "cuda") and result is args[0] and _with_index(target) != result.fake_device:
            with DisableTorchFunctionSubclass():
                result = result.clone()
        result = self._fake_results(result, target)
        if isinstance(result, FakeTensor) and name not in ("__get__", "detach"):
            result.constant = constant if isinstance(constant, Tensor) else None
        return result

    def _fake_results(self, result: Any, device: Device) -> Any:
        """Turn the tensors in the result of a function into fake ones."""
        if type(result) in _TENSOR_TYPES:
            return _as_fake(result, self, device) if result.is_meta else result
        if isinstance(result, (tuple, list, dict)) and not isinstance(result, torch.Size):
            return tree_map(lambda leaf: self._fake_results(leaf, device), result)
        return result

    def _constant(self, func: Any, name: str, known: list[FakeTensor], args: Any, kwargs: Any) -> Any:
        """Return the real result if it is small and all inputs are constants, as for a step counter; else None."""
        if any(tensor.constant is None for tensor in known) or not (known or name in _CONSTANT_FACTORIES):
            return None
        real_args, real_kwargs = tree_map(lambda leaf: leaf.constant if isinstance(leaf, FakeTensor) else leaf, (args, kwargs))
        with disable_modes(), DisableTorchFunctionSubclass(), Device("cpu"):
            try:
                result = func(*real_args, **real_kwargs)
            except Exception:  # the same call on fake tensors reports the error
                return None
        return None if isinstance(result, Tensor) and result.numel() > _MAX_CONSTANT_NUMEL else result

    def _convert_input(self, leaf: Any, func: Any, args: Any, kwargs: Any) -> Any:
        if not isinstance(leaf, Tensor):
            return leaf
        if not isinstance(leaf, FakeTensor) and not self.allow_non_fake_inputs:
            raise AssertionError(
                "Please convert all Tensors to FakeTensors first or instantiate FakeTensorMode with 'allow_non_fake_inputs'. "
                f"Found in {resolve_name(func) or func}, called with {tuple(map(type, args))}"
            )
        return self.from_tensor(leaf)


_TENSOR_TYPES = (Tensor, torch.nn.Parameter)


def _split_device(name: str, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any], Device | None]:
    """Return (args, kwargs, device): the arguments without the requested device, and that device or None."""
    target = kwargs.get("device")
    kwargs = {key: value for key, value in kwargs.items() if key != "device"}
    if name in ("cpu", "cuda"):
        given = target if len(args) < 2 else args[1]
        return (
            args[:1],
            {"memory_format": kwargs.get("memory_format")} if "memory_format" in kwargs else {},
            (Device(name) if given is None else Device("cuda", given) if isinstance(given, int) else Device(given)),
        )
    if name == "to" and len(args) > 1:
        given = args[1]
        if isinstance(given, FakeTensor):
            return (args[0], given.dtype, *args[2:]), kwargs, given.fake_device
        if isinstance(given, (str, Device)) or type(given) is int:
            target, args = Device(given), (args[0], *args[2:])
        elif given is None:
            args = (args[0], *args[2:])
    if name == "to" and isinstance(kwargs.get("other"), FakeTensor):
        other = kwargs.pop("other")
        kwargs, target = kwargs | {"dtype": other.dtype}, other.fake_device
    return args, kwargs, None if target is None else Device(target)


def _common_device(tensors: Iterable[FakeTensor], name: str) -> Device | None:
    """Return the device that all tensors share; a 0-d CPU tensor may be combined with tensors on another device."""
    common: FakeTensor | None = None
    for tensor in tensors:
        if common is None or _is_cpu_scalar_for(common, tensor):
            common = tensor
        elif (
            tensor.fake_device != common.fake_device
            and not _is_cpu_scalar_for(tensor, common)
            and name not in _MULTI_DEVICE_FUNCTIONS
        ):
            raise RuntimeError(
                f"Unhandled FakeTensor Device Propagation for aten.{name}, found two different devices {common.fake_device}, "
                f"{tensor.fake_device}"
            )
    return None if common is None else common.fake_device


def _is_cpu_scalar_for(tensor: FakeTensor, other: FakeTensor) -> bool:
    return tensor.fake_device.type == "cpu" and not tensor._array.ndim and other.fake_device.type != "cpu"


def _raise_as_pytorch(error: Exception, name: str) -> NoReturn:
    """Raise PyTorch's exception if the function needed the data of a tensor; else raise `error` again."""
    text = str(error)
    if name in _SCALAR_CONVERSIONS or text.startswith(("Tensor.item() cannot be called", "Cannot copy out of meta tensor")):
        raise DataDependentOutputException("aten._local_scalar_dense.default") from None
    if text.startswith(("aten::", "indexing with a mask")):
        operator = text.removeprefix("aten::").partition(":")[0] if text.startswith("aten::") else "nonzero"
        raise DynamicOutputShapeException(f"aten.{operator}.default") from None
    raise error


@contextmanager
def unset_fake_temporarily() -> Iterator[None]:
    """Disable all modes inside a `with` block, so that new tensors are real."""
    with disable_modes():
        yield


def fake_tensor_mode_of(inputs: Any) -> FakeTensorMode | None:
    """Return the mode of the fake tensors in a nested container, or None if it has none.

    Raises:
        AssertionError: the fake tensors belong to different modes.
    """
    modes = {leaf.fake_mode for leaf in tree_iter(inputs) if isinstance(leaf, FakeTensor)}
    if len(modes) > 1:
        raise AssertionError(f"expected fake tensors of one mode, but got several: {modes}")
    return next(iter(modes), None)
