"""Parameters and buffers of modules.  The uninitialized ones of lazy modules are defined in `uninitialized.py`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn, Self, SupportsIndex

import flambeau as torch
from flambeau.extension import Buffer, Parameter, private_names

if TYPE_CHECKING:
    from .uninitialized import UninitializedBuffer, UninitializedParameter

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


def is_lazy(param: Any) -> bool:
    """Whether `param` is an `UninitializedParameter` or an `UninitializedBuffer`."""
    return isinstance(param, UninitializedTensorMixin)


_find_private_name = private_names(__name__)


def __getattr__(name: str) -> Any:
    if name in ("UninitializedBuffer", "UninitializedParameter"):  # their methods take 0.7 MB, and few programs are lazy
        return getattr(import_module(".uninitialized", __package__), name)
    return _find_private_name(name)
