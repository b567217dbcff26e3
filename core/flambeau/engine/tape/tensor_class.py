"""Access to the class `Tensor` for the tape, a lower layer, which must not import it: `tensors.tensor` registers it here."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from ..devices.devices import DispatchKey
    from ..tensors.tensor import Tensor as _Tensor

__all__ = ["RECORDED", "tensor_class"]

RECORDED: Any = SimpleNamespace()  # the `F` of a differentiable backward; `op()` sets each operation as an attribute


class TensorClass:
    """The class `Tensor`, and two functions that create instances."""

    __slots__ = ("Tensor", "alias", "wrap")

    Tensor: type[_Tensor]
    wrap: Callable[[Any, DispatchKey], _Tensor]  # wraps a raw array as a tensor without history
    alias: Callable[..., Any]  # creates a tensor with the same array and storage, without history

    def register(self, cls: type[_Tensor], wrap: Callable[[Any, DispatchKey], _Tensor], alias: Callable[..., Any]) -> None:
        """Set the class and the functions.  Called once, by the module that defines the class."""
        self.Tensor, self.wrap, self.alias = cls, wrap, alias


tensor_class: Final = TensorClass()
