"""Products, attention and embeddings of nested tensors."""

from __future__ import annotations

from typing import Any

import flambeau as torch

from ...engine.tensors.tensor import Tensor
from .padding import from_padded, to_padded
from .tensors import Nested, NestedTensor, StridedNestedTensor, implements, items_of, strided_from_items

__all__: list[str] = []


def _shape_text(value: Any) -> Any:
    return tuple(value.shape) if isinstance(value, NestedTensor) else value.shape


@implements(NestedTensor)
def _linear(input: Any, weight: Tensor, bias: Tensor | None = None) -> Any:
    if input._ragged_idx == input.dim() - 1:
        return from_padded(torch.nn.functional.linear(to_padded(input, 0.0), weight, bias), input, input._ragged_idx)
    return input.like(torch.nn.functional.linear(input._values, weight, bias))


@implements(NestedTensor, "matmul", "__matmul__", "__rmatmul__", "mm")
def _matmul(input: Any, other: Any, *, out: Any = None) -> Any:
    first, second = isinstance(input, NestedTensor), isinstance(other, NestedTensor)
    if first and not second and input._ragged_idx < input.dim() - 1:
        if other.ndim == 2:  # multiply every item by the same matrix
            return input.like(torch.matmul(input._values, other))
        if other.ndim == input.dim() and other.shape[0] == len(input) and other.ndim > 2:
            return from_padded(torch.matmul(to_padded(input, 0.0), other), input, input._ragged_idx)
    if second and not first and input.ndim == other.dim() and other._ragged_idx == other.dim() - 1:
        return from_padded(torch.matmul(input, to_padded(other, 0.0)), other, other._ragged_idx)
    if (
        first
        and second
        and input.dim() == other.dim() >= 3
        and input._ragged_idx == input.dim() - 1
        and other._ragged_idx == other.dim() - 2
        and input.shape[-1] == other.shape[-2]
    ):  # the ragged dimension is summed over, so all results have the same shape
        return torch.stack([a @ b for a, b in zip(input.items(), other.items(), strict=True)])
    raise RuntimeError(f"matmul(): not supported between inputs of shapes {_shape_text(input)} and {_shape_text(other)}")


@implements(NestedTensor)
def _bmm(input: Any, mat2: Any) -> Any:
    for name, value in (("input", input), ("mat2", mat2)):
        if value.dim() != 3:
            raise ValueError(f"bmm(): {name} must be 3D")
    return _matmul(input, mat2)


@implements(NestedTensor)
def _embedding(input: Any, weight: Tensor, *args: Any, **kwargs: Any) -> Any:
    if isinstance(weight, NestedTensor):  # the call is `torch.embedding(weight, input)`
        input, weight = weight, input
    return input.like(torch.nn.functional.embedding(input._values, weight, *args, **kwargs))


@implements(NestedTensor, "scaled_dot_product_attention")
def _attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    _check_attention(query, key, value, attn_mask)
    items = [
        torch.nn.functional.scaled_dot_product_attention(q, k, v, None, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)
        for q, k, v in zip(query.items(), key.items(), value.items(), strict=True)
    ]
    dim = query._ragged_idx - 1
    return NestedTensor(
        torch.cat(items, dim), query._offsets if query._lengths is None else _offsets_of(items, dim), _ragged_idx=dim + 1
    )


def _offsets_of(items: list[Tensor], dim: int) -> Tensor:
    return torch.tensor([0, *(item.shape[dim] for item in items)], device=items[0].device).cumsum(0)


def _check_attention(query: Any, key: Any, value: Any, attn_mask: Any) -> None:
    if not all(isinstance(each, NestedTensor) for each in (query, key, value)):
        raise ValueError(
            "Expected query, key, and value to be nested jagged tensors, but got query.is_nested: "
            f"{query.is_nested}, key.is_nested: {key.is_nested}, and value.is_nested: {value.is_nested} instead."
        )
    if query.dtype is not key.dtype or query.dtype is not value.dtype:
        raise ValueError(
            f"Expected query, key, and value to have the same dtype, but got query.dtype: {query.dtype}, "
            f"key.dtype: {key.dtype}, and value.dtype: {value.dtype} instead."
        )
    if min(query.dim(), key.dim(), value.dim()) < 3:
        raise ValueError(
            "Expected query, key, and value to all be  at least 3 dimensional, but got query.dim: "
            f"{query.dim()}, key.dim: {key.dim()} and value.dim: {value.dim()} instead."
        )
    if key._ragged_idx != value._ragged_idx or key.shape[key._ragged_idx] != value.shape[value._ragged_idx]:
        raise ValueError(
            f"Expected key and value to be ragged in the same way, but got shapes {_shape_text(key)} and {_shape_text(value)}."
        )
    if attn_mask is not None:
        raise ValueError("Masks are not yet supported!")


# --- the strided layout: item by item -----------------------------------------------------------------------------


@implements(StridedNestedTensor)
def _strided_linear(input: Any, weight: Tensor, bias: Tensor | None = None) -> Any:
    if input.dim() != 3:
        raise RuntimeError(f"Linear requires nested_tensor.dim == 3 and dense_matrix.dim == 2. Nested tensor dim: {input.dim()}")
    return strided_from_items([torch.nn.functional.linear(item, weight, bias) for item in input.items()])


@implements(StridedNestedTensor, "matmul", "__matmul__", "bmm")
def _strided_matmul(input: Any, other: Any, *, out: Any = None) -> Any:
    if not (isinstance(input, Nested) and isinstance(other, Nested)):
        if isinstance(other, Tensor) and not isinstance(other, Nested) and other.ndim == 3 == input.dim():
            return strided_from_items([a @ b for a, b in zip(input.items(), other.unbind(0), strict=True)])
        names = ["nested" if isinstance(each, Nested) else "non-nested" for each in (input, other)]
        raise RuntimeError(f"Expected both to be nested, but got a {names[0]} self and {names[1]} other")
    for position, each in (("1st", input), ("2nd", other)):
        if each.dim() < 3:
            raise RuntimeError(
                "matmul: For nested tensors, only inputs with >= 3 dims are currently supported. "
                f"{position} input has rank: {each.dim()}"
            )
    first, second = input.items(), other.items()
    if len(first) != len(second):
        raise RuntimeError(
            f"matmul: Expected size for the 1st dimension of 2nd input tensor to be: {len(first)} but got: {len(second)}."
        )
    return strided_from_items([a @ b for a, b in zip(first, second, strict=True)])


@implements(StridedNestedTensor)
def _strided_embedding(input: Any, weight: Tensor, *args: Any, **kwargs: Any) -> Any:
    if isinstance(weight, Nested):
        input, weight = weight, input
    return strided_from_items([torch.nn.functional.embedding(item, weight, *args, **kwargs) for item in input.items()])


@implements(StridedNestedTensor, "scaled_dot_product_attention")
def _strided_attention(query: Any, key: Any, value: Any, attn_mask: Any = None, *args: Any, **kwargs: Any) -> Any:
    if attn_mask is not None:
        raise ValueError("Masks are not yet supported!")
    triples = zip(items_of(query), items_of(key), items_of(value), strict=True)
    return strided_from_items(
        [torch.nn.functional.scaled_dot_product_attention(q, k, v, None, *args, **kwargs) for q, k, v in triples]
    )
