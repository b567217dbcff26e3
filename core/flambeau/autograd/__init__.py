"""Differentiation: ``backward``, ``grad``, modes, custom functions, hooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import dtypes
from . import engine, graph
from .anomaly import detect_anomaly, set_detect_anomaly
from .function import Function, NestedIOFunction
from .gradcheck import gradcheck, gradgradcheck
from .modes import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from .variable import Variable

if TYPE_CHECKING:
    from .._tensor import Tensor

__all__ = [
    "Function", "NestedIOFunction", "Variable", "backward", "detect_anomaly", "enable_grad", "grad", "gradcheck", "gradgradcheck", "graph",
    "inference_mode", "is_grad_enabled", "is_inference_mode_enabled", "no_grad", "set_detect_anomaly", "set_grad_enabled",
]  # fmt: skip


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
    *,
    retain_variables: bool | None = None,
) -> None:
    """Accumulate into the leaves the gradients of the sum of ``tensors``, each weighted by its ``grad_tensors``.

    Args:
        tensors: one tensor or a sequence.
        grad_tensors: a weight per tensor, of its shape; may be None for tensors of one element.
        retain_graph: keep what was saved, for another backward; by default as ``create_graph``.
        create_graph: record the backward itself, for higher derivatives.
        inputs: accumulate only into these.
        grad_variables, retain_variables: the names in PyTorch 0.2 of ``grad_tensors`` and ``retain_graph``.

    Raises:
        RuntimeError: a tensor needs no gradient, or a weight is missing or of the wrong shape, or the graph was freed.

    >>> import flambeau as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> torch.autograd.backward([x * 2, x * 3], [torch.ones(2), torch.ones(2)])
    >>> x.grad
    tensor([5., 5.])
    """
    if grad_tensors is None and grad_variables is None and inputs is None and hasattr(tensors, "_requires_grad"):
        roots = [_root(tensors, None, 0)]
    else:
        grad_tensors = grad_variables if grad_tensors is None else grad_tensors
        roots, inputs = _checked(tensors, grad_tensors, inputs)
    retain_graph = retain_variables if retain_graph is None else retain_graph
    engine.run(roots, retain_graph=bool(create_graph if retain_graph is None else retain_graph),
               create_graph=create_graph, inputs=inputs)  # fmt: skip


def _checked(tensors: Any, grad_tensors: Any, inputs: Any) -> tuple[list[tuple[Any, Tensor]], list[Tensor] | None]:
    """The general arguments of ``backward``, checked."""
    if inputs is not None:
        inputs = list(inputs) if isinstance(inputs, Sequence) else [inputs]
        if not inputs:
            raise RuntimeError("'inputs' argument to backward() cannot be empty.")
        for each in inputs:
            if not each.requires_grad:
                raise RuntimeError("One of the differentiated Tensors does not require grad")
    return _roots(_sequence(tensors), _sequence(grad_tensors)), inputs


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """The gradients of the (weighted) sum of ``outputs`` with respect to ``inputs``; ``grad`` fields stay as they are.

    Args:
        outputs, inputs: a tensor or a sequence.
        grad_outputs: a weight per output; may be None for outputs of one element.
        allow_unused: return None for an input that the outputs do not depend on, instead of raising.
        is_grads_batched: the weights have a leading batch dimension, and so do the results.
        materialize_grads: zeros instead of None for unused inputs.

    Raises:
        RuntimeError: an input does not require grad, or is unused.

    >>> import flambeau as torch
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> (first,) = torch.autograd.grad(x**3, x, create_graph=True)
    >>> torch.autograd.grad(first, x)
    (tensor(18.),)
    """
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
                         "allow_unused=False.")  # fmt: skip
    outputs, inputs = _sequence(outputs), _sequence(inputs)
    if is_grads_batched:
        from .functional import batched_grad

        return batched_grad(outputs, inputs, _sequence(grad_outputs), retain_graph, create_graph, allow_unused, materialize_grads)
    for each in inputs:
        if not each.requires_grad:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
    roots = _roots(outputs, _sequence(grad_outputs))
    retain = bool(create_graph if retain_graph is None else retain_graph)
    result = engine.run(roots, retain_graph=retain, create_graph=create_graph, inputs=inputs, capture=True)
    assert result is not None
    if materialize_grads:
        return tuple(each.new_zeros(each.shape) if g is None else g for g, each in zip(result, inputs, strict=True))
    if not allow_unused and any(each is None for each in result):
        raise RuntimeError("One of the differentiated Tensors appears to not have been used in the graph. Set "
                           "allow_unused=True if this is the desired behavior.")  # fmt: skip
    return tuple(result)


def _sequence(value: Any) -> tuple[Any, ...]:
    from .._tensor import Tensor
    from .graph import GradientEdge

    if value is None:
        return ()
    return (value,) if isinstance(value, (Tensor, GradientEdge)) else tuple(value)


def _roots(tensors: Sequence[Tensor], weights: Sequence[Any]) -> list[tuple[Any, Tensor]]:
    """Pair the edge of each output with its weight, checked."""
    if weights and len(weights) != len(tensors):
        raise RuntimeError(f"got {len(tensors)} tensors and {len(weights)} gradients")
    return [_root(each, weights[index] if weights else None, index) for index, each in enumerate(tensors)]


def _root(tensor: Tensor, weight: Any, index: int) -> tuple[Any, Tensor]:
    if not tensor._requires_grad:
        raise RuntimeError(f"element {index} of tensors does not require grad and does not have a grad_fn")
    if weight is None:
        weight = _one_like(tensor)
    elif tuple(weight.shape) != tuple(tensor.shape):
        raise RuntimeError(f"Mismatch in shape: grad_output[{index}] has a shape of {weight.shape} and output[{index}] "
                           f"has a shape of {tensor.shape}.")  # fmt: skip
    return tensor._node or tensor, weight


def _one_like(tensor: Tensor) -> Tensor:
    """The weight of an output of one element: 1."""
    kind, shape = tensor._kind, tensor._array.shape
    if shape and tensor.numel() != 1:
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    if kind.dtype.category == dtypes.COMPLEX:
        raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {tensor.dtype}")
    array = kind.backend.copy(kind.one._array)  # a hook may write to it
    return engine.wrap(array if not shape else kind.backend.xp.reshape(array, shape), kind)
