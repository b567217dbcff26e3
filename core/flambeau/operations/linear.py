"""Linear and bilinear maps."""

from __future__ import annotations

from math import prod
from typing import Any

from ..engine.calls import overriding
from ..engine.calls.facts import Autocast, Kind, Linearity, Narrow
from ..engine.calls.node_names import become, step
from ..engine.calls.op import composite, op
from ..engine.calls.outputs import check
from ..engine.calls.record import Out
from ..engine.calls.results import mark_inference
from ..engine.calls.wrappers import write_result
from ..engine.devices.devices import DispatchKey
from ..engine.tape.engine import key_of_edge, shape_of
from ..engine.tape.fast_path import IN_INFERENCE, PLAIN
from ..engine.tape.grad_mode import grad_flag
from ..engine.tape.node import Node, rename_node
from ..engine.tensors.tensor import Tensor, wrap
from .matrix import matmul
from .views.views import t

__all__ = ["bilinear", "linear"]


def _rows(F: Any, array: Any) -> Any:
    """Reshape to a matrix: flatten all dimensions except the last."""
    shape = array.shape
    return array if len(shape) == 2 else F.reshape(array, (prod(shape[:-1]), shape[-1]))


def _input_gradient(F: Any, g: Any, weight: Any, input_shape: Any) -> Any:
    return F.reshape(F.mm(_rows(F, g), F.conj(weight)), input_shape)


def _decompose(node: Any) -> None:
    """Replace the node of `linear` by the nodes that PyTorch records.

    These are the nodes of `t` for the weight, of `addmm` and, if the input is not a matrix, of a `view` before and after it.
    """
    bias, input, weight = node.edges
    input_shape, rows = node.input_shape, prod(node.input_shape[:-1])
    columns = (
        None if weight is None else _reshaping_step(node, "TBackward0", 1, weight, shape_of(weight)[::-1], lambda F, g: F.t(g))
    )
    flat = input
    if input is not None and len(input_shape) != 2:
        shape = rows, input_shape[-1]
        flat = _reshaping_step(node, "ViewBackward0", 2, input, shape, lambda F, g: F.reshape(g, input_shape))
    edges = bias, flat, columns
    if len(input_shape) == 2:
        become(node, "AddmmBackward0", edges, _product_rule)
        return
    shape = rows, node.shape[-1]
    product = step(node, "AddmmBackward0", 0.5, edges, node.dispatch_key, shape, _product_rule, takes_saved=True)
    become(node, "ViewBackward0", (product,), lambda node, F, g, unpack: (F.reshape(g, shape),))


def _product_rule(node: Any, F: Any, g: Any, unpack: Any) -> tuple[Any, ...]:
    _, flat, columns = node.edges
    for_input = None if flat is None else F.mm(g, F.conj(unpack(node.weight, node)))
    for_weight = None if columns is None else F.t(F.mm(F.t(g), F.conj(_rows(F, unpack(node.input, node)))))
    return g, for_input, for_weight


def _reshaping_step(node: Node, name: str, position: float, edge: Any, shape: tuple[int, ...], function: Any) -> Node:
    """Return a node that only changes the shape of the gradient."""
    return step(node, name, position, (edge,), key_of_edge(edge), shape, lambda node, F, g, unpack: (function(F, g),))


_linear = op(
    "linear", lambda xp, bias, input, weight: xp.matmul(input, xp.matrix_transpose(weight)) + bias,
    kind=Kind.PRODUCT, narrow=Narrow.SIGNED_FLOAT8, autocast=Autocast.FAST, home="torch._C._nn",
    promote="accumulate", dtypes="numbers", public=False, method=False, out=False, grad_fn="AddmmBackward0",
    decompose=_decompose, schema="linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
    bias=lambda F, g, bias_shape: F.sum(_rows(F, g), (0,)) if len(bias_shape) == 1 else g,
    input=lambda F, g, weight, input_shape: (
        F.mm(g, F.conj(weight)) if len(input_shape) == 2 else _input_gradient(F, g, weight, input_shape)),
    weight=lambda F, g, input: (
        F.mm(F.t(g), F.conj(input)) if len(g.shape) == 2 else F.mm(F.t(_rows(F, g)), F.conj(_rows(F, input)))),
)  # fmt: skip


_OUT_RULES = Out.OWN_DTYPE | Out.UNCHECKED


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return `input @ weight.T + bias`; see `nn.Linear`.

    Args:
        input: a tensor `(*, in_features)`.
        weight: a tensor `(out_features, in_features)` or `(in_features,)`.
        bias: a tensor `(out_features,)` or `()`; None for no bias.
        out: a tensor that the result is written to.

    Shape:
        The result is `(*, out_features)`, or `(*,)` for a weight of one dimension.

    Raises:
        RuntimeError: the sizes do not fit, or the dtypes differ.

    Example:
        >>> F.linear(torch.ones(1, 2), torch.ones(3, 2), torch.zeros(3))
        tensor([[2., 2., 2.]])
    """
    if not isinstance(input, Tensor):
        raise TypeError(f"linear(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    if out is not None:
        check("linear", _OUT_RULES, out, (input, weight, bias))
        return write_result("linear", _OUT_RULES, linear(input, weight, bias), out)  # type: ignore[no-any-return]  # `out` itself
    if bias is None:
        return _product(input, weight)
    shape = weight._array.shape
    if len(shape) != 2 or input._array.shape[-1:] != shape[1:]:
        _explain_shapes(input, weight)
    if not input._key is weight._key is bias._key:
        _check_dtypes(input, weight, bias)
    output = _linear(bias, input, weight)
    return output if input._array.ndim == 2 else rename_node(output, "ViewBackward0")


def _product(input: Tensor, weight: Tensor) -> Tensor:
    """Return `input @ weight.T`.

    If no gradient is recorded, only kernels are called: the tensors of intermediate views would take longer than a product of
    few rows.
    """
    key, shape = input._key, input._array.shape
    if (
        ((weight._requires_grad or input._requires_grad) and grad_flag.get())  # first: the usual case of training
        or len(shape) < 2
        or type(key) is not DispatchKey
        or type(input) not in PLAIN
        or type(weight) not in PLAIN
        or weight._key is not key
        or weight._array.ndim != 2
        or shape[-1] != weight._array.shape[1]
    ):
        return matmul(input, t(weight))
    try:
        table, rows = key.table, input._array
        if len(shape) != 2:
            rows = table["reshape"][0](rows, (prod(shape[:-1]), shape[-1]))
        kernel, result_key = table["mm"]
        array = kernel(rows, table["t"][0](weight._array))
        if len(shape) != 2:
            array = table["reshape"][0](array, (*shape[:-1], weight._array.shape[0]))
    except Exception:  # the type of the error depends on the library
        return matmul(input, t(weight))  # handles what the kernels do not, or raises PyTorch's error
    result = wrap(array if type(array) is result_key.array_type else result_key.backend.wrap(array), result_key)
    if IN_INFERENCE:
        mark_inference(result)
    return result


def _explain_shapes(input: Tensor, weight: Tensor) -> None:
    if weight.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {weight.ndim}D")
    if weight.ndim < 2:
        raise RuntimeError(f"mat2 must be a matrix, got {weight.ndim}-D tensor")
    shape = input.shape
    raise RuntimeError(
        f"mat1 and mat2 shapes cannot be multiplied ({prod(shape[:-1])}x{shape[-1] if shape else 1} and "
        f"{weight.shape[1]}x{weight.shape[0]})"
    )


def _check_dtypes(input: Tensor, weight: Tensor, bias: Tensor) -> None:
    """Raise an error for mixed dtypes, unless an override (such as autocast) will handle the call."""
    if overriding.should_offer((input, weight, bias)):
        return
    for name, tensor, reference in (("mat1", input, weight), ("self", bias, input)):
        if tensor.dtype is not reference.dtype:
            raise RuntimeError(
                f"{name} and mat2 must have the same dtype, but got {tensor.dtype.legacy_name} and {reference.dtype.legacy_name}"
            )


@composite(
    method=False,
    kind=Kind.PRODUCT,
    linearity=Linearity.EACH,
    autocast={"cpu": Autocast.WHOLE, "cuda": Autocast.WIDEST},
    home="torch",
)
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Compute the bilinear map `out[..., k] = input1 @ weight[k] @ input2 + bias[k]`; see `nn.Bilinear`.

    Args:
        input1: a tensor `(*, m)`.
        input2: a tensor `(*, n)`, with the same leading dimensions.
        weight: a tensor `(k, m, n)`.
        bias: a tensor `(k,)`; None for no bias.

    Shape:
        The result is `(*, k)`.

    Raises:
        RuntimeError: the sizes do not fit, or the dtypes differ.

    Example:
        >>> torch.bilinear(torch.ones(1, 2), torch.ones(1, 3), torch.ones(4, 2, 3))
        tensor([[6., 6., 6., 6.]])
    """
    _check_bilinear(input1, input2, weight, bias)
    if bias is not None and bias.dtype is not weight.dtype:
        raise RuntimeError(f"bilinear(): weight is {weight.dtype.legacy_name}, but bias is {bias.dtype.legacy_name}")
    features, left, right = weight.shape
    mapped = input1.reshape(-1, left) @ weight.permute(1, 0, 2).reshape(left, -1)
    output = (mapped.reshape(-1, features, right) @ input2.reshape(-1, right, 1)).reshape(*input1.shape[:-1], features)
    return output if bias is None else output + bias


def _check_bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    if input1.ndim != input2.ndim:
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {input1.ndim} and {input2.ndim}")
    for dim, (size1, size2) in enumerate(zip(input1.shape[:-1], input2.shape[:-1], strict=True)):
        if size1 != size2:
            raise RuntimeError(f"bilinear(): input batch dimensions do not match at dim {dim}: got {size1} and {size2}")
    sizes = [("input1", input1.shape[-1], weight.shape[1]), ("input2", input2.shape[-1], weight.shape[2])]
    if bias is not None:
        sizes.append(("bias", bias.shape[0], weight.shape[0]))
    for name, size, expected in sizes:
        if size != expected:
            raise RuntimeError(f"bilinear(): {name} size does not match weight size: got {size} but expected {expected}")
