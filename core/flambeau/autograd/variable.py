"""`Variable`, a legacy wrapper of tensors; since PyTorch 0.4, every tensor is a Variable."""

from __future__ import annotations

from typing import Any

from ..engine.tape.engine import queue_callback
from ..engine.tensors.tensor import Tensor
from ..operations.creation.from_shape import empty

__all__ = ["Variable", "VariableMeta"]


class _ExecutionEngine:
    """`Variable._execution_engine`: access to the autograd engine for libraries such as DistributedDataParallel."""

    queue_callback = staticmethod(queue_callback)


class VariableMeta(type):
    """Metaclass of Variable, for which `isinstance(tensor, Variable)` is true for every tensor."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=VariableMeta):
    """`Variable(data, requires_grad=False, volatile=False)`: a tensor that shares the memory of `data`.

    The result of an operation with a volatile argument is also volatile and does not require grad, whatever the other arguments.

    Args:
        data: the tensor; None for an empty one.
        requires_grad: whether operations on the result are recorded.
        volatile: whether the results of operations do not require grad.

    Raises:
        ValueError: both flags are True.
        TypeError: `data` is not a tensor.

    >>> from flambeau.autograd import Variable
    >>> x = Variable(torch.ones(2), requires_grad=True)
    >>> isinstance(x, Variable), (x * Variable(torch.ones(2), volatile=True)).requires_grad
    (True, False)
    """

    _execution_engine = _ExecutionEngine()

    def __new__(cls, data: Any = None, requires_grad: bool = False, volatile: bool = False) -> Any:
        data = empty(0) if data is None else data
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        if requires_grad and volatile:
            raise ValueError("Variable can't be volatile and require_grad at the same time!")
        tensor = data.detach()
        tensor.requires_grad = requires_grad
        tensor.volatile = volatile
        return tensor
