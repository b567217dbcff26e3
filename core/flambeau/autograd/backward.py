"""`backward` and `grad`: check their arguments and run the backward pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from ..engine.calls import overriding
from ..engine.calls.tables import PUBLIC
from ..engine.devices.devices import DispatchKey
from ..engine.devices.state import state
from ..engine.devices.warning import warn
from ..engine.tape import engine
from ..engine.tape.node import Node
from ..engine.tape.tensor_class import RECORDED, tensor_class
from ..engine.tape.transforming import refuse_backward
from ..engine.tensors.tensor import Tensor
from ..engine.values import dtypes
from ..engine.values.sizes import Size
from . import graph

__all__ = ["backward", "grad"]


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
    """Accumulate the gradients of the sum of `tensors`, each weighted by its `grad_tensors`, into the `grad` of the leaves.

    Args:
        tensors: one tensor or a sequence.
        grad_tensors: a weight per tensor, of the tensor's shape; may be None for tensors with one element.
        retain_graph: keep the saved tensors for another backward; defaults to `create_graph`.
        create_graph: record the backward pass itself, for higher derivatives.
        inputs: accumulate only into these tensors.
        grad_variables, retain_variables: the legacy names (PyTorch 0.2) of `grad_tensors` and `retain_graph`.

    Raises:
        RuntimeError: a tensor does not require grad, a weight is missing or has the wrong shape, or the graph was freed.

    >>> x = torch.ones(2, requires_grad=True)
    >>> torch.autograd.backward([x * 2, x * 3], [torch.ones(2), torch.ones(2)])
    >>> x.grad
    tensor([5., 5.])
    """
    if grad_variables is not None and grad_tensors is not None:
        raise RuntimeError(
            "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. Please only "
            "use `grad_tensors`."
        )
    refuse_backward()
    if create_graph:
        warn(
            "Using backward() with create_graph=True will create a reference cycle between the parameter and its "
            "gradient which can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid "
            "this. If you have to use this function, make sure to reset the .grad fields of your parameters to None "
            "after use to break the cycle and avoid the leak.",
        )
    if grad_tensors is None and grad_variables is None and inputs is None and hasattr(tensors, "_requires_grad"):
        roots = [_root(tensors, None, 0)]
    else:
        inputs = (
            None
            if inputs is None
            else _inputs("`inputs` argument to `backward()`", inputs, "can't retain_grad on Tensor that has requires_grad=False")
        )
        roots = _roots(_sequence(tensors), grad_variables if grad_tensors is None else grad_tensors)
    retain_graph = retain_variables if retain_graph is None else retain_graph
    engine.run(
        roots, retain_graph=bool(create_graph if retain_graph is None else retain_graph), create_graph=create_graph, inputs=inputs
    )


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
) -> tuple[Tensor, ...]:
    """Return the gradients of the (weighted) sum of `outputs` with respect to `inputs`; `grad` fields are unchanged.

    Args:
        outputs: a tensor, a GradientEdge, or a sequence of these.
        inputs: like `outputs`, or a dict; a dict gives a dict of gradients.
        grad_outputs: a weight per output; may be None for outputs with one element.
        retain_graph: keep the saved tensors for another backward; defaults to `create_graph`.
        create_graph: record the backward pass itself, for higher derivatives.
        only_inputs: deprecated and ignored.
        allow_unused: return None for an input that the outputs do not depend on, instead of raising.
        is_grads_batched: the weights have a leading batch dimension, and so do the results.
        materialize_grads: return zeros instead of None for unused inputs.

    Raises:
        RuntimeError: an input does not require grad, or is unused.

    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> (first,) = torch.autograd.grad(x**3, x, create_graph=True)
    >>> torch.autograd.grad(first, x)
    (tensor(18.),)
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    if isinstance(inputs, dict):
        by_name = dict(inputs)
        gradients = grad(
            outputs,
            tuple(by_name.values()),
            grad_outputs,
            retain_graph,
            create_graph,
            only_inputs,
            allow_unused,
            is_grads_batched,
            materialize_grads,
        )
        return dict(zip(by_name, gradients, strict=True))  # type: ignore[return-value]  # a dict for a dict of inputs
    involved = overriding.relevant([outputs, inputs])
    if overriding.should_offer(involved, name="grad"):
        outputs, inputs = ((value,) if overriding.is_tensor_like(value) else tuple(value) for value in (outputs, inputs))
        return overriding.handle_torch_function(  # type: ignore[no-any-return]  # an override may return anything
            grad,
            involved,
            outputs,
            inputs,
            grad_outputs=grad_outputs,
            retain_graph=retain_graph,
            create_graph=create_graph,
            only_inputs=only_inputs,
            allow_unused=allow_unused,
            is_grads_batched=is_grads_batched,
            materialize_grads=materialize_grads,
        )
    if not only_inputs:
        warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for "
            "other parts of the graph, please use torch.autograd.backward.",
            FutureWarning,
        )
    outputs, inputs = _sequence(outputs), _inputs("`inputs` argument to `grad()`", inputs)
    if is_grads_batched:
        return batched_grad(outputs, inputs, grad_outputs, retain_graph, create_graph, allow_unused, materialize_grads)
    retain = bool(create_graph if retain_graph is None else retain_graph)
    result = engine.run(
        _roots(outputs, grad_outputs), retain_graph=retain, create_graph=create_graph, inputs=inputs, capture=True
    )
    assert result is not None
    if materialize_grads:
        result = [_zeros_like(input, create_graph) if g is None else g for g, input in zip(result, inputs, strict=True)]
    elif not allow_unused and any(gradient is None for gradient in result):
        index = next(index for index, gradient in enumerate(result) if gradient is None)
        raise RuntimeError(
            f"The differentiated Tensor at index {index} appears to not have been used in the graph. Set "
            "allow_unused=True if this is the desired behavior."
        )
    return tuple(result)


def batched_grad(
    outputs: Sequence[Any],
    inputs: Sequence[Any],
    weights: Any,
    retain_graph: Any,
    create_graph: bool,
    allow_unused: Any,
    materialize: bool,
) -> tuple[Any, ...]:
    """Compute `grad` for a batch of weights in one vectorized call, or one call per member for wrapper subclasses."""
    from ..transforms.batching.vmap import vmap  # imported here because few programs need it

    weights = (weights,) if isinstance(weights, Tensor) else tuple(weights)
    unused: list[int] = []

    def pull(*batch: Any, retain_graph: Any = retain_graph) -> tuple[Any, ...]:
        gradients = grad(
            outputs,
            inputs,
            batch,
            retain_graph=retain_graph,
            create_graph=create_graph,
            allow_unused=allow_unused,
            materialize_grads=materialize,
        )
        unused[:] = [index for index, gradient in enumerate(gradients) if gradient is None]
        return tuple(gradient for gradient in gradients if gradient is not None)

    for index, (weight, output) in enumerate(zip(weights, outputs, strict=True)):
        if tuple(weight.shape[1:]) != tuple(output.shape):
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch "
                "dimension. The sizes of the remaining dimensions are expected to match the shape of "
                f"corresponding output, but a mismatch was detected: grad_output[{index}] has a shape of "
                f"{weight.shape[1:]} and output[{index}] has a shape of {output.shape}. If you only want some "
                "tensors in `grad_output` to be considered batched, consider using vmap."
            )
    if _has_wrappers(outputs):
        *others, last = zip(*(weight.unbind(0) for weight in weights), strict=True)
        rows = [*(pull(*members, retain_graph=True) for members in others), pull(*last)]
        gradients = iter([PUBLIC["stack"](members) for members in zip(*rows, strict=True)])
    else:
        gradients = iter(vmap(pull)(*weights))
    return tuple(None if index in unused else next(gradients) for index in range(len(inputs)))


def _has_wrappers(outputs: Sequence[Any]) -> bool:
    """Whether the graph of the outputs contains wrapper subclasses, which have no arrays to batch."""
    return state.on_tensors and any(node.on_tensors for node in engine.reachable(map(engine.edge_of, outputs)))


# --- arguments ----------------------------------------------------------------------------------------------------


def _sequence(value: Any) -> tuple[Any, ...]:
    if value is None:
        return ()
    return (value,) if isinstance(value, (Tensor, graph.GradientEdge)) else tuple(value)


def _inputs(what: str, inputs: Any, refusal: str = "One of the differentiated Tensors does not require grad") -> tuple[Any, ...]:
    """Return the tensors to differentiate by as a tuple, after checking that each requires grad."""
    if isinstance(inputs, Mapping):
        raise TypeError(f"{what} must be a dict, not {type(inputs).__name__}. Other Mapping types are not supported.")
    tensors = _sequence(inputs)
    if not tensors:
        raise RuntimeError(f"{what} cannot be empty.")
    if any(not isinstance(tensor, graph.GradientEdge) and not tensor._requires_grad for tensor in tensors):
        raise RuntimeError(refusal)
    return tensors


def _zeros_like(input: Any, requires_grad: bool) -> Tensor:
    if isinstance(input, graph.GradientEdge):
        raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
    return input.new_zeros(input.shape).requires_grad_(requires_grad)  # type: ignore[no-any-return]  # `input` is Any


def _roots(outputs: Sequence[Any], weights: Any) -> list[tuple[Any, Tensor]]:
    """Pair the graph edge of each output with its weight."""
    weights = _sequence(weights) or (None,) * len(outputs)
    if len(weights) < len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(weights)} gradients")
    return [_root(output, weight, index) for index, (output, weight) in enumerate(zip(outputs, weights, strict=False))]


def _root(output: Any, weight: Any, index: int) -> tuple[Any, Tensor]:
    """Return the graph edge of an output and its weight, by default 1; for a nested tensor, the edge and weight of its values."""
    if getattr(output, "is_nested", False):
        output, weight = output._values, getattr(weight, "_values", weight)
    if isinstance(output, graph.GradientEdge):
        edge = engine.edge_of(output)
    elif not output._requires_grad:
        raise RuntimeError(f"element {index} of tensors does not require grad and does not have a grad_fn")
    else:
        edge = output._node or output
    if weight is None:
        key = engine.key_of_edge(edge)
        return edge, RECORDED.ones_of(output.detach()) if key.wraps else _one_like(edge)
    if not hasattr(weight, "_key"):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(weight).__name__}")
    shape, key = engine.shape_of(edge), engine.key_of_edge(edge)
    if weight._array.shape != shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{index}] has a shape of {weight.shape} and output[{index}] "
            f"has a shape of {Size(shape)}."
        )
    if (weight._key.dtype.category == dtypes.COMPLEX) != (key.dtype.category == dtypes.COMPLEX):
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in "
            f"dtype: grad_output[{index}] has a dtype of {weight.dtype} and output[{index}] has a dtype of "
            f"{key.dtype}."
        )
    return edge, weight._key.materialize(weight)


def _one_like(edge: Any) -> Tensor:
    """Return the default weight of an output with one element: 1."""
    key, shape = engine.key_of_edge(edge), engine.shape_of(edge)
    if shape and prod(shape) != 1:
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    if key.dtype.category == dtypes.COMPLEX:
        raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {key.dtype}")
    array = key.backend.copy(engine.one(key)._array)  # copied because a hook may write to it
    return tensor_class.wrap(array if not shape else key.backend.xp.reshape(array, shape), key)


# --- the method ---


def backward_method(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
    retain_variables: bool | None = None,
) -> None:
    """Accumulate the gradients of this tensor into the leaves.  See `torch.autograd.backward`.

    Args:
        gradient: the gradient of the differentiated value with respect to this tensor, of its shape; None for 1 if the tensor has
            one element.
        retain_graph: whether the graph is kept for another backward pass; None for the value of `create_graph`.
        create_graph: whether the gradients are recorded, so that they can be differentiated.
        inputs: the tensors whose `grad` is accumulated; None for all leaves.
        retain_variables: the legacy name of `retain_graph`.
    """
    plain = (
        gradient is None and not create_graph and inputs is None and retain_variables is None and type(self._key) is DispatchKey
    )
    if state.mutation_guards:
        refuse_backward()
    if (
        plain
        and isinstance(self._node, Node)
        and self._node.outputs is None
        and self._array.shape == ()
        and self._key.dtype.category == dtypes.FLOATING
    ):
        engine.run_scalar(self, bool(retain_graph))  # fast path for a scalar loss, which needs no further checks
        return
    backward(self, gradient, retain_graph, create_graph, inputs=inputs, retain_variables=retain_variables)
