"""ONNX translations of reshaping, indexing, concatenation and tensor creation."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import flambeau as torch

from ...export._tracing import TensorSpec
from .._builder import Builder, Value, onnx_dtype
from .._errors import OnnxExporterError
from ._table import translates

_CPU = torch.device("cpu")


def ints_spec(*shape: int) -> TensorSpec:
    """Return the metadata of an int64 tensor of the given shape."""
    return TensorSpec(shape, torch.int64, _CPU)


# --- shapes ---


@translates("view", "reshape", "_unsafe_view")
def view(b: Builder, x: Value, shape: Any) -> Value:
    """Translate `view` and `reshape`."""
    if isinstance(shape, torch.dtype):
        raise OnnxExporterError("view(dtype) has no translation to ONNX")
    return b.op("Reshape", x, b.ints(shape))


@translates("view_as", "reshape_as")
def view_as(b: Builder, x: Value, other: Value) -> Value:
    """Reshape to the shape of another tensor."""
    return b.op("Reshape", x, b.shape(other))


@translates("flatten")
def flatten(b: Builder, x: Value, start_dim: int = 0, end_dim: int = -1) -> Value:
    """Merge the dimensions `start_dim` to `end_dim`."""
    first, last = start_dim % max(x.rank, 1), end_dim % max(x.rank, 1)
    return b.op("Reshape", x, b.ints([0] * first + [-1] + [b.size(x, dim) for dim in range(last + 1, x.rank)]))


@translates("unflatten")
def unflatten(b: Builder, x: Value, dim: int, sizes: Sequence[Any]) -> Value:
    """Split a dimension into several."""
    dim %= x.rank
    return b.op("Reshape", x, b.ints([0] * dim + list(sizes) + [b.size(x, after) for after in range(dim + 1, x.rank)]))


@translates("permute")
def permute(b: Builder, x: Value, dims: Sequence[int]) -> Value:
    """Permute dimensions."""
    return b.op("Transpose", x, perm=[dim % x.rank for dim in dims])


@translates("transpose", "swapaxes")
def transpose(b: Builder, x: Value, dim0: int, dim1: int, like: Any = None) -> Value:
    """Swap two dimensions."""
    order = list(range(x.rank))
    order[dim0], order[dim1] = order[dim1], order[dim0]
    return b.op("Transpose", x, perm=order, like=like)


@translates("t", "numpy_T", "mT", "adjoint")
def reversed_dims(b: Builder, x: Value) -> Value:
    """Transpose a matrix, or reverse all dimensions."""
    assert b.node is not None
    if "mT" in str(b.node.target) or "adjoint" in str(b.node.target):
        return transpose(b, x, -2, -1)
    return b.op("Transpose", x, perm=list(range(x.rank))[::-1])


@translates("movedim")
def movedim(b: Builder, x: Value, source: Any, destination: Any) -> Value:
    """Move dimensions to new positions."""
    source = [source] if isinstance(source, int) else list(source)
    destination = [destination] if isinstance(destination, int) else list(destination)
    order: list[Any] = [None] * x.rank
    for old, new in zip(source, destination, strict=True):
        order[new % x.rank] = old % x.rank
    rest = iter(dim for dim in range(x.rank) if dim not in order)
    return b.op("Transpose", x, perm=[next(rest) if dim is None else dim for dim in order])


@translates("unsqueeze")
def unsqueeze(b: Builder, x: Value, dim: int) -> Value:
    """Insert a dimension of size 1."""
    return b.op("Unsqueeze", x, b.ints([dim]))


@translates("squeeze")
def squeeze(b: Builder, x: Value, dims: Any = None) -> Value:
    """Remove dimensions of size 1."""
    given = range(x.rank) if dims is None else [dims] if isinstance(dims, int) else dims
    chosen = [dim for dim in given if isinstance(x.shape[dim], int) and x.shape[dim] == 1]
    return b.op("Squeeze", x, b.ints(chosen)) if chosen else x


@translates("expand", "broadcast_to")
def expand(b: Builder, x: Value, sizes: Sequence[Any], implicit: bool = False) -> Value:
    """Broadcast to the given sizes; -1 keeps a size."""
    return b.op("Expand", x, b.ints([1 if isinstance(size, int) and size == -1 else size for size in sizes]))


@translates("expand_as")
def expand_as(b: Builder, x: Value, other: Value) -> Value:
    """Broadcast to the shape of another tensor."""
    return b.op("Expand", x, b.shape(other))


@translates("repeat", "tile")
def repeat(b: Builder, x: Value, repeats: Sequence[Any]) -> Value:
    """Tile along each dimension."""
    repeats = [1] * (x.rank - len(repeats)) + list(repeats)
    if len(repeats) > x.rank:
        x = b.op("Unsqueeze", x, b.ints(list(range(len(repeats) - x.rank))))
    return b.op("Tile", x, b.ints(repeats))


@translates("sym_size")
def sym_size(b: Builder, x: Value, dim: int) -> Value:
    """Return the size of a dimension as a scalar tensor."""
    dim %= x.rank
    shape = b.op("Shape", x, start=dim, end=dim + 1, like=ints_spec(1))
    return b.op("Squeeze", shape, b.constant([0]), like=ints_spec())


@translates("item")
def item(b: Builder, x: Value) -> Value:
    """Return a one-element tensor as a scalar."""
    return b.op("Reshape", x, b.constant(torch.zeros(0, dtype=torch.int64)), like=TensorSpec((), x.dtype, _CPU))


# --- joining and splitting ---


@translates("cat")
def cat(b: Builder, tensors: Sequence[Value], dim: int = 0) -> Value:
    """Concatenate along a dimension."""
    tensors = [tensor for tensor in tensors if tensor.rank != 1 or b.result_spec().ndim == 1]  # type: ignore[union-attr]
    return b.op("Concat", *(b.cast(tensor, b.result_dtype) for tensor in tensors), axis=dim)


@translates("stack")
def stack(b: Builder, tensors: Sequence[Value], dim: int = 0) -> Value:
    """Stack along a new dimension."""
    axis = b.ints([dim])
    return b.op("Concat", *(b.op("Unsqueeze", b.cast(each, b.result_dtype), axis) for each in tensors), axis=dim)


@translates("split", "split_with_sizes", "chunk", "unbind", "tensor_split")
def split(b: Builder, x: Value, sizes: Any = 0, dim: int = 0) -> list[Value]:
    """Split along a dimension; also translates `chunk` and `unbind`."""
    assert b.node is not None
    specs = b.node.meta["val"]
    unbinds = "unbind" in str(b.node.target)
    dim = sizes if unbinds else dim
    lengths: Any = [1] * len(specs) if unbinds else [spec.shape[dim] for spec in specs]
    if not all(isinstance(length, int) for length in lengths):
        lengths = sizes if isinstance(sizes, (list, tuple)) else lengths
    if len(specs) == 1 and not unbinds:
        return [x]
    if len(specs) == 1:
        pieces = [b.op("Identity", x)]
    else:
        pieces = b.op_with_outputs("Split", x, b.ints(lengths), outputs=len(specs), axis=dim)
    for piece, spec in zip(pieces, specs, strict=True):
        piece.spec = spec
    if unbinds:
        return [b.op("Squeeze", piece, b.ints([dim]), like=spec) for piece, spec in zip(pieces, specs, strict=True)]
    return pieces


@translates("meshgrid")
def meshgrid(b: Builder, tensors: Sequence[Value], indexing: str = "ij") -> list[Value]:
    """Translate `meshgrid`."""
    order = [1, 0, *range(2, len(tensors))] if indexing == "xy" else list(range(len(tensors)))
    shape = b.ints([b.size(tensors[place], 0) for place in order])
    grids = []
    for place, tensor in enumerate(tensors):
        axes = [axis for axis in range(len(tensors)) if axis != order.index(place)]
        spec = b.node.meta["val"][place]  # type: ignore[union-attr]
        grids.append(b.op("Expand", b.op("Unsqueeze", tensor, b.ints(axes)), shape, like=spec))
    return grids


# --- indexing ---


@translates("select")
def select(b: Builder, x: Value, dim: int, index: Any) -> Value:
    """Select a single position of a dimension."""
    return b.op("Gather", x, b.cast(index, torch.int64), axis=dim)


@translates("slice", "narrow")
def slice_(b: Builder, x: Value, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Value:
    """Slice a dimension; also translates `narrow`."""
    assert b.node is not None
    if "narrow" in str(b.node.target):
        if isinstance(start, int) and isinstance(end, int):
            end = start + end
        else:
            end = b.op("Add", b.cast(start, torch.int64), b.cast(end, torch.int64), like=ints_spec())
    start, end = 0 if start is None else start, sys.maxsize if end is None else end
    return b.op("Slice", x, b.ints([start]), b.ints([end]), b.ints([dim]), b.ints([step]))


@translates("slice_scatter", "select_scatter")
def slice_scatter(b: Builder, x: Value, source: Value, dim: int = 0, *place: Any) -> Value:
    """Return a tensor with a slice of a dimension replaced; also translates `select_scatter`."""
    assert b.node is not None
    size = b.cast(b.size(x, dim), torch.int64)
    every = b.op("Range", b.constant(0), size, b.constant(1), like=ints_spec(1))
    if "select" in str(b.node.target):
        source = b.op("Unsqueeze", source, b.ints([dim]), like=TensorSpec((1,) * x.rank, source.dtype, _CPU))
        indices = b.op("Gather", every, b.op("Reshape", b.cast(place[0], torch.int64), b.ints([1]), like=ints_spec(1)))
    else:
        start, end, step = place + (None, None, 1)[len(place) :]
        limits = (0 if start is None else start, sys.maxsize if end is None else end)
        indices = b.op("Slice", every, b.ints([limits[0]]), b.ints([limits[1]]), b.ints([0]), b.ints([step]), like=ints_spec(1))
    whole, part = transpose(b, x, 0, dim, like=x), transpose(b, b.cast(source, x.dtype), 0, dim, like=x)
    part = b.op("Expand", part, b.op("Concat", b.op("Shape", indices), b.op("Shape", whole, start=1), axis=0), like=x)
    written = b.op("ScatterND", whole, b.op("Unsqueeze", indices, b.ints([1]), like=ints_spec(1, 1)), part, like=x)
    return transpose(b, written, 0, dim)


@translates("index_select")
def index_select(b: Builder, x: Value, dim: int, index: Value) -> Value:
    """Select positions of a dimension by index."""
    return b.op("Gather", x, index, axis=dim)


@translates("embedding")
def embedding(b: Builder, weight: Value, indices: Value, *args: Any) -> Value:
    """Look up rows of an embedding matrix."""
    return b.op("Gather", weight, indices, axis=0)


@translates("gather")
def gather(b: Builder, x: Value, dim: int, index: Value, **kwargs: Any) -> Value:
    """Gather elements along a dimension."""
    return b.op("GatherElements", x, index, axis=dim)


@translates("scatter", "scatter_add", "scatter_reduce")
def scatter(b: Builder, x: Value, dim: int, index: Value, source: Any, reduce: str | None = None, **kwargs: Any) -> Value:
    """Write or accumulate elements at indices along a dimension."""
    assert b.node is not None
    if not isinstance(source, Value):
        source = b.op("Expand", b.constant(source, x.dtype), b.shape(index), like=TensorSpec(tuple(index.shape), x.dtype, _CPU))
    name = {"add": "add", "sum": "add", "multiply": "mul", "prod": "mul", "amax": "max", "amin": "min", None: None}[reduce]
    name = "add" if "scatter_add" in str(b.node.target) else name
    return b.op("ScatterElements", x, index, source, axis=dim, reduction=name)


def _stack_indices(b: Builder, x: Value, indices: Sequence[Any]) -> tuple[Value, int]:
    """Stack index tensors along a new last dimension, as ONNX requires. Also return the number of indexed dimensions."""
    masks = [each for each in indices if each is not None and each.dtype is torch.bool]
    if masks and len(indices) == 1:
        found = b.op("NonZero", masks[0], like=ints_spec(1, 1))
        return b.op("Transpose", found, perm=[1, 0], like=ints_spec(1, 1)), masks[0].rank
    if masks:
        raise OnnxExporterError("indexing with a boolean mask and other indices has no translation to ONNX")
    indices = [b.cast(index, torch.int64) for index in indices]
    rank = max(index.rank for index in indices)
    shape = None
    if len(indices) > 1:
        total = indices[0]
        for index in indices[1:]:
            total = b.op("Add", total, index, like=ints_spec(*[1] * rank))
        shape = b.op("Shape", total, like=ints_spec(rank))
    columns = []
    for index in indices:
        whole = index if shape is None else b.op("Expand", index, shape, like=ints_spec(*[1] * rank))
        columns.append(b.op("Unsqueeze", whole, b.ints([-1]), like=ints_spec(*[1] * (rank + 1))))
    spec = ints_spec(*[1] * (rank + 1))
    return columns[0] if len(columns) == 1 else b.op("Concat", *columns, axis=-1, like=spec), len(indices)


def _move_indexed_first(b: Builder, x: Value, indices: Sequence[Any]) -> tuple[Value, list[Any], list[int]]:
    """Move the dimensions that have an index tensor to the front. Return the tensor, the index tensors and the permutation."""
    chosen = [dim for dim, index in enumerate(indices) if index is not None]
    order = chosen + [dim for dim in range(x.rank) if dim not in chosen]
    moved = x if order == list(range(x.rank)) else b.op("Transpose", x, perm=order, like=x)
    return moved, [indices[dim] for dim in chosen], order


@translates("index")
def index(b: Builder, x: Value, indices: Sequence[Any]) -> Value:
    """Translate indexing with index tensors."""
    chosen = [dim for dim, each in enumerate(indices) if each is not None]
    if len(chosen) == 1 and indices[chosen[0]].dtype is not torch.bool:
        return b.op("Gather", x, b.cast(indices[chosen[0]], torch.int64), axis=chosen[0])
    if chosen and chosen[0] and chosen != list(range(chosen[0], chosen[-1] + 1)):
        moved, given, _ = _move_indexed_first(b, x, indices)
        return b.op("GatherND", moved, _stack_indices(b, moved, given)[0])
    moved, given, _ = _move_indexed_first(b, x, indices)
    positions, _ = _stack_indices(b, moved, given)
    found = b.op("GatherND", moved, positions)
    if not chosen[0]:
        return found
    rank = positions.rank - 1
    order = [*range(rank, rank + chosen[0]), *range(rank), *range(rank + chosen[0], b.result_spec().ndim)]  # type: ignore[union-attr]
    return b.op("Transpose", found, perm=order)


@translates("index_put", "_unsafe_index_put")
def index_put(b: Builder, x: Value, indices: Sequence[Any], values: Value, accumulate: bool = False) -> Value:
    """Write or accumulate values at index tensors."""
    if any(each is None for each in indices):
        raise OnnxExporterError("index_put has no translation to ONNX if a leading dimension is not indexed")
    positions, count = _stack_indices(b, x, indices)
    rows = b.op("Shape", positions, start=0, end=-1, like=ints_spec(1))
    shape = b.op("Concat", rows, b.op("Shape", x, start=count, like=ints_spec(1)), axis=0, like=ints_spec(1))
    source = b.op("Expand", b.cast(values, x.dtype), shape, like=x)
    return b.op("ScatterND", x, positions, source, reduction="add" if accumulate else None)


@translates("nonzero", "argwhere")
def nonzero(b: Builder, x: Value) -> Value:
    """Return the indices of nonzero elements."""
    return b.op("Transpose", b.op("NonZero", x), perm=[1, 0])


@translates("masked_select")
def masked_select(b: Builder, x: Value, mask: Value) -> Value:
    """Return the elements where a mask is True."""
    mask = b.op("Expand", mask, b.shape(x), like=TensorSpec(tuple(x.shape), torch.bool, _CPU))
    return b.op("Compress", b.op("Reshape", x, b.ints([-1])), b.op("Reshape", mask, b.ints([-1])))


@translates("flip")
def flip(b: Builder, x: Value, dims: Sequence[int]) -> Value:
    """Reverse dimensions."""
    count = len(dims)
    return b.op("Slice", x, b.ints([-1] * count), b.ints([-sys.maxsize] * count), b.ints(list(dims)), b.ints([-1] * count))


@translates("roll")
def roll(b: Builder, x: Value, shifts: Any, dims: Any = ()) -> Value:
    """Split each dimension at its shift, and join the two parts in reverse order."""
    shifts, dims = ([value] if isinstance(value, int) else list(value) for value in (shifts, dims))
    if not dims:
        flat = roll(b, b.op("Reshape", x, b.ints([-1]), like=TensorSpec((1,), x.dtype, _CPU)), shifts, [0])
        return b.op("Reshape", flat, b.shape(x))
    for shift, dim in zip(shifts, dims, strict=True):
        parts = [
            b.op("Slice", x, b.ints([start]), b.ints([end]), b.ints([dim]), like=x)
            for start, end in ((-shift, sys.maxsize), (0, -shift))
        ]
        x = b.op("Concat", *parts, axis=dim, like=x)
    return x


@translates("tril", "triu")
def triangle(b: Builder, x: Value, diagonal: int = 0) -> Value:
    """Translate `tril` and `triu`."""
    assert b.node is not None
    return b.op("Trilu", x, b.constant(diagonal), upper=int("triu" in str(b.node.target)))


@translates("pad", "constant_pad_nd")
def pad(b: Builder, x: Value, pads: Sequence[Any], mode: str = "constant", value: Any = None) -> Value:
    """Pad the last dimensions."""
    if not isinstance(mode, str):
        mode, value = "constant", mode
    before, after = ([0] * x.rank for _ in range(2))
    for place in range(len(pads) // 2):
        before[-1 - place], after[-1 - place] = pads[2 * place], pads[2 * place + 1]
    kind = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}[mode]
    if kind == "wrap" and b.opset < 19:
        raise OnnxExporterError("circular padding requires opset_version=19 or higher")
    return b.op("Pad", x, b.ints(before + after), b.constant(value or 0, x.dtype) if kind == "constant" else None, mode=kind)


# --- creation ---


def _filled(b: Builder, shape: Value, value: Any) -> Value:
    dtype = b.result_dtype
    if isinstance(value, Value):
        return b.op("Expand", b.cast(value, dtype), shape)
    from onnx import helper

    tensor = helper.make_tensor("value", onnx_dtype(dtype), [1], [torch.tensor(value, dtype=dtype).item()])
    return b.op("ConstantOfShape", shape, value=tensor)


@translates("zeros", "ones", "empty", "full")
def filled(b: Builder, size: Sequence[Any], value: Any = None, **kwargs: Any) -> Value:
    """Create a constant tensor of a given size: `zeros`, `ones`, `empty`, `full`."""
    assert b.node is not None
    name = str(b.node.target).split(".")[1]
    return _filled(b, b.ints(list(size)), {"zeros": 0, "empty": 0, "ones": 1}.get(name, value))


@translates("zeros_like", "ones_like", "empty_like", "full_like", "fill", "new_zeros", "new_ones", "new_full", "new_empty")
def filled_like(b: Builder, x: Value, *args: Any, **kwargs: Any) -> Value:
    """Create a constant tensor like another: `zeros_like`, `full_like`, `new_ones`, ..."""
    assert b.node is not None
    name = str(b.node.target).split(".")[1]
    value = 0 if "zeros" in name or "empty" in name else 1 if "ones" in name else args[-1]
    return _filled(b, b.ints(list(args[0])) if name.startswith("new_") else b.shape(x), value)


@translates("arange")
def arange(b: Builder, *limits: Any, **kwargs: Any) -> Value:
    """Translate `arange`."""
    start, end, step = (0, limits[0], 1) if len(limits) == 1 else (*limits, 1)[:3]
    dtype = b.result_dtype
    return b.op("Range", *(b.cast(value, dtype) for value in (start, end, step)))


@translates("scalar_tensor")
def scalar_tensor(b: Builder, value: Any, **kwargs: Any) -> Value:
    """Create a scalar tensor."""
    return b.cast(value, b.result_dtype)


@translates("linspace", "eye")
def known(b: Builder, *args: Any, **kwargs: Any) -> Value:
    """Evaluate an operator during export and store its result; all arguments must be constants."""
    assert b.node is not None
    if any(isinstance(arg, Value) for arg in args):
        raise OnnxExporterError(f"{b.node.target} with dynamic sizes has no translation to ONNX")
    return b.constant(b.node.target(*args, **kwargs))


@translates("one_hot")
def one_hot(b: Builder, x: Value, classes: int = -1) -> Value:
    """Translate `one_hot`."""
    spec = b.result_spec()
    size = spec.shape[-1] if spec is not None else classes
    return b.op("OneHot", x, b.ints([size]), b.constant([0, 1]), axis=-1)


@translates("repeat_interleave")
def repeat_interleave(b: Builder, x: Value, times: Any, dim: int | None = None, **kwargs: Any) -> Value:
    """Repeat each element along a dimension."""
    if not isinstance(times, int):
        raise OnnxExporterError("repeat_interleave with a tensor of repeats has no translation to ONNX")
    if dim is None:
        x, dim = b.op("Reshape", x, b.ints([-1]), like=TensorSpec((1,), x.dtype, _CPU)), 0
    dim %= x.rank
    shape = [b.size(x, axis) for axis in range(x.rank)] if x.rank > 1 else [-1]
    wide = b.op("Unsqueeze", x, b.ints([dim + 1]))
    tiled = b.op("Tile", wide, b.ints([times if axis == dim + 1 else 1 for axis in range(x.rank + 1)]))
    return b.op("Reshape", tiled, b.ints([*(0 if axis < dim else -1 if axis == dim else shape[axis] for axis in range(x.rank))]))
