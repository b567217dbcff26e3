"""Operations that split, join and reshape nested tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import flambeau as torch

from ...engine.tensors.tensor import Tensor
from .elementwise import aligned, matches
from .padding import from_padded
from .sizes import NestedInt
from .tensors import Nested, NestedTensor, StridedNestedTensor, implements, strided_from_items, with_moved_values, wrapped

__all__: list[str] = []


def _values_dim(name: str, input: NestedTensor, dim: int) -> int:
    """Convert a dimension of `input` to one of its values. RuntimeError for the batch and the ragged dimension."""
    dim = wrapped(dim, input.dim())
    if dim == 0:
        raise RuntimeError(f"{name}(): not supported for NestedTensor on dim=0")
    if dim == input._ragged_idx:
        raise RuntimeError(f"{name}(): not supported for NestedTensor on ragged dim")
    return dim - 1


def _size_list(given: Sequence[Any]) -> list[Any]:
    return list(given[0]) if len(given) == 1 and isinstance(given[0], (tuple, list)) else list(given)


# --- items and parts ----------------------------------------------------------------------------------------------


@implements(NestedTensor)
@implements(StridedNestedTensor)
def _unbind(input: Any, dim: int = 0) -> Any:
    if wrapped(dim, input.dim()) != 0:
        raise RuntimeError("unbind(): only supported for NestedTensor on dim=0")
    return tuple(input.items())


@implements(NestedTensor)
def _select(input: Any, dim: int, index: int) -> Any:
    dim = wrapped(dim, input.dim())
    if dim == 0:
        if not -len(input) <= index < len(input):
            raise IndexError(f"select(): index {index} out of range for tensor of size {tuple(input.shape)} at dimension 0")
        return input.items()[index]
    inner = _values_dim("select", input, dim)
    return input.like(input._values.select(inner, index), input._ragged_idx - (dim < input._ragged_idx))


@implements(NestedTensor)
def _narrow(input: Any, dim: int, start: int, length: int) -> Any:
    return input.like(input._values.narrow(_values_dim("narrow", input, dim), start, length))


@implements(NestedTensor, "__getitem__")
def _getitem(input: Any, index: Any) -> Any:
    items = list(index) if isinstance(index, tuple) else [index]
    if any(item is ... for item in items):
        place = next(place for place, item in enumerate(items) if item is ...)
        used = sum(item is not None for item in items) - 1
        items[place : place + 1] = [...] * (input.dim() - used)
    elif items and isinstance(items[0], slice):
        raise RuntimeError("slice(): not supported for NestedTensor on dim=0")
    result, dim = input, 0
    for place, item in enumerate(items):
        if not isinstance(result, NestedTensor):  # a single item: apply the remaining indices to it
            rest = tuple(slice(None) if other is ... else other for other in items[place:])
            return result[rest] if rest else result
        if item is ... or (isinstance(item, slice) and item == slice(None)):
            dim += 1
        elif item is None:
            result = _unsqueeze(result, dim)
            dim += 1
        elif isinstance(item, slice):
            inner = _values_dim("slice", result, dim)
            result = result.like(result._values[(slice(None),) * inner + (item,)])
            dim += 1
        elif isinstance(item, (int, Tensor)) and not (isinstance(item, Tensor) and item.ndim):
            result = _select(result, dim, int(item))
        elif isinstance(item, Nested) and item.dtype is torch.bool:
            return result._values[item._values]
        else:
            raise NotImplementedError(
                f"aten.index.Tensor: nested tensors in the layout torch.jagged cannot be indexed with {type(item).__name__}; "
                "index the items of `unbind()`"
            )
    return result


@implements(NestedTensor, "__setitem__")
def _setitem(input: Any, index: Any, value: Any) -> None:
    if isinstance(index, Nested):
        input._values[index._values] = value._values if isinstance(value, Nested) else value
        return
    target = _getitem(input, index)
    target.copy_(value) if isinstance(value, Tensor) else target.fill_(value)


@implements(NestedTensor)
def _chunk(input: Any, chunks: int, dim: int = 0) -> Any:
    if wrapped(dim, input.dim()) != 0:
        return tuple(input.like(part) for part in input._values.chunk(chunks, _values_dim("chunk", input, dim)))
    if input._lengths is not None:
        raise RuntimeError("chunk(): not supported for non-contiguous nested tensors with holes on dim=0")
    size, found = -(-len(input) // chunks), []
    ends = input._offsets.tolist()
    for start in range(0, len(input), size):
        stop = min(start + size, len(input))
        values = input._values.narrow(input._ragged_idx - 1, ends[start], ends[stop] - ends[start])
        offsets = input._offsets[start : stop + 1] - input._offsets[start]
        found.append(NestedTensor(values, offsets, _ragged_idx=input._ragged_idx))
    return tuple(found)


@implements(NestedTensor, "split", "split_with_sizes")
def _split(input: Any, split_size_or_sections: Any, dim: int = 0) -> Any:
    parts = input._values.split(split_size_or_sections, _values_dim("split", input, dim))
    return tuple(input.like(part) for part in parts)


# --- joined -------------------------------------------------------------------------------------------------------


def _first_nested(tensors: Sequence[Any]) -> NestedTensor:
    return next(each for each in tensors if isinstance(each, NestedTensor))


@implements(NestedTensor)
def _cat(tensors: Sequence[Any], dim: int = 0) -> Any:
    first = _first_nested(tensors)
    inner = _values_dim("cat", first, dim)
    values = []
    for each in tensors:
        if isinstance(each, NestedTensor):
            values.append(each._values)
        else:  # a dense tensor: expand it to the padded shape of `first`
            shape = [*first.shape[: first._ragged_idx], first._get_max_seqlen(), *first.shape[first._ragged_idx + 1 :]]
            shape[wrapped(dim, first.dim())] = each.shape[dim]
            values.append(from_padded(each.expand(shape), first, first._ragged_idx)._values)
    return first.like(torch.cat(values, inner))


@implements(NestedTensor)
def _stack(tensors: Sequence[Any], dim: int = 0) -> Any:
    if not all(isinstance(each, NestedTensor) for each in tensors):
        raise RuntimeError("stack(): expected all nested tensors inputs")
    first = _first_nested(tensors)
    if not all(matches(first, each) for each in tensors):
        raise RuntimeError("stack(): expected all nested tensors to have matching ragged structures")
    dim = wrapped(dim, first.dim() + 1)
    if dim <= first._ragged_idx:
        raise RuntimeError(f"stack(): not supported for NestedTensor on {'dim=0' if dim == 0 else 'ragged dim'}")
    return first.like(torch.stack([each._values for each in tensors], dim - 1))


# --- other shapes -------------------------------------------------------------------------------------------------


@implements(NestedTensor)
def _unsqueeze(input: Any, dim: int) -> Any:
    dim = wrapped(dim, input.dim() + 1)
    if dim == 0:
        raise RuntimeError("unsqueeze(): not supported for NestedTensor on dim=0")
    return input.like(input._values.unsqueeze(dim - 1), input._ragged_idx + (dim <= input._ragged_idx))


@implements(NestedTensor)
def _squeeze(input: Any, dim: Any = None) -> Any:
    if dim is None:
        raise NotImplementedError("aten.squeeze.default")
    inner = _values_dim("squeeze", input, dim)
    smaller = input._values.squeeze(inner)
    return input.like(smaller, input._ragged_idx - (smaller.ndim < input._values.ndim and inner + 1 < input._ragged_idx))


@implements(NestedTensor, "transpose", "swapaxes", "swapdims")
def _transpose(input: Any, dim0: int, dim1: int) -> Any:
    first, second = wrapped(dim0, input.dim()), wrapped(dim1, input.dim())
    if first == second:
        return input
    if 0 in (first, second):
        raise ValueError("Transpose is not supported on the batch dimension for jagged NT")
    exchange = {first: second, second: first}
    return input.like(input._values.transpose(first - 1, second - 1), exchange.get(input._ragged_idx, input._ragged_idx))


@implements(NestedTensor, "mT", "adjoint", "mH")
def _matrix_transpose(input: Any) -> Any:
    return _transpose(input, -2, -1)


@implements(NestedTensor, "T", "t")
def _reverse_dims(input: Any) -> Any:
    return _permute(input, *range(input.dim() - 1, -1, -1))


@implements(NestedTensor)
def _permute(input: Any, *dims: Any) -> Any:
    given = _size_list(dims)
    if len(given) != input.dim():
        raise ValueError(
            f"permute(): number of dimensions in the tensor input ({input.dim()}) does not match the length of the desired "
            f"ordering of dimensions ({len(given)})."
        )
    order = [wrapped(dim, input.dim()) for dim in given]
    if len(set(order)) != len(order):
        raise ValueError("permute(): duplicate dims are not allowed.")
    if order[0] != 0:
        raise ValueError("Permute is not supported on the batch dimension for jagged NT")
    return input.like(input._values.permute([dim - 1 for dim in order[1:]]), order.index(input._ragged_idx))


@implements(NestedTensor, "view", "reshape", "view_as", "reshape_as")
def _view(input: Any, *size: Any) -> Any:
    if len(size) == 1 and isinstance(size[0], torch.dtype):
        return input.like(input._values.view(size[0]))
    sizes = list(size[0].shape) if len(size) == 1 and isinstance(size[0], NestedTensor) else _size_list(size)
    placed = _with_ragged_size(input, sizes)
    if placed is None:
        raise RuntimeError(f"view(): cannot view shape {tuple(input.shape)} as {_size_list(size)}")
    ragged = next(place for place, length in enumerate(placed) if isinstance(length, NestedInt))
    inner = [input._values.shape[input._ragged_idx - 1] if place == ragged else n for place, n in enumerate(placed)][1:]
    return input.like(input._values.reshape(inner), ragged)


def _with_ragged_size(input: NestedTensor, sizes: list[Any]) -> list[Any] | None:
    """Replace the -1 of the ragged dimension by its symbolic size; None if the sizes do not fit the shape of `input`."""
    symbol = input.shape[input._ragged_idx]
    if not sizes or sizes[0] not in (len(input), -1) or sum(_is_inferred(n) for n in sizes) > 1 + (symbol not in sizes):
        return None
    if symbol not in sizes:
        if -1 not in sizes[1:]:
            return None
        sizes = [*sizes]
        sizes[1 + sizes[1:].index(-1)] = symbol
    sizes[0] = len(input)
    ragged = sizes.index(symbol)
    before, after = input.shape[1 : input._ragged_idx], input.shape[input._ragged_idx + 1 :]
    for wanted, have in ((sizes[1:ragged], before), (sizes[ragged + 1 :], after)):
        if -1 not in wanted and math.prod(wanted) != math.prod(have):
            return None
    return sizes


def _is_inferred(size: Any) -> bool:
    return isinstance(size, int) and size == -1


@implements(NestedTensor)
def _flatten(input: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    start, end = (_values_dim("flatten", input, dim) for dim in (start_dim, end_dim))
    if start < input._ragged_idx - 1 < end:
        raise RuntimeError("flatten(): not supported for NestedTensor on ragged dim")
    return input.like(input._values.flatten(start, end), input._ragged_idx - (end - start if end < input._ragged_idx - 1 else 0))


@implements(NestedTensor)
def _unflatten(input: Any, dim: int, sizes: Any) -> Any:
    inner = _values_dim("unflatten", input, dim)
    larger = input._values.unflatten(inner, sizes)
    return input.like(larger, input._ragged_idx + (larger.ndim - input._values.ndim if inner + 1 < input._ragged_idx else 0))


@implements(NestedTensor, "expand", "broadcast_to")
def _expand(input: Any, *size: Any, implicit: bool = False) -> Any:
    sizes = _size_list(size)
    ragged = input._ragged_idx
    if len(sizes) != input.dim() or sizes[0] not in (len(input), -1) or sizes[ragged] not in (input.shape[ragged], -1):
        raise RuntimeError(f"expand(): cannot expand shape {tuple(input.shape)} -> {tuple(sizes)}")
    return input.like(input._values.expand([-1 if place == ragged else n for place, n in enumerate(sizes)][1:]))


@implements(NestedTensor)
def _expand_as(input: Any, other: Any) -> Any:
    if isinstance(input, NestedTensor):
        return _expand(input, tuple(other.shape))
    return other.like(aligned(other, input).expand(other._values.shape))


def _implement_new(name: str) -> None:
    def method(input: Any, size: Any, *args: Any, **options: Any) -> Any:
        if not isinstance(size, (tuple, list)) or len(size):
            raise RuntimeError("new_empty() not supported for NJT with shape != ()")
        return getattr(input._values, name)(size, *args, **options)

    implements(NestedTensor, name)(method)


for _name in ("new_empty", "new_zeros", "new_ones", "new_full"):
    _implement_new(_name)


@implements(NestedTensor)
@implements(StridedNestedTensor)
def _to(input: Any, *args: Any, **kwargs: Any) -> Any:
    args = tuple(value._values if isinstance(value, Nested) else value for value in args)
    values = input._values.to(*args, **{name: value for name, value in kwargs.items() if value is not None})
    if values is input._values:
        return input
    if isinstance(input, NestedTensor) and values.device != input._offsets.device:
        return with_moved_values(input, values)
    return input.like(values)


# --- the strided layout: item by item -----------------------------------------------------------------------------


@implements(StridedNestedTensor)
def _strided_select(input: Any, dim: int, index: int) -> Any:
    dim = wrapped(dim, input.dim())
    if dim == 0:
        if not -len(input._sizes) <= index < len(input._sizes):
            raise IndexError(f"index {index} is out of bounds for dimension 0 with size {len(input._sizes)}")
        return input.items()[index]
    return strided_from_items([item.select(dim - 1, index) for item in input.items()])


@implements(StridedNestedTensor, "__getitem__")
def _strided_getitem(input: Any, index: Any) -> Any:
    first, *rest = index if isinstance(index, tuple) else (index,)
    if isinstance(first, int):
        item = _strided_select(input, 0, first)
        return item[tuple(rest)] if rest else item
    return input.shape  # `shape` raises the RuntimeError that PyTorch raises


def _implement_per_item(name: str, dims: int) -> None:
    """Implement a method for the strided layout by a call for each item.

    The first `dims` arguments are dimensions of the nested tensor.  For an item, which has no batch dimension, subtract 1.
    """

    def method(input: Any, *args: Any, **kwargs: Any) -> Any:
        given = [wrapped(dim, input.dim() + (name == "unsqueeze")) for dim in args[:dims]]
        if 0 in given:
            raise RuntimeError(f"{name}: cannot be applied to nested dimension 0")
        inner = [dim - 1 for dim in given]
        return strided_from_items([getattr(item, name)(*inner, *args[dims:], **kwargs) for item in input.items()])

    implements(StridedNestedTensor, name)(method)


for _name, _dims in {"transpose": 2, "unsqueeze": 1, "squeeze": 1}.items():
    _implement_per_item(_name, _dims)


@implements(StridedNestedTensor)
def _strided_narrow(input: Any, dim: int, start: int, length: int) -> Any:
    if wrapped(dim, input.dim()) == 0:
        return strided_from_items(input.items()[start : start + length])
    return strided_from_items([item.narrow(dim - 1, start, length) for item in input.items()])


@implements(StridedNestedTensor)
def _strided_chunk(input: Any, chunks: int, dim: int = 0) -> Any:
    if wrapped(dim, input.dim()) != input.dim() - 1:
        raise RuntimeError("Chunk for nested tensors is currently only supported for the last dimension.")
    return tuple(strided_from_items(parts) for parts in zip(*(item.chunk(chunks, -1) for item in input.items()), strict=True))


@implements(StridedNestedTensor)
def _strided_cat(tensors: Sequence[Any], dim: int = 0) -> Any:
    if dim != 0 or not all(isinstance(each, StridedNestedTensor) for each in tensors):
        raise RuntimeError("cat(): expected only nested tensors in the strided layout, and dim=0")
    return strided_from_items([item for each in tensors for item in each.items()])


@implements(StridedNestedTensor, "view", "reshape")
def _strided_view(input: Any, *size: Any) -> Any:
    sizes = _size_list(size)
    if not sizes or sizes[0] not in (len(input._sizes), -1):
        raise RuntimeError("view: For now nested view cannot change or infer the implicit batch dimension")
    found = []
    for item in input.items():
        inner = [item.shape[place] if n == -1 and place < item.ndim else n for place, n in enumerate(sizes[1:])]
        found.append(item.reshape(inner))
    return strided_from_items(found)
