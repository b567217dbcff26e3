"""Reductions, softmax and normalization of nested tensors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import flambeau as torch

from ...engine.tensors.tensor import Tensor
from .padding import on_padded, to_padded
from .tensors import NestedTensor, StridedNestedTensor, implements, lengths_of, strided_from_items, wrapped

__all__: list[str] = []


def _lowest(dtype: Any) -> Any:
    return False if dtype is torch.bool else -math.inf if dtype.is_floating_point else torch.iinfo(dtype).min


def _highest(dtype: Any) -> Any:
    return True if dtype is torch.bool else math.inf if dtype.is_floating_point else torch.iinfo(dtype).max


# {reduction: function of a dtype that returns a padding value}.  The padding does not change the result.
_NEUTRAL: dict[str, Callable[[Any], Any]] = {
    "sum": lambda dtype: 0, "prod": lambda dtype: 1, "any": lambda dtype: False, "all": lambda dtype: True,
    "max": _lowest, "amax": _lowest, "argmax": _lowest, "min": _highest, "amin": _highest, "argmin": _highest,
}  # fmt: skip


def _reduction(name: str) -> Callable[..., Any]:
    function = getattr(torch, name)

    def reduce(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None) -> Any:
        options = {} if dtype is None else {"dtype": dtype}
        if isinstance(dim, Tensor) and name in ("max", "min"):  # the call is `torch.max(a, b)`
            raise NotImplementedError(f"aten.{name}.other")
        if dim is None or (isinstance(dim, (tuple, list)) and not dim):
            values = input._values if input._lengths is None else torch.cat([item.reshape(-1) for item in input.items()])
            result = function(values, **options)
            return result.reshape((1,) * input.dim()) if keepdim else result
        dims = sorted({wrapped(each, input.dim()) for each in (dim if isinstance(dim, (tuple, list)) else [dim])})
        batch, ragged = 0 in dims, input._ragged_idx in dims
        others = [each for each in dims if each not in (0, input._ragged_idx)]
        if ragged and input._lengths is not None:
            raise RuntimeError(
                f"{name}(): reducing across the ragged dimension is not supported for non-contiguous nested tensors with holes"
            )
        if batch and not ragged:
            raise RuntimeError(
                f"{name}(): reducing along the batch dimension but not the ragged dimension is not supported for nested tensors"
            )
        if ragged and not batch and others:
            raise RuntimeError(f"{name}(): reducing along a ragged and non-batch dimension is not supported for nested tensors")
        inner = [each - 1 for each in dims if each]
        passed = inner if isinstance(dim, (tuple, list)) else inner[0]
        if batch:
            result = function(input._values, passed, keepdim, **options)
            return _map_results(lambda part: part.unsqueeze(0), result) if keepdim else result
        if ragged:
            padded = to_padded(input, _NEUTRAL[name](input.dtype))
            return function(padded, list(dims) if isinstance(dim, (tuple, list)) else dims[0], keepdim, **options)
        place = input._ragged_idx - (0 if keepdim else sum(each < input._ragged_idx for each in dims))
        return _map_results(lambda part: input.like(part, place), function(input._values, passed, keepdim, **options))

    return reduce


def _map_results(function: Callable[[Tensor], Any], result: Any) -> Any:
    if isinstance(result, Tensor):
        return function(result)
    return type(result)([function(part) for part in result])


for _name in _NEUTRAL:
    implements(NestedTensor, _name)(_reduction(_name))


@implements(NestedTensor)
def _mean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    total = _reduction("sum")(input, dim, keepdim, dtype=dtype)
    if dim is None:
        return total / input.numel()
    dims = {wrapped(each, input.dim()) for each in (dim if isinstance(dim, (tuple, list)) else [dim])}
    fixed = math.prod(input.shape[each] for each in dims if each not in (0, input._ragged_idx))
    if input._ragged_idx not in dims:
        return total / fixed
    if 0 in dims:
        return total / (fixed * input._values.shape[input._ragged_idx - 1])
    lengths = lengths_of(input)
    after = total.ndim - 1
    return total / lengths.reshape(-1, *([1] * after))


# --- along a dimension --------------------------------------------------------------------------------------------


def _softmax_like(name: str) -> Callable[..., Any]:
    function = getattr(torch, name)

    def compute(input: Any, dim: Any = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
        if isinstance(_stacklevel, torch.dtype):  # the third argument of `torch.softmax` is the dtype
            dtype = _stacklevel
        if isinstance(dim, (tuple, list)):
            raise RuntimeError(f"{name}(): not supported for dim of type 'tuple' for NestedTensor")
        dim = wrapped(-1 if dim is None else dim, input.dim())
        if dim == 0:
            raise RuntimeError(f"{name}(): not supported when reducing across the batch dimension for NestedTensor")
        if dim != input._ragged_idx:
            return input.like(function(input._values, dim - 1, dtype=dtype))
        if input._lengths is not None:
            raise RuntimeError(f"{name}(): not supported where lengths is not None on dim=ragged_idx for NestedTensor")
        if name == "log_softmax":
            raise RuntimeError("log_softmax(): not supported when reducing along the ragged dimension for NestedTensor")
        return on_padded(lambda padded: function(padded, dim, dtype=dtype), input, -math.inf)

    return compute


for _name in ("softmax", "log_softmax"):
    implements(NestedTensor, _name)(_softmax_like(_name))


@implements(NestedTensor)
def _layer_norm(
    input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5, cudnn_enable: bool = True
) -> Any:
    if input.dim() <= 2:
        raise RuntimeError("layer_norm(): not supported for NestedTensor objects with 2 or fewer dimensions")
    shape = list(normalized_shape)
    start = input.dim() - len(shape)
    if start > input._ragged_idx:
        return input.like(torch.nn.functional.layer_norm(input._values, shape, weight, bias, eps))
    if input._lengths is not None:
        raise RuntimeError(
            "layer_norm(): not supported where lengths is not None if operating on the ragged dimension for NestedTensor"
        )
    if start == 0:
        raise RuntimeError("layer_norm(): not supported when normalizing over the batch dimension for NestedTensor")
    normalized = []
    for item in input.items():
        dims = tuple(range(start - 1, item.ndim))
        centred = item - item.mean(dims, keepdim=True)
        normalized.append(centred * (centred.square().mean(dims, keepdim=True) + eps).rsqrt())
    values = torch.cat(normalized, input._ragged_idx - 1)
    values = values if weight is None else values * weight
    return input.like(values if bias is None else values + bias)


@implements(NestedTensor)
def _rms_norm(input: Any, normalized_shape: Any, weight: Any = None, eps: float | None = None) -> Any:
    if len(normalized_shape) > input.dim() - input._ragged_idx - 1:
        raise ValueError("rms_norm(): Normalization over the ragged dim not supported for nested tensors")
    return input.like(torch.nn.functional.rms_norm(input._values, normalized_shape, weight, eps))


# --- the strided layout: item by item -----------------------------------------------------------------------------


@implements(StridedNestedTensor)
def _strided_softmax(input: Any, dim: int = -1, _stacklevel: int = 3, dtype: Any = None) -> Any:
    if not input.items():
        return input
    dim = wrapped(dim, input.dim())
    if dim == 0:
        raise RuntimeError("Cannot apply softmax across nested dimension 0")
    return strided_from_items([item.softmax(dim - 1, dtype=dtype) for item in input.items()])


@implements(StridedNestedTensor)
def _strided_sum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    if dim is None:
        raise NotImplementedError("Could not run 'aten::sum' with arguments from the 'NestedTensorCPU' backend: pass dim=-1")
    dims = [dim] if isinstance(dim, int) else list(dim)
    if len(dims) != 1:
        raise RuntimeError("NestedTensor only allows reduction of a single dimension for now.")
    if wrapped(dims[0], input.dim()) != input.dim() - 1:
        raise RuntimeError(f"NestedTensor can only be reduced across the last dimension for now got dimension {dims[0]} instead.")
    if not keepdim:
        raise RuntimeError("NestedTensor always requires keepdim=True for now.")
    return strided_from_items([item.sum(-1, keepdim=True, dtype=dtype) for item in input.items()])


@implements(StridedNestedTensor)
def _strided_layer_norm(
    input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5, *_: Any
) -> Any:
    if weight is None or bias is None:
        raise ValueError("NestedTensor layer_norm requires weight and bias")
    items = [torch.nn.functional.layer_norm(item, normalized_shape, weight, bias, eps) for item in input.items()]
    return strided_from_items(items)
