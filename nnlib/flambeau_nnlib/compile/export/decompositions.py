"""The default decompositions of operators for `ExportedProgram.run_decompositions`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau as torch
from flambeau import Tensor

__all__ = ["CustomDecompTable", "default_decompositions"]


def _aten() -> Any:  # a function, so that mypy sees the type of the lazily loaded `torch.ops`
    return torch.ops.aten


aten = _aten()
_DEFAULT: dict[Any, Callable[..., Any]] = {}


class CustomDecompTable(dict[Any, Any]):
    """A table that maps operators to functions that decompose them; modify it like a dictionary."""

    def materialize(self) -> dict[Any, Any]:
        """Return the table as a plain dictionary."""
        return dict(self)


def default_decompositions() -> CustomDecompTable:
    """Return the default table. It decomposes `linear` into a matrix product and `conv2d` into `convolution`, and drops
    dropout in evaluation mode.

    >>> table = torch.export.default_decompositions()
    >>> torch.ops.aten.linear.default in table, torch.ops.aten.relu.default in table
    (True, False)
    """
    return CustomDecompTable(_DEFAULT)


def _decomposition(*operators: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        _DEFAULT.update(dict.fromkeys(operators, function))
        return function

    return enter


@_decomposition(aten.linear.default)
def _linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Any:
    transposed = aten.permute.default(weight, [1, 0])
    if input.dim() == 2:
        return aten.mm.default(input, transposed) if bias is None else aten.addmm.default(bias, input, transposed)
    product = aten.matmul.default(input, transposed)
    return product if bias is None else aten.add.Tensor(product, bias)


def _convolution(dims: int) -> Callable[..., Any]:
    def convolve(
        input: Tensor, weight: Tensor, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
    ) -> Any:
        sizes = [list(value) if isinstance(value, (list, tuple)) else [value] * dims for value in (stride, padding, dilation)]
        return aten.convolution.default(input, weight, bias, *sizes, False, [0] * dims, groups)

    return convolve


for _dims, _operator in enumerate((aten.conv1d, aten.conv2d, aten.conv3d), 1):
    _DEFAULT[_operator.default] = _convolution(_dims)


@_decomposition(aten.flatten.using_ints)
def _flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Any:
    first, last = start_dim % max(input.dim(), 1), end_dim % max(input.dim(), 1)
    shape = list(input.shape)
    return aten.reshape.default(input, [*shape[:first], -1, *shape[last + 1 :]])


@_decomposition(aten.dropout.default, aten.feature_dropout.default, aten.alpha_dropout.default)
def _dropout(input: Tensor, p: float, train: bool) -> Any:
    if not train or p == 0:
        return input
    kept = aten.ge.Scalar(aten.rand_like.default(input), p)
    return aten.mul.Tensor(aten.mul.Tensor(input, kept), 1 / (1 - p) if p < 1 else 0.0)


@_decomposition(aten.chunk.default)
def _chunk(input: Tensor, chunks: int, dim: int = 0) -> Any:
    return aten.split.Tensor(input, -(-input.shape[dim] // chunks), dim)


@_decomposition(aten.silu.default)
def _silu(input: Tensor) -> Any:
    return aten.mul.Tensor(input, aten.sigmoid.default(input))


@_decomposition(aten.rsub.Scalar, aten.rsub.Tensor)
def _rsub(input: Tensor, other: Any, alpha: Any = 1) -> Any:
    return aten.add.Tensor(aten.mul.Tensor(input, -alpha), other)


@_decomposition(aten.contiguous.default, aten.detach.default, aten.lift_fresh_copy.default)
def _same(input: Tensor) -> Any:
    return aten.clone.default(input)


@_decomposition(aten.unflatten.int)
def _unflatten(input: Tensor, dim: int, sizes: list[Any]) -> Any:
    dim %= input.dim()
    return aten.view.default(input, [*input.shape[:dim], *sizes, *input.shape[dim + 1 :]])


@_decomposition(aten.scaled_dot_product_attention.default)
def _attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False, **kwargs: Any
) -> Any:
    scale = kwargs.get("scale") or query.shape[-1] ** -0.5
    scores = aten.mul.Tensor(aten.matmul.default(query, aten.transpose.int(key, -2, -1)), scale)
    if is_causal:
        mask = aten.tril.default(aten.ones.default([query.shape[-2], key.shape[-2]], dtype=torch.bool, device=query.device))
    if mask is not None and mask.dtype is torch.bool:
        scores = aten.masked_fill.Scalar(scores, aten.logical_not.default(mask), float("-inf"))
    elif mask is not None:
        scores = aten.add.Tensor(scores, mask)
    weights = aten.softmax.int(scores, -1)
    if mask is not None:  # a query whose keys are all masked returns zeros
        nothing = aten.all.dim(aten.eq.Scalar(scores, float("-inf")), -1, True)
        weights = aten.masked_fill.Scalar(weights, nothing, 0.0)
    return aten.matmul.default(_dropout(weights, dropout_p, True) if dropout_p else weights, value)
