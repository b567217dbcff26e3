"""The functions of `torch.nested`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flambeau as torch

from ...engine.tensors.tensor import Tensor
from ...engine.values.sizes import Size
from .padding import to_padded
from .tensors import Nested, NestedTensor, StridedNestedTensor, strided_from_items

__all__ = ["as_nested_tensor", "masked_select", "narrow", "nested_tensor", "nested_tensor_from_jagged", "to_padded_tensor"]


def nested_tensor(
    tensor_list: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Create a nested tensor with copies of tensors or nested lists; the result is a leaf.

    Args:
        tensor_list: tensors with the same number of dimensions, or nested lists of numbers.
        dtype: the dtype of the result (by default, of the first tensor).
        layout: `torch.strided` (the default), or `torch.jagged` if at most one dimension differs in size.
        device: the device of the result (by default, of the first tensor).
        requires_grad: whether operations on the result are recorded.
        pin_memory: accepted without effect.

    Raises:
        TypeError: `tensor_list` is not a list.
        RuntimeError: the numbers of dimensions differ; or, in the jagged layout, the sizes differ in several dimensions.

    >>> torch.nested.nested_tensor([torch.arange(3), torch.arange(2)])
    nested_tensor([
      tensor([0, 1, 2]),
      tensor([0, 1])
    ])
    >>> torch.nested.nested_tensor([torch.ones(3, 4), torch.ones(2, 4)], layout=torch.jagged).size(2)
    4
    """
    if not isinstance(tensor_list, (list, tuple)):
        raise TypeError("Only lists (List[Tensor] and List[List...[Scalar]]) are accepted in nested_tensor")
    with torch.no_grad():
        items = [item.detach() if isinstance(item, Tensor) else torch.tensor(item) for item in tensor_list]
        result = as_nested_tensor(items, dtype, device, layout)
        if len(items) == 1 and isinstance(result, Nested):
            result = result.clone()
    return result.requires_grad_(requires_grad)


def as_nested_tensor(ts: Any, dtype: Any = None, device: Any = None, layout: Any = None) -> Tensor:
    """Create a nested tensor from tensors, or from the rows of one tensor; gradients flow to them.

    Args:
        ts: tensors with the same number of dimensions, or a tensor, or a nested tensor, converted to `dtype` and `device`.
        dtype: the dtype of the result.
        device: the device of the result.
        layout: `torch.strided` (the default) or `torch.jagged`.

    Raises:
        TypeError: `ts` has another type.
        RuntimeError: the sizes do not fit the layout, or a nested tensor has another layout.

    >>> a, b = torch.ones(3, requires_grad=True), torch.ones(2)
    >>> torch.nested.as_nested_tensor([a, b]).is_leaf
    False
    """
    if not isinstance(ts, Tensor) and not (isinstance(ts, (list, tuple)) and all(isinstance(item, Tensor) for item in ts)):
        raise TypeError("as_nested_tensor(): Expected first argument to be a tensor or a list / tuple of tensors ")
    if isinstance(ts, Nested):
        if layout is not ts.layout:
            raise RuntimeError("as_nested_tensor(): Converting between nested tensor layouts is not supported")
        return ts.to(device=device, dtype=dtype)
    if isinstance(ts, Tensor) and ts.ndim < 2:
        raise RuntimeError("as_nested_tensor(): Expected tensor argument to have dim() > 1")
    if layout not in (None, torch.strided, torch.jagged):
        raise RuntimeError(f"Specified layout is unsupported for nested tensors: {layout}")
    options = {key: value for key, value in (("device", device), ("dtype", dtype)) if value is not None}
    if layout is torch.jagged:
        return _jagged_rows(ts, options) if isinstance(ts, Tensor) else _jagged(ts, options)
    if isinstance(ts, Tensor):
        values = ts.reshape(-1)
        return StridedNestedTensor(values.to(**options) if options else values, [ts.shape[1:]] * len(ts))
    _check_dimensions(ts)
    options = {**({"device": ts[0].device, "dtype": ts[0].dtype} if ts else {}), **options}
    result = strided_from_items([item.to(**options) for item in ts] if ts else ts)
    return result if ts or not options else result.to(**options)  # type: ignore[no-any-return]  # a nested tensor


def _check_dimensions(items: Sequence[Tensor]) -> None:
    for place, item in enumerate(items):
        if item.ndim != items[0].ndim:
            raise RuntimeError(
                "All Tensors given to nested_tensor must have the same dimension. Found dimension "
                f"{item.ndim} for Tensor at index {place} and dimension {items[0].ndim} for Tensor at index 0."
            )


def _jagged_rows(rows: Tensor, options: dict[str, Any]) -> Tensor:
    values = rows.contiguous().flatten(0, 1)
    values = values.to(**options) if options else values
    length = rows.shape[1]
    offsets = torch.arange(len(rows) + 1, dtype=torch.int64, device=values.device) * length
    return NestedTensor(values, offsets, _metadata_cache={"min_seqlen": length, "max_seqlen": length})


def _jagged(items: Sequence[Tensor], options: dict[str, Any]) -> Tensor:
    if not items:
        raise RuntimeError("Cannot construct a nested tensor from an empty tensor list")
    if len({item.dtype for item in items}) != 1:
        raise RuntimeError("When constructing a nested tensor, all tensors in list must have the same dtype")
    if len({item.device for item in items}) != 1:
        raise RuntimeError("When constructing a nested tensor, all tensors in list must be on the same device")
    if len({item.ndim for item in items}) != 1:
        raise RuntimeError("When constructing a nested tensor, all tensors in list must have the same dim")
    if items[0].ndim == 0:
        raise RuntimeError("Cannot construct a nested tensor from a list of zero-dim tensors")
    differing = [dim for dim, sizes in enumerate(zip(*(item.shape for item in items), strict=True)) if len(set(sizes)) > 1]
    if len(differing) > 1:
        raise RuntimeError(
            "Cannot represent given tensor list as a nested tensor with the jagged layout. "
            "Note that the jagged layout only allows for a single ragged dimension. "
            "For example: (B, *, D_0, D_1, ..., D_N), with ragged * dim."
        )
    dim = differing[0] if differing else 0
    values = torch.cat(list(items), dim)
    values = values.to(**options) if options else values
    lengths = [item.shape[dim] for item in items]
    offsets = torch.tensor([0, *lengths], dtype=torch.int64, device=values.device).cumsum(0)
    extremes = {"min_seqlen": min(lengths), "max_seqlen": max(lengths)}
    return NestedTensor(values, offsets, _ragged_idx=dim + 1, _metadata_cache=extremes)


def nested_tensor_from_jagged(
    values: Tensor,
    offsets: Tensor | None = None,
    lengths: Tensor | None = None,
    jagged_dim: int | None = None,
    min_seqlen: int | None = None,
    max_seqlen: int | None = None,
) -> Tensor:
    """Create a nested tensor in the jagged layout as a view of `values`.

    Args:
        values: all items, concatenated along one dimension.
        offsets: the start of each item and the end of the last one, of shape `(B + 1,)`.
        lengths: the length of each item, of shape `(B,)`.  With offsets as well, there may be gaps between the items.
        jagged_dim: the ragged dimension of the result; by default, 1.
        min_seqlen, max_seqlen: the smallest and the largest length, if known.

    Raises:
        RuntimeError: neither offsets nor lengths are given.
        ValueError: the batch would be the ragged dimension.

    >>> nested = torch.nested.nested_tensor_from_jagged(torch.arange(12.0).view(6, 2), torch.tensor([0, 2, 6]))
    >>> [item.shape for item in nested.unbind()]
    [torch.Size([2, 2]), torch.Size([4, 2])]
    """
    if offsets is None and lengths is None:
        raise RuntimeError("nested_tensor_from_jagged(): At least one of offsets or lengths is required.")
    if offsets is None:
        assert lengths is not None
        offsets = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
        lengths = None
    if jagged_dim is None:
        jagged_dim = 1
    if jagged_dim < 1:
        raise ValueError(f"Expected jagged_dim >=1, but got {jagged_dim}.")
    known = {name: value for name, value in (("min_seqlen", min_seqlen), ("max_seqlen", max_seqlen)) if value is not None}
    return NestedTensor(values, offsets, lengths=lengths, _ragged_idx=jagged_dim, _metadata_cache=known)


def narrow(tensor: Tensor, dim: int, start: Any, length: Any, layout: Any = torch.strided) -> Tensor:
    """Slice a dimension of each row of a tensor; return the slices as a nested tensor.

    Args:
        tensor: a tensor of shape `(B, ...)` with at least two dimensions.
        dim: the dimension of `tensor` to slice; 1 in the jagged layout.
        start: the start of the slices; in the jagged layout also a tensor of shape `(B,)`.
        length: the length of the slices; in the jagged layout also a tensor of shape `(B,)`.
        layout: `torch.strided`, or `torch.jagged`, where the result is a view of the tensor.

    Raises:
        RuntimeError: tensors are given for the strided layout, or another dimension than 1 for the jagged one.

    >>> part = torch.nested.narrow(torch.arange(8).view(2, 4), 1, torch.tensor([0, 1]), torch.tensor([3, 2]), layout=torch.jagged)
    >>> part.unbind()
    (tensor([0, 1, 2]), tensor([5, 6]))
    """
    for name, value in (("start", start), ("length", length)):
        if not isinstance(value, (int, Tensor)):
            raise RuntimeError(f"{name} must be an integer or a tensor")
    if layout is torch.strided:
        if isinstance(start, Tensor) or isinstance(length, Tensor):
            raise RuntimeError("start and length must be integers for the strided layout NT impl")
        return as_nested_tensor(tensor.unbind(0)).narrow(dim, start, length)
    if layout is not torch.jagged:
        raise RuntimeError(f"Specified layout is unsupported for nested narrow: {layout}")
    if dim != 1:
        raise RuntimeError("jagged layout only supports dim=1")
    batch, extent = tensor.shape[:2]
    try:
        starts, lengths = (torch.as_tensor(value, device=tensor.device).expand(batch) for value in (start, length))
    except RuntimeError:
        raise RuntimeError(
            "When constructing a jagged nested tensor using narrow(), "
            "your start and length must be Tensors that broadcast to input.shape[0]"
        ) from None
    begins = starts + extent * torch.arange(batch, device=tensor.device)
    offsets = torch.cat([begins, (begins[-1] + lengths[-1]).unsqueeze(0)])
    values = tensor.view(-1, *tensor.shape[2:])
    extremes = {"min_seqlen": int(lengths.min()), "max_seqlen": int(lengths.max())}
    if torch.equal(offsets.diff(), lengths):  # the slices are adjacent in memory
        values = values[int(offsets[0]) : int(offsets[-1])]
        return NestedTensor(values, offsets - offsets[0], _metadata_cache=extremes)
    return NestedTensor(values, offsets, lengths=lengths, _metadata_cache=extremes)


def masked_select(tensor: Tensor, mask: Tensor) -> Tensor:
    """Return the elements of a matrix where a mask is True, as a jagged nested tensor with one item per row.

    Args:
        tensor: the matrix, of shape `(B, N)`, or a tensor that broadcasts with `mask` to that shape.
        mask: a bool tensor, of shape `(B, N)` or one that broadcasts with `tensor` to that shape.

    Raises:
        RuntimeError: the tensor or the mask is not in the layout `torch.strided`, or the mask is not bool.

    >>> mask = torch.tensor([[False, True, True], [True, False, False]])
    >>> torch.nested.masked_select(torch.arange(6).view(2, 3), mask).unbind()
    (tensor([1, 2]), tensor([3]))
    """
    if tensor.layout is not torch.strided:
        raise RuntimeError(f"torch.nested.masked_select requires a strided tensor, given {tensor.layout}")
    if mask.layout is not torch.strided:
        raise RuntimeError(f"torch.nested.masked_select requires a strided mask, given: {mask.layout}")
    values = tensor.masked_select(mask)
    shape = torch.broadcast_shapes(tensor.shape, mask.shape)
    whole = mask.expand(shape)
    lengths = whole.sum(tuple(range(1, whole.ndim)))
    offsets = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
    return NestedTensor(values, offsets)


def to_padded_tensor(input: Tensor, padding: float, output_size: Any = None, out: Tensor | None = None) -> Tensor:
    """Convert a nested tensor to a dense one, with each item padded at its end.

    Args:
        input: a nested tensor.
        padding: the value to pad with.
        output_size: the shape of the result; by default, the smallest that holds all items.
        out: a tensor that the result is written to.

    Raises:
        RuntimeError: the output size is too small for an item.

    >>> torch.nested.to_padded_tensor(torch.nested.nested_tensor([torch.ones(1), torch.ones(3)]), 0.0)
    tensor([[1., 0., 0.],
            [1., 1., 1.]])
    """
    result = to_padded(input, padding, output_size)
    return result if out is None else out.resize_(result.shape).copy_(result)


def _nested_view_from_buffer(buffer: Tensor, nested_size: Tensor, nested_strides: Tensor, offsets: Tensor) -> Tensor:
    """Create a nested tensor in the strided layout from a buffer and the sizes, strides and offsets of the items."""
    sizes, steps, starts = nested_size.tolist(), nested_strides.tolist(), offsets.tolist()
    parts = [
        buffer.as_strided(size, step, buffer.storage_offset() + start)
        for size, step, start in zip(sizes, steps, starts, strict=True)
    ]
    result = StridedNestedTensor(buffer, [Size(size) for size in sizes])
    if buffer.numel() == sum(part.numel() for part in parts) and torch.equal(
        result._nested_tensor_strides(), nested_strides.cpu()
    ):
        return result
    return strided_from_items(parts)  # type: ignore[no-any-return]  # a nested tensor
