"""Linear and bilinear maps."""

from __future__ import annotations

from math import prod
from typing import Any

from .. import overrides
from .._tensor import Tensor
from ..autograd.node import shown_as
from ..inplace import write_result
from ..op import composite, op
from .matrix import matmul
from .views import t

__all__ = ["bilinear", "linear"]


def _rows(F: Any, array: Any) -> Any:
    """All but the last dimension made one."""
    shape = array.shape
    return array if len(shape) == 2 else F.reshape(array, (prod(shape[:-1]), shape[-1]))


def _input_gradient(F: Any, g: Any, weight: Any, input_shape: Any) -> Any:
    made = F.mm(_rows(F, g), F.conj(weight))
    return made if len(input_shape) == 2 else F.reshape(made, input_shape)


_linear = op(
    "linear", lambda xp, bias, input, weight: xp.matmul(input, xp.matrix_transpose(weight)) + bias,
    promote="accumulate", public=False, method=False, out=False, backward_name="AddmmBackward0",
    bias=lambda F, g: g,
    input=lambda F, g, weight, input_shape: _input_gradient(F, g, weight, input_shape),
    weight=lambda F, g, input: F.mm(F.t(_rows(F, g)), F.conj(_rows(F, input))),
)  # fmt: skip


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
    """``input @ weight.T + bias``.

    Shapes: input ``(*, in_features)``, weight ``(out_features, in_features)`` or ``(in_features,)``, bias
    ``(out_features,)`` or ``()``; the result ``(*, out_features)`` or ``(*,)``.

    Raises:
        RuntimeError: the sizes do not fit, or the dtypes differ.

    >>> import flambeau as torch
    >>> torch.nn.functional.linear(torch.ones(1, 2), torch.ones(3, 2), torch.zeros(3))
    tensor([[2., 2., 2.]])
    """
    if not isinstance(input, Tensor):
        raise TypeError(f"linear(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    if out is not None:
        return write_result("linear", linear(input, weight, bias), out)  # type: ignore[no-any-return]  # ``out`` itself
    if bias is None:
        return matmul(input, t(weight))
    shape = weight._array.shape
    if len(shape) != 2 or input._array.shape[-1:] != shape[1:]:
        _explain_shapes(input, weight)
    if not input._kind is weight._kind is bias._kind:
        _check_dtypes(input, weight, bias)
    made = _linear(bias, input, weight)
    return made if input._array.ndim == 2 else shown_as(made, "ViewBackward0")


def _explain_shapes(input: Tensor, weight: Tensor) -> None:
    if weight.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {weight.ndim}D")
    if weight.ndim < 2:
        raise RuntimeError(f"mat2 must be a matrix, got {weight.ndim}-D tensor")
    given = input.shape
    raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({prod(given[:-1])}x{given[-1] if given else 1} and "
                       f"{weight.shape[1]}x{weight.shape[0]})")  # fmt: skip


def _check_dtypes(input: Tensor, weight: Tensor, bias: Tensor) -> None:
    """Refuse mixed dtypes, unless a mode is about to cast them."""
    if overrides.wanted((input, weight, bias)):
        return
    for name, one, other in (("mat1", input, weight), ("self", bias, input)):
        if one.dtype is not other.dtype:
            raise RuntimeError(f"{name} and mat2 must have the same dtype, but got {one.dtype.legacy_name} and "
                               f"{other.dtype.legacy_name}")  # fmt: skip


@composite(method=False)
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``out[..., k] = input1 @ weight[k] @ input2 + bias[k]``.

    Shapes: input1 ``(*, m)``, input2 ``(*, n)``, weight ``(k, m, n)``, bias ``(k,)``; the result ``(*, k)``.

    Raises:
        RuntimeError: the sizes do not fit.
    """
    _check_bilinear(input1, input2, weight, bias)
    features, left, right = weight.shape
    mapped = input1.reshape(-1, left) @ weight.permute(1, 0, 2).reshape(left, -1)
    made = (mapped.reshape(-1, features, right) @ input2.reshape(-1, right, 1)).reshape(*input1.shape[:-1], features)
    return made if bias is None else made + bias


def _check_bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    if input1.ndim != input2.ndim:
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {input1.ndim} and {input2.ndim}")
    for dim, (one, other) in enumerate(zip(input1.shape[:-1], input2.shape[:-1], strict=True)):
        if one != other:
            raise RuntimeError(f"bilinear(): input batch dimensions do not match at dim {dim}: got {one} and {other}")
    sizes = [("input1", input1.shape[-1], weight.shape[1]), ("input2", input2.shape[-1], weight.shape[2])]
    if bias is not None:
        sizes.append(("bias", bias.shape[0], weight.shape[0]))
    for name, given, expected in sizes:
        if given != expected:
            raise RuntimeError(f"bilinear(): {name} size does not match weight size: got {given} but expected {expected}")
