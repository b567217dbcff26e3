"""Views of a part of the elements: select, narrow, split, chunk, unbind and diagonal."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index as whole
from typing import Any

from ...engine.calls.arguments import Dims, as_int
from ...engine.calls.facts import Kind
from ...engine.calls.op import composite, op
from ...engine.calls.overriding import offered_as
from ...engine.tape.node import rename_node
from ...engine.tensors.tensor import Tensor
from ...engine.values import dtypes
from ..indexing.standard import getitem
from .views import inverse_permutation, view_operation, wrap_dim

__all__: list[str] = []


@composite(kind=Kind.VIEW, schema="select.int")
def select(input: Tensor, dim: int, index: int) -> Tensor:
    """Return a view of the slice at `index` of dimension `dim`, without that dimension.

    Args:
        dim: the dimension to remove.
        index: the position, from `-size` to `size - 1`.

    Raises:
        IndexError: the index is out of range.

    >>> torch.select(torch.tensor([[1, 2], [3, 4]]), 0, 1)
    tensor([3, 4])
    """
    shape = input._array.shape
    if not shape:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = wrap_dim(dim, len(shape))
    index = int(index)
    if not -shape[dim] <= index < shape[dim]:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(shape)} at dimension {dim}")
    return input[(slice(None),) * dim + (index,)]


@composite(kind=Kind.VIEW)
def narrow(input: Tensor, dim: int, start: int | Tensor, length: int) -> Tensor:
    """Return a view of `length` slices of dimension `dim`, starting at `start`.

    Args:
        dim: the dimension to narrow.
        start: the index of the first slice, an int or a 0-d integer tensor; negative from the end.
        length: the number of slices.

    Raises:
        RuntimeError: the slices exceed the dimension.

    >>> torch.narrow(torch.arange(5), 0, 1, 2)
    tensor([1, 2])
    """
    if not input._array.ndim:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if isinstance(start, Tensor) and (start.ndim or start.dtype.category != dtypes.INTEGER):
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    dim, start = wrap_dim(dim, input._array.ndim), whole(start)
    size = input._array.shape[dim]
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    start = start + size if start < 0 else start
    if start > size or start < 0:
        raise IndexError(f"start out of range (expected to be in range of [{-size}, {size}], but got {start})")
    if start + length > size:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return input[(slice(None),) * dim + (slice(start, start + length),)]


@composite(out=True, grad_fn="NarrowCopyBackward0", kind=Kind.MOVEMENT)
def narrow_copy(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """Return a copy of `length` slices of dimension `dim`, starting at `start`; see `narrow`.

    Args:
        dim: the dimension to narrow.
        start: the index of the first slice; negative from the end.
        length: the number of slices.
    """
    if dim >= max(input.ndim, 1):
        raise RuntimeError(f"narrow_copy(): expected a dim below {input.ndim}, but got {dim}")
    return narrow(input, dim, start, length).clone()


def _split_call(input: Any, sizes: Sequence[int], dim: int) -> tuple[str, Any, Any, int]:
    """Return the call of PyTorch's operator: with one size if the parts have equal sizes, except a smaller last part."""
    if all(size == sizes[0] for size in sizes[:-1]) and sizes[-1] <= sizes[0]:
        return "split", input, sizes[0], dim
    return "split_with_sizes", input, list(sizes), dim


def _split_forward(xp: Any, input: Any, /, sizes: Sequence[int], dim: int) -> list[Any]:
    before: tuple[Any, ...] = (slice(None),) * dim
    parts, start = [], 0
    for size in sizes:
        parts.append(input[(*before, slice(start, start + size), ...)])
        start += size
    return parts


_split = op(
    "split", _split_forward,
    kind=Kind.VIEW, view=True, returns_list=True, public=False, method=False,
    vjp=lambda F, g, sizes, dim: (F.cat(g, dim),), dispatches=_split_call,
    schema=(
        "split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]",
        "split.sizes(Tensor(a -> *) self, SymInt[] split_size, int dim=0) -> Tensor(a)[]",
        "split(Tensor(a -> *) self, int[] split_sizes, int dim=0) -> Tensor(a)[]",
    ),
)  # fmt: skip


@composite(kind=Kind.VIEW, home="torch.functional")
def split(
    tensor: Tensor, split_size_or_sections: Dims | None = None, dim: int = 0, *, split_size: Dims | None = None
) -> tuple[Tensor, ...]:
    """Split `dim` into consecutive views: of one size (the last may be smaller), or of the sizes in a list.

    Args:
        tensor: the tensor to split.
        split_size_or_sections: the length of each part, or a list of lengths.
        dim: the dimension to split.
        split_size: another name of `split_size_or_sections`.

    Raises:
        RuntimeError: the lengths in the list do not add up to the size of `dim`.

    >>> torch.split(torch.arange(5), 2)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
    sections: Any = split_size if split_size_or_sections is None else split_size_or_sections
    if not tensor._array.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    dim = wrap_dim(dim, tensor._array.ndim)
    length = tensor._array.shape[dim]
    if isinstance(sections, (tuple, list)):
        sizes = tuple(map(whole, sections))
        if sum(sizes) != length or min(sizes, default=0) < 0:
            raise RuntimeError(
                f"split_with_sizes expects split_sizes to sum exactly to {length} (input tensor's size at "
                f"dimension {dim}), but got split_sizes={list(sizes)}"
            )
        parts: tuple[Tensor, ...] = _split(tensor, sizes, dim)
        if parts:
            rename_node(parts[0], "SplitWithSizesBackward0")  # all parts share one autograd node
        return parts
    step = whole(sections)
    if step < 0 or (step == 0 and length):
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={step}")
    sizes = tuple(min(step, length - start) for start in range(0, length, max(step, 1))) or (0,)
    return _split(tensor, sizes, dim)  # type: ignore[no-any-return]  # has several results


@composite(kind=Kind.VIEW)
def split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Split `dim` into consecutive views of the sizes in a list.

    Args:
        split_sizes: the lengths of the parts, whose sum is the size of `dim`.
        dim: the dimension to split.
    """
    return split(input, list(split_sizes), dim)


@composite(kind=Kind.VIEW)
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Split `dim` into at most `chunks` consecutive views, of equal size except the last.

    Args:
        input: a tensor of at least one dimension.
        chunks: the largest number of parts, at least 1.
        dim: the dimension to split.

    Raises:
        RuntimeError: `input` is 0-d, or `chunks` is not positive.

    >>> torch.chunk(torch.arange(5), 3)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
    if not input._array.ndim:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    dim = wrap_dim(dim, input._array.ndim)
    length = input._array.shape[dim]
    if not length:
        return split(input, [0] * chunks, dim)
    step = -(-length // chunks)
    return _split(input, tuple([min(step, length - start) for start in range(0, length, step)]), dim)  # type: ignore[no-any-return]


def _unbind_forward(xp: Any, input: Any, /, dim: int = 0) -> list[Any]:
    before: tuple[Any, ...] = (slice(None),) * dim
    return [input[(*before, index, ...)] for index in range(input.shape[dim])]


_unbind = op(
    "unbind",
    _unbind_forward,
    kind=Kind.VIEW,
    view=True,
    returns_list=True,
    public=False,
    method=False,
    vjp=lambda F, g, dim: (F.stack(g, dim),),
    schema="unbind.int",
)


@composite
@offered_as(lambda input, dim=0: (input, dim))  # pass `dim` even if it is 0: TensorDict's override has no default for it
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Return views of all slices along `dim`, without that dimension.

    Args:
        dim: the dimension to remove.

    >>> torch.unbind(torch.tensor([[1, 2], [3, 4]]))
    (tensor([1, 2]), tensor([3, 4]))
    """
    if not input._array.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    dim = wrap_dim(dim, input._array.ndim)
    return _unbind(input, dim) if input._array.shape[dim] else ()


def _diagonal_forward(xp: Any, input: Any, /, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    rows, columns = input.shape[dim1], input.shape[dim2]
    length = max(0, min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns))
    other_dims = [d for d in range(input.ndim) if d not in (dim1, dim2)]
    moved = xp.permute_dims(input, (*other_dims, dim1, dim2))
    flat = xp.reshape(moved, (*moved.shape[:-2], rows * columns))
    start = offset if offset >= 0 else -offset * columns
    every = getitem(xp, flat, (..., slice(start, start + length * (columns + 1), columns + 1)))
    return getitem(xp, every, (..., slice(0, length)))


_diagonal = view_operation(
    "diagonal", _diagonal_forward,
    lambda F, g, input_shape, offset, dim1, dim2: F.diagonal_backward(g, input_shape, offset, dim1, dim2),
)  # fmt: skip


@composite(kind=Kind.VIEW)
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """Return a view of the diagonal of dimensions `dim1` and `dim2`; it is the last dimension of the view.

    Args:
        input: a tensor of at least two dimensions.
        offset: the diagonal: 0 for the main one, positive above it, negative below.
        dim1, dim2: the dimensions of the matrices.

    Raises:
        RuntimeError: `dim1` and `dim2` are the same dimension.

    >>> torch.diagonal(torch.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    ndim = input._array.ndim
    dim1, dim2 = wrap_dim(dim1, ndim), wrap_dim(dim2, ndim)
    if dim1 == dim2:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return _diagonal(input, as_int("diagonal", "offset", offset), dim1, dim2)


def _diagonal_backward_forward(xp: Any, input: Any, /, shape: Any, offset: int, dim1: int, dim2: int) -> Any:
    rows, columns, length = shape[dim1], shape[dim2], input.shape[-1]
    row = xp.expand_dims(xp.arange(length) + max(-offset, 0), axis=1)
    at_row = xp.astype(row == xp.arange(rows), input.dtype)
    at_column = xp.astype(xp.expand_dims(xp.arange(length) + max(offset, 0), axis=1) == xp.arange(columns), input.dtype)
    spread = xp.matmul(xp.expand_dims(input, axis=-2) * xp.matrix_transpose(at_row), at_column)
    other_dims = [d for d in range(len(shape)) if d not in (dim1, dim2)]
    return xp.permute_dims(spread, inverse_permutation((*other_dims, dim1, dim2)))


op(
    "diagonal_backward", _diagonal_backward_forward,
    kind=Kind.MOVEMENT, public=False, method=False, out=False,
    input=lambda F, g, offset, dim1, dim2: F.diagonal(g, offset, dim1, dim2),
)  # fmt: skip
