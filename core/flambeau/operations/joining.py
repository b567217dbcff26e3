"""Concatenate, stack, repeat, flip and roll tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..engine.calls.arguments import Dims
from ..engine.calls.dispatch import result_dtype, whole_numbers
from ..engine.calls.facts import Autocast, Kind, Narrow, Order, declare
from ..engine.calls.node_names import merge_nodes, with_grad_fn
from ..engine.calls.op import composite, op, sequence_fast_path
from ..engine.calls.record import Out
from ..engine.calls.transform_hooks import one_by_one
from ..engine.tensors.tensor import Tensor, attach
from ..engine.values import dtypes
from ..engine.values.constants import contiguous_format
from .views.views import as_shape, reshaped_copy, sizes_given, tied, wrap_dim


def _split_gradient(F: Any, g: Any, tensors_shape: Sequence[Any], dim: int) -> list[Any]:
    """Split the gradient into the gradients of the joined tensors."""
    parts, start = [], 0
    before: tuple[Any, ...] = (slice(None),) * dim
    for shape in tensors_shape:
        parts.append(F.getitem_slice(g, (*before, slice(start, start + shape[dim]))))
        start += shape[dim]
    return parts


_cat = op(
    "cat",
    lambda xp, *tensors, dim=0: xp.concat(tensors, axis=dim),
    kind=Kind.MOVEMENT,
    autocast=Autocast.WIDEST,
    public=False,
    method=False,
    tensors=_split_gradient,
)
_stack = op(
    "stack", lambda xp, *tensors, dim=0: xp.stack(tensors, axis=dim),
    kind=Kind.MOVEMENT, autocast=Autocast.WIDEST, public=False, method=False,
    tensors=lambda F, g, dim, tensors_shape: [
        F.getitem_select(g, (*((slice(None),) * dim), index)) for index in range(len(tensors_shape))],
)  # fmt: skip
_cat_fast_path, _stack_fast_path = sequence_fast_path("cat"), sequence_fast_path("stack")


def _sequence(name: str, tensors: Any, empty: Exception) -> list[Any]:
    if isinstance(tensors, Tensor) or not isinstance(tensors, (tuple, list)):
        kind = type(tensors).__name__
        raise TypeError(f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not {kind}")
    for position, tensor in enumerate(tensors):
        if type(tensor) is not Tensor and not isinstance(tensor, Tensor):
            raise TypeError(f"expected Tensor as element {position} in argument 0, but got {type(tensor).__name__}")
    if not tensors:
        raise empty
    return list(tensors)


def _check_sizes(shapes: Sequence[tuple[int, ...]], dim: int) -> None:
    """Raise an error if the shapes do not match in a dimension other than `dim`."""
    first = shapes[0]
    before, after = first[:dim], first[dim + 1 :]
    for position, shape in enumerate(shapes):
        if len(shape) != len(first):
            raise RuntimeError(f"Tensors must have same number of dimensions: got {len(first)} and {len(shape)}")
        if shape[:dim] == before and shape[dim + 1 :] == after:
            continue
        for axis, (a, b) in enumerate(zip(first, shape, strict=True)):
            if a != b and axis != dim:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {dim}. Expected size {a} but got size {b} "
                    f"for tensor number {position} in the list."
                )


@composite(method=False, out=Out.JOINED, aliases=("concat", "concatenate"))
def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Join tensors along an existing dimension; their dtypes are promoted.

    Args:
        tensors: a nonempty sequence of tensors with at least one dimension. Empty vectors are ignored.
        dim: the dimension to join.
        out: a tensor that the result is written to.

    Raises:
        RuntimeError: sizes differ in a dimension other than `dim`.

    >>> torch.cat([torch.zeros(1, 2), torch.ones(1, 2)])
    tensor([[0., 0.],
            [1., 1.]])
    """
    try:
        return _cat_fast_path(tensors, wrap_dim(dim, tensors[0]._array.ndim))
    except Exception:  # the type of the error depends on the library
        pass  # the code below accepts what PyTorch accepts, and raises PyTorch's errors
    inputs = _sequence("cat", tensors, ValueError("torch.cat(): expected a non-empty list of Tensors"))
    shapes = [tensor._array.shape for tensor in inputs]
    if () in shapes:
        raise RuntimeError(f"zero-dimensional tensor (at position {shapes.index(())}) cannot be concatenated")
    if len(inputs) > 1 and (0,) in shapes:  # PyTorch accepts empty 1-d tensors next to tensors of any shape
        dtype, joined = result_dtype(inputs), [tensor for tensor in inputs if tensor._array.shape != (0,)]
        first, *others = joined or inputs[:1]
        result = cat([first.to(dtype), *others], dim if joined else 0)
        for tensor in inputs:
            if tensor._requires_grad and tensor._array.shape == (0,):
                result = tied(result, tensor)
        return result
    dim = wrap_dim(dim, len(shapes[0]))
    _check_sizes(shapes, dim)
    return _cat(inputs, dim=dim)


@composite(method=False, out=Out.JOINED)
def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Join tensors of the same shape along a new dimension.

    Args:
        tensors: tensors of the same shape.
        dim: the index of the new dimension.

    Raises:
        RuntimeError: `tensors` is empty, or the shapes differ.

    >>> torch.stack([torch.zeros(2), torch.ones(2)], dim=1)
    tensor([[0., 1.],
            [0., 1.]])
    """
    try:
        return _stack_fast_path(tensors, wrap_dim(dim, tensors[0]._array.ndim + 1))
    except Exception:
        pass  # the code below raises PyTorch's errors
    inputs = _sequence("stack", tensors, RuntimeError("stack expects a non-empty TensorList"))
    shapes = [tensor._array.shape for tensor in inputs]
    if shapes.count(shapes[0]) != len(shapes):
        position = next(i for i, shape in enumerate(shapes) if shape != shapes[0])
        raise RuntimeError(
            f"stack expects each tensor to be equal size, but got {list(inputs[0].shape)} at entry 0 and "
            f"{list(inputs[position].shape)} at entry {position}"
        )
    return _stack(inputs, dim=wrap_dim(dim, inputs[0].ndim + 1))


@declare("repeat", kind=Kind.MOVEMENT, single_operator=True)
def _repeat_method(self: Tensor, repeats: Any, *rest: Any) -> Tensor:
    """Repeat the tensor `repeats[i]` times along each dimension; additional repeats add dimensions at the front.

    Args:
        repeats: the numbers of repetitions: integers, or one sequence of them.

    >>> torch.tensor([1, 2]).repeat(2)
    tensor([1, 2, 1, 2])
    """
    repeats = sizes_given(repeats, rest)
    extra = len(repeats) - self.ndim
    if extra < 0:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    if min(repeats, default=0) < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension: it is to be repeated {list(repeats)} times")
    shape = (1,) * extra + self._array.shape
    spread = [length for pair in zip(repeats, shape, strict=True) for length in pair]
    tall = self.reshape([length for size in shape for length in (1, size)])
    wide = tall.expand(spread).clone(memory_format=contiguous_format)
    result = reshaped_copy(wide, tuple(r * n for r, n in zip(repeats, shape, strict=True)))  # `wide` is already a copy
    return merge_nodes(result, "RepeatBackward0", (self,))


attach(repeat=_repeat_method)


@composite(method=False, kind=Kind.MOVEMENT)
def tile(input: Tensor, dims: Sequence[int]) -> Tensor:
    """Repeat the tensor `dims[i]` times along each dimension; a shorter `dims` applies to the last dimensions.

    Args:
        dims: the numbers of repetitions.

    >>> torch.tile(torch.tensor([1, 2]), (2,))
    tensor([1, 2, 1, 2])
    """
    dims = as_shape((dims,))
    return _repeat_method(input, (1,) * (input.ndim - len(dims)) + dims)


def _tile_method(self: Tensor, dims: Any, *rest: Any) -> Tensor:
    return tile(self, sizes_given(dims, rest))


_tile_method.__doc__ = tile.__doc__
attach(tile=_tile_method)

_flip = op(
    "flip", lambda xp, input, /, dims: xp.flip(input, axis=dims),
    kind=Kind.MOVEMENT, narrow=Narrow.NONE, public=False, method=False, out=False,
    input=lambda F, g, dims: F.flip(g, dims),
)  # fmt: skip


@composite(method=False)
def flip(input: Tensor, dims: Sequence[int]) -> Tensor:
    """Return a copy with the elements in reverse order along `dims`.

    Args:
        input: a tensor of any shape.
        dims: the dimension or dimensions to reverse.

    Raises:
        RuntimeError: a dimension occurs twice.

    >>> torch.flip(torch.tensor([[1, 2], [3, 4]]), (1,))
    tensor([[2, 1],
            [4, 3]])
    """
    return _flip_method(input, dims)


@with_grad_fn("FlipBackward0")
def _flip_method(self: Tensor, dims: Any, *rest: Any) -> Tensor:
    axes = tuple(wrap_dim(d, self.ndim) for d in sizes_given(dims, rest))
    if len(set(axes)) != len(axes):
        raise RuntimeError(f"dim {axes[0]} appears multiple times in the list of dims")
    return _flip(self, axes).clone() if axes and self.ndim else self.clone()


_flip_method.__doc__ = flip.__doc__
attach(flip=_flip_method)

_roll = op(
    "roll", lambda xp, input, /, shifts, dims: xp.roll(input, shifts, axis=dims),
    kind=Kind.MOVEMENT, order=Order.ROW_MAJOR, public=False, method=False, out=False,
    input=lambda F, g, shifts, dims: F.roll(g, tuple(-shift for shift in shifts), dims),
)  # fmt: skip


@composite(grad_fn="RollBackward0")
def roll(input: Tensor, shifts: Dims, dims: Dims | None = ()) -> Tensor:
    """Shift the elements by `shifts` along `dims`, wrapping around; without `dims`, the tensor is flattened for the shift.

    Args:
        shifts: the number of places, or one for each of `dims`.
        dims: one or several dimensions; () or None to flatten.

    Raises:
        RuntimeError: the numbers of `shifts` and `dims` differ.

    >>> torch.roll(torch.tensor([1, 2, 3]), 1)
    tensor([3, 1, 2])
    """
    shifts = whole_numbers("shifts", shifts)
    dims = () if dims is None else dims if isinstance(dims, (tuple, list)) else (dims,)
    if not shifts:
        raise RuntimeError("`shifts` required")
    if not dims:
        if len(shifts) != 1:
            raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:0")
        return roll(input.reshape(-1), shifts, (0,)).reshape(input.shape)
    if len(dims) != len(shifts):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    if not input.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    if 0 in input._array.shape:
        whole_numbers("dims", dims)
        return input.clone()
    return _roll(input, tuple(shifts), tuple(wrap_dim(d, input.ndim) for d in dims))


@composite(
    kind=Kind.MOVEMENT,
    dynamic_shape=True,
    schema=(
        "repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor",
        "repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor",
        "repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor",
    ),
)
def repeat_interleave(
    input: Any = None, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Repeat each slice of `dim` (by default, each element of the flattened input) `repeats` times.

    `repeats` is one number, or one for each slice or element.

    Args:
        repeats: the number of repetitions, an int or an integer tensor. A single argument is `repeats`, and the result contains
            each index `i` `repeats[i]` times.
        dim: the dimension whose slices are repeated; None to flatten `input`.
        output_size: the length of the result along `dim`, if known; on a GPU, this avoids a synchronisation.

    >>> torch.repeat_interleave(torch.tensor([1, 2]), torch.tensor([1, 2]))
    tensor([1, 2, 2])
    """
    from .creation.ranges import arange

    alone = input is None or repeats is None  # a single argument is `repeats`; each index `i` is repeated `repeats[i]` times
    repeats = input if repeats is None else repeats
    if alone and isinstance(repeats, Tensor):
        if repeats.ndim != 1:
            raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
        whole = repeats.dtype if repeats.dtype is dtypes.int32 else dtypes.int64
        input, dim = arange(len(repeats), dtype=whole, device=repeats.device), 0
    if not isinstance(repeats, Tensor) and type(repeats) is not int:
        raise TypeError(f"repeat_interleave(): argument 'repeats' must be Tensor or int, not {type(repeats).__name__}")
    if not isinstance(input, Tensor):
        raise TypeError(f"repeat_interleave(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    if isinstance(repeats, Tensor) and repeats.dtype not in (dtypes.int64, dtypes.int32):
        raise NotImplementedError(f"\"repeat_interleave_cpu\" not implemented for '{repeats.dtype.legacy_name}'")
    if isinstance(repeats, Tensor) and repeats.ndim > 1:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
    if dim is None:
        input, dim = input.reshape(-1), 0
    dim = wrap_dim(dim, input.ndim)
    return input.index_select(dim, _repeat_positions(repeats, input.shape[dim], dim, output_size, input.device))  # type: ignore[no-any-return]  # `input` is Any


repeated_positions = op(
    "repeated_positions", lambda xp, repeats, /, total: xp.searchsorted(
        xp.cumulative_sum(repeats), xp.arange(total, dtype=repeats.dtype), side="right"),
    public=False, method=False, out=False,
)  # fmt: skip


@one_by_one
def _repeat_positions(repeats: Any, length: int, dim: int, output_size: int | None, place: Any) -> Tensor:
    """Return the indices 0, 1, ... of dimension `dim`, each index `i` repeated `repeats[i]` times."""
    from .creation.from_shape import full

    if isinstance(repeats, Tensor) and not repeats._key.backend.has_data:
        if output_size is None:
            raise RuntimeError("cannot repeat_interleave a meta tensor without output_size")
        return repeats.new_empty(output_size, dtype=dtypes.int64)
    counts = repeats.reshape(-1) if isinstance(repeats, Tensor) else full((1,), repeats, dtype=dtypes.int64, device=place)
    counts = counts.expand(length) if counts.shape[0] == 1 else counts
    if counts.shape[0] != length:
        raise RuntimeError(
            "repeats must have the same size as input along dim, but got repeats.size(0) = "
            f"{counts.shape[0]} and input.size({dim}) = {length}"
        )
    if length and counts._key.backend.extremes(counts._array)[0] < 0:
        raise RuntimeError("repeats can not be negative")
    total = repeats * length if isinstance(repeats, int) else int(counts.sum())
    if output_size is not None and output_size != total:
        raise RuntimeError(f"repeat_interleave: Invalid output_size, expected {total} but got {output_size}")
    return repeated_positions(counts, total)
