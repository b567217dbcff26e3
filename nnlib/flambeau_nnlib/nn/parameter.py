"""Parameters and buffers of modules, and the uninitialized ones of lazy modules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, Self, SupportsIndex

import flambeau as torch
from flambeau.extension import Buffer, Parameter, private_names

__getattr__ = private_names(__name__)

if TYPE_CHECKING:
    Base = torch.Tensor  # for type checkers only: all subclasses of the mixin are also tensors
else:
    Base = object

__all__ = [
    "Buffer",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "UninitializedTensorMixin",
    "is_lazy",
]


class UninitializedTensorMixin(Base):
    """A tensor that has a dtype and a device, but no shape yet."""

    cls_to_become: type
    _allowed_methods = (
        torch.Tensor.__hash__,
        torch.Tensor.size,
        torch.Tensor.copy_,
        torch.Tensor.is_complex,
        torch.Tensor.is_floating_point,
        torch.Tensor.half,
        torch.Tensor.float,
        torch.Tensor.double,
        torch.Tensor.char,
        torch.Tensor.short,
        torch.Tensor.int,
        torch.Tensor.long,
        torch.Tensor.cuda,
        torch.Tensor.cpu,
        torch.Tensor.to,
        torch.Tensor.get_device,
        torch.Tensor.requires_grad_,
    )

    def materialize(
        self, shape: tuple[int, ...], device: torch.device | str | None = None, dtype: torch.dtype | None = None
    ) -> None:
        """Turn the tensor, in place, into an ordinary parameter or buffer of this shape with uninitialized values."""
        device = self.data.device if device is None else device
        dtype = self.data.dtype if dtype is None else dtype
        self.data = torch.empty(shape, device=device, dtype=dtype)
        self.__class__ = self.cls_to_become

    @property
    def shape(self) -> NoReturn:
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. "
            "This error usually happens in `load_state_dict` when trying to load "
            "an uninitialized parameter into an initialized one. "
            "Call `forward` to initialize the parameters before accessing their attributes."
        )

    def share_memory_(self) -> NoReturn:
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. "
            "Call `forward` to initialize the parameters before calling "
            "`module.share_memory()`."
        )

    def __repr__(self, **kwargs: Any) -> str:  # type: ignore[override]  # accepts keyword arguments, as `Parameter` does
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        return type(self), (self.requires_grad, self.data.device, self.data.dtype)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.data.device, self.data.dtype)
        copied: Self = memo[id(self)]
        return copied

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        is_property_access = type(func).__name__ == "method-wrapper"
        if func in cls._allowed_methods or is_property_access:
            return super().__torch_function__(func, types, args, kwargs or {})
        raise ValueError(
            f"Attempted to use an uninitialized parameter in {func}. "
            "This error happens when you are using a `LazyModule` or "
            f"explicitly manipulating `torch.nn.parameter.{cls.__name__}` "
            "objects. When using LazyModules Call `forward` with a dummy batch "
            "to initialize the parameters before calling torch functions"
        )


class UninitializedParameter(UninitializedTensorMixin, Parameter):  # type: ignore[misc]  # both bases define `__torch_function__`
    """A parameter of a lazy module, whose shape is not known before the first input.

    It can be moved and cast; other operations raise ValueError until `materialize(shape)` makes it an ordinary
    `Parameter`.

    Args:
        requires_grad: whether the parameter is to be trained.
        device, dtype: device and dtype of the tensor once it is materialized; None for the defaults.

    Example:
        >>> weight = torch.nn.UninitializedParameter()
        >>> weight.materialize((2, 3))
        >>> type(weight).__name__, weight.shape
        ('Parameter', torch.Size([2, 3]))
    """

    cls_to_become = Parameter

    def __new__(
        cls, requires_grad: bool = True, device: torch.device | str | None = None, dtype: torch.dtype | None = None
    ) -> UninitializedParameter:
        parameter: UninitializedParameter = super().__new__(cls, torch.empty(0, device=device, dtype=dtype), requires_grad)
        return parameter


class UninitializedBuffer(UninitializedTensorMixin, torch.Tensor):
    """A buffer of a lazy module, whose shape is not known before the first input.

    It can be moved and cast; other operations raise ValueError until `materialize(shape)` makes it an ordinary tensor.

    Args:
        requires_grad: whether gradients are recorded for the buffer.
        device, dtype: device and dtype of the tensor once it is materialized; None for the defaults.
        persistent: whether the buffer is saved in the `state_dict` of its module.

    Example:
        >>> mean = torch.nn.UninitializedBuffer()
        >>> mean.materialize((3,))
        >>> type(mean).__name__, mean.shape
        ('Tensor', torch.Size([3]))
    """

    cls_to_become = torch.Tensor
    persistent: bool
    _is_buffer: bool

    def __new__(
        cls,
        requires_grad: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        persistent: bool = True,
    ) -> UninitializedBuffer:
        buffer: UninitializedBuffer = torch.empty(0, device=device, dtype=dtype).as_subclass(cls)
        buffer.requires_grad_(requires_grad)
        buffer.persistent = persistent
        buffer._is_buffer = True
        return buffer


def is_lazy(param: Any) -> bool:
    """Whether `param` is an `UninitializedParameter` or an `UninitializedBuffer`."""
    return isinstance(param, UninitializedTensorMixin)
