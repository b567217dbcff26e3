"""`Parameter` and `Buffer`: tensors that a Module registers when they are assigned to it."""

from __future__ import annotations

from typing import Any, Self

from ...engine.calls.overriding import _disabled_torch_function_impl
from ...engine.tensors.tensor import Tensor
from ...engine.values.dtypes import FLOATING
from ...operations.creation.from_shape import empty

__all__ = ["Buffer", "Parameter"]


class _ParameterMeta(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        if cls is Parameter and isinstance(instance, Tensor) and instance.__dict__.get("_is_param", False):
            return True
        return super().__instancecheck__(instance)


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A tensor that becomes a parameter of the Module to which it is assigned.

    Args:
        data: the values; the parameter shares their memory.  A tensor of a custom class keeps its class.
        requires_grad: whether the parameter requires grad.

    >>> torch.nn.Parameter(torch.ones(2))
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    __slots__ = ()
    __torch_function__ = _disabled_torch_function_impl  # type: ignore[assignment]  # operations on a parameter return plain tensors

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Self:
        if data is None:
            data = empty(0)
        if requires_grad and data._key.dtype.category < FLOATING:
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        if type(data) not in (Tensor, Parameter):
            return _marked(data, requires_grad)  # type: ignore[return-value]  # a subclass of Tensor, marked as a parameter
        parameter = data.detach()._as(cls)
        parameter.requires_grad = requires_grad
        return parameter  # type: ignore[no-any-return]  # `_as` returns an instance of `cls`

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) in memo:
            return memo[id(self)]
        copied = type(self)(self.data.clone(), self.requires_grad)
        memo[id(self)] = copied
        return copied

    def __repr__(self, **kwargs: Any) -> str:  # type: ignore[override]  # it takes what Tensor takes
        return "Parameter containing:\n" + super().__repr__(**kwargs)


def _marked(data: Tensor, requires_grad: bool) -> Tensor:
    """Detach `data`, which has a custom class and keeps it, and mark the result as a parameter."""
    parameter = data.detach().requires_grad_(requires_grad)
    if type(parameter) is not type(data):
        name = type(data).__name__
        raise RuntimeError(
            f"Creating a Parameter from an instance of type {name} requires that detach() returns an instance of "
            f"the same type, but return type {type(parameter).__name__} was found instead. To use the type as a "
            "Parameter, please correct the detach() semantics defined by its __torch_dispatch__() "
            "implementation."
        )
    parameter.__dict__["_is_param"] = True
    return parameter


class _BufferMeta(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and instance.__dict__.get("_is_buffer", False)


class Buffer(Tensor, metaclass=_BufferMeta):
    """A tensor that becomes a buffer of the Module to which it is assigned, and part of its `state_dict` if `persistent`.

    Args:
        data: the tensor whose memory is shared; None for an empty tensor.
        persistent: whether the buffer is part of the `state_dict`.

    >>> module = torch.nn.Module()
    >>> module.scale = torch.nn.Buffer(torch.ones(1))
    >>> list(module.state_dict())
    ['scale']
    """

    __slots__ = ()
    __torch_function__ = _disabled_torch_function_impl  # type: ignore[assignment]  # operations on a buffer return plain tensors

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Self:
        if data is None:
            data = empty(0)
        buffer = data.detach().requires_grad_(data.requires_grad)
        buffer.__dict__["_is_buffer"] = True
        buffer.__dict__["persistent"] = persistent
        return buffer  # type: ignore[return-value]  # a tensor, marked as a buffer


Parameter.__module__ = "flambeau.nn.parameter"
