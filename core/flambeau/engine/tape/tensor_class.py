"""How the tape makes tensors without importing their class: the layer that defines `Tensor` registers it here."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from ..devices.devices import DispatchKey
    from ..tensors.tensor import Tensor as _Tensor

__all__ = ["RECORDED", "tensor_class"]

RECORDED: Any = SimpleNamespace()  # the `F` of a differentiable backward: all operations as attributes, set by `op()`


class TensorClass:
    """The class of tensors, and the two ways to make one."""

    __slots__ = ("Tensor", "alias", "wrap")

    Tensor: type[_Tensor]
    wrap: Callable[[Any, DispatchKey], _Tensor]  # a raw array as a tensor without history
    alias: Callable[..., Any]  # another tensor on the same array and storage, without history

    def register(self, cls: type[_Tensor], wrap: Callable[[Any, DispatchKey], _Tensor], alias: Callable[..., Any]) -> None:
        """Set the class and the functions: called once, where the class is defined."""
        self.Tensor, self.wrap, self.alias = cls, wrap, alias


tensor_class: Final = TensorClass()
