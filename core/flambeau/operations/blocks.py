"""Grids, block matrices, stacking, splitting, diagonals, triangles, flips and rotations."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from ..engine.calls.arguments import Dims, as_int, as_python
from ..engine.calls.dispatch import require_dtype, whole_numbers
from ..engine.calls.facts import Autocast, Kind, Linearity, Narrow, Order, Overlap, declare, register
from ..engine.calls.node_names import with_grad_fn
from ..engine.calls.op import composite, op
from ..engine.calls.operands import filler
from ..engine.calls.record import Out
from ..engine.calls.signatures import with_args
from ..engine.calls.tables import PUBLIC
from ..engine.calls.transform_hooks import hooks
from ..engine.devices.state import state
from ..engine.devices.warning import warn_once
from ..engine.tensors.tensor import Tensor, attach
from ..engine.values import dtypes
from .creation.from_data import tensor
from .creation.from_shape import zeros
from .creation.options import OPTION_ARGS, finish
from .creation.ranges import arange
from .joining import cat, stack
from .padding import constant_pad
from .views.selecting import diagonal, split
from .views.views import as_shape, wrap_dim


def _tensors(tensors: tuple[Any, ...]) -> tuple[Tensor, ...]:
    return tuple(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors


# --- at least n dimensions ----------------------------------------------------------------------------------------


def _at_least(count: int) -> Any:
    def widen(t: Tensor) -> Tensor:
        if t.ndim == 0:
            return t.reshape((1,) * count)
        if t.ndim == 1 and count > 1:
            t = t.unsqueeze(0)
        return t.unsqueeze(-1) if t.ndim == 2 and count == 3 else t

    def function(*tensors: Tensor | Sequence[Tensor]) -> Any:
        if len(tensors) == 1 and isinstance(tensors[0], Tensor):
            return widen(tensors[0])
        return tuple(widen(x) for x in _tensors(tensors))

    function.__name__ = function.__qualname__ = f"atleast_{count}d"
    function.__doc__ = f"""Return the tensor, or each of several tensors, with at least {count} dimension{"s" * (count > 1)}.

    Args:
        *tensors: the tensors, as arguments or as one sequence. For more than one, the result is a tuple.

    >>> torch.atleast_{count}d(torch.tensor(1.0)).shape
    torch.Size({[1] * count})
    """
    return composite(function, method=False, kind=Kind.VIEW, home="torch.functional")


atleast_1d, atleast_2d, atleast_3d = (_at_least(count) for count in (1, 2, 3))

# --- stacking and splitting ---------------------------------------------------------------------------------------


@composite(method=False, out=Out.JOINED, kind=Kind.MOVEMENT)
def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Concatenate tensors along dimension 1, or along dimension 0 if they are vectors.

    Args:
        tensors: a nonempty sequence of tensors whose shapes match except in the joined dimension; 0-d tensors are treated as
            vectors.
        out: a tensor that the result is written to.

    >>> torch.hstack([torch.tensor([1, 2]), torch.tensor([3])])
    tensor([1, 2, 3])
    """
    if not tensors:
        raise RuntimeError("hstack expects a non-empty TensorList")
    wide = atleast_1d(*tensors) if len(tensors) > 1 else (atleast_1d(tensors[0]),)
    return cat(wide, 0 if wide[0].ndim == 1 else 1)


@composite(method=False, out=Out.JOINED, aliases=("row_stack",), kind=Kind.MOVEMENT)
def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """Concatenate tensors along dimension 0; vectors are rows.

    Args:
        tensors: tensors whose sizes match in all dimensions except the first.

    >>> torch.vstack([torch.tensor([1, 2]), torch.tensor([[3, 4]])])
    tensor([[1, 2],
            [3, 4]])
    """
    if not tensors:
        raise RuntimeError("vstack expects a non-empty TensorList")
    return cat([atleast_2d(x) for x in tensors], 0)


@composite(method=False, out=Out.JOINED, kind=Kind.MOVEMENT)
def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """Concatenate tensors along dimension 2, after they have been extended to 3 dimensions; see `atleast_3d`.

    Args:
        tensors: a nonempty sequence of tensors whose shapes match except in dimension 2.
        out: a tensor that the result is written to.

    >>> torch.dstack([torch.tensor([1, 2]), torch.tensor([3, 4])])
    tensor([[[1, 3],
             [2, 4]]])
    """
    if not tensors:
        raise RuntimeError("dstack expects a non-empty TensorList")
    return cat([atleast_3d(x) for x in tensors], 2)


@composite(method=False, out=Out.JOINED, kind=Kind.MOVEMENT)
def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Concatenate tensors along dimension 1; vectors are columns.

    Args:
        tensors: a nonempty sequence of tensors with the same number of rows.
        out: a tensor that the result is written to.

    >>> torch.column_stack([torch.tensor([1, 2]), torch.tensor([3, 4])])
    tensor([[1, 3],
            [2, 4]])
    """
    return hstack([x.reshape(-1, 1) if x.ndim < 2 else x for x in tensors])


@composite(
    kind=Kind.VIEW,
    schema=(
        "tensor_split.sections(Tensor(a -> *) self, SymInt sections, int dim=0) -> Tensor(a)[]",
        "tensor_split.indices(Tensor(a -> *) self, SymInt[] indices, int dim=0) -> Tensor(a)[]",
        "tensor_split.tensor_indices_or_sections(Tensor(a -> *) self, Tensor tensor_indices_or_sections, int dim=0) -> "
        "Tensor(a)[]",
    ),
)
def tensor_split(
    input: Tensor,
    indices_or_sections: Any = None,
    dim: int = 0,
    *,
    indices: Any = None,
    sections: Any = None,
    tensor_indices_or_sections: Tensor | None = None,
) -> Any:
    """Split `dim` into views: into N parts of nearly equal size, or at the given indices.

    Args:
        indices_or_sections: the number of parts, or the indices of the first slice of each part but the first.
        dim: the dimension to split.
        indices, sections, tensor_indices_or_sections: other names of `indices_or_sections`.

    Raises:
        RuntimeError: the number of parts is below 1.

    >>> torch.tensor_split(torch.arange(5), 2), torch.tensor_split(torch.arange(5), [1, 3])
    ((tensor([0, 1, 2]), tensor([3, 4])), (tensor([0]), tensor([1, 2]), tensor([3, 4])))
    """
    options = (indices_or_sections, indices, sections, tensor_indices_or_sections)
    indices_or_sections = next((option for option in options if option is not None), None)
    if indices_or_sections is None:
        raise TypeError("tensor_split() received an invalid combination of arguments: neither sections nor indices are given")
    if not input.ndim:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    length = input.shape[wrap_dim(dim, input.ndim)]
    if isinstance(indices_or_sections, Tensor):
        if indices_or_sections.ndim > 1:
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor, but got a "
                f"tensor with {indices_or_sections.ndim} dims"
            )
        if indices_or_sections.dtype is not dtypes.int64:
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to have dtype of long, but got "
                f"{indices_or_sections.dtype.legacy_name}"
            )
        indices_or_sections = indices_or_sections.tolist()
    if isinstance(indices_or_sections, (tuple, list)):
        bounds = [
            0,
            *(min(max(index + length if index < 0 else index, 0), length) for index in map(as_python, indices_or_sections)),
            length,
        ]
        return _narrow_parts(input, bounds, dim)
    count = (
        indices_or_sections if type(indices_or_sections) is int else whole_numbers("indices_or_sections", indices_or_sections)[0]
    )
    if count <= 0:
        raise RuntimeError(f"number of sections must be larger than 0, got {count}")
    return _narrow_parts(input, [i * (length // count) + min(i, length % count) for i in range(count + 1)], dim)


def _narrow_parts(input: Tensor, bounds: Sequence[int], dim: int) -> tuple[Tensor, ...]:
    """Return the slices between successive bounds as separate views. Unlike the results of `split`, they may be written to."""
    return tuple(input.narrow(dim, start, max(stop - start, 0)) for start, stop in itertools.pairwise(bounds))


def _split_evenly(name: str, input: Tensor, indices_or_sections: Any, dim: int) -> Any:
    """Call `tensor_split` with a list of indices, or with a number of parts that must divide the size of the dimension."""
    indices_or_sections = as_python(indices_or_sections)
    if not isinstance(indices_or_sections, (int, tuple, list)):
        raise TypeError(
            f"{name}(): argument 'indices' (position 2) must be tuple of ints, not {type(indices_or_sections).__name__}"
        )
    if isinstance(indices_or_sections, int) and (not indices_or_sections or input.shape[dim] % indices_or_sections):
        raise RuntimeError(
            f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension "
            f"{input.shape[dim]} is not divisible by the split_size {indices_or_sections}!"
        )
    return tensor_split(input, indices_or_sections, dim)


def _split_along(name: str, axis: int) -> None:
    def function(input: Tensor, *args: Any, indices: Any = None, sections: Any = None) -> Any:
        indices_or_sections = (args if len(args) > 1 else args[0]) if args else indices if sections is None else sections
        least = max(axis + 1, 2)
        if input.ndim < least:
            raise RuntimeError(
                f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor with {input.ndim} dimensions!"
            )
        return _split_evenly(name, input, indices_or_sections, axis)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""Split along dimension {axis} into views; see `tensor_split`.

    Args:
        indices: the indices of the first slice of each part but the first.
        sections: the number of parts, all of the same length.

    Raises:
        RuntimeError: the length is not divisible by the number of parts, or the tensor has too few dimensions.

    >>> torch.{name}(torch.ones(2, 2, 2), 2)[0].shape
    torch.Size({[1 if dim == axis else 2 for dim in (0, 1, 2)]})
    """
    composite(function, kind=Kind.VIEW, schema=_split_schemas(name))


def _split_schemas(name: str) -> tuple[str, str]:
    return (
        f"{name}.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]",
        f"{name}.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]",
    )


_split_along("vsplit", 0)
_split_along("dsplit", 2)


@composite(kind=Kind.VIEW, schema=_split_schemas("hsplit"))
def hsplit(input: Tensor, *args: Any, indices: Any = None, sections: Any = None) -> Any:
    """Split along dimension 1, or dimension 0 of a vector; see `tensor_split`.

    Args:
        input: a tensor of at least one dimension.
        *args: the number of parts, which must divide the size, or the indices at which the parts after the first begin.
        indices: keyword for the indices.
        sections: keyword for the number of parts.

    Raises:
        RuntimeError: the tensor is 0-d, or the size is not divisible by the number of parts.

    >>> torch.hsplit(torch.arange(4).reshape(2, 2), 2)
    (tensor([[0],
            [2]]), tensor([[1],
            [3]]))
    """
    indices_or_sections = (args if len(args) > 1 else args[0]) if args else indices if sections is None else sections
    if not input.ndim:
        raise RuntimeError("torch.hsplit requires a tensor with at least 1 dimension, but got a tensor with 0 dimensions!")
    return _split_evenly("hsplit", input, indices_or_sections, 0 if input.ndim == 1 else 1)


@composite(grad_fn="UnsafeSplitBackward0", kind=Kind.VIEW)
def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Split `dim` as `chunk` does, but autograd does not treat the parts as views: see `unsafe_split`.

    Args:
        chunks: the largest number of parts.
        dim: the dimension to split.

    >>> torch.unsafe_chunk(torch.arange(4), 2)
    (tensor([0, 1]), tensor([2, 3]))
    """
    return tuple(map(_untracked, input.chunk(chunks, dim)))


@composite(
    grad_fn="UnsafeSplitBackward0",
    kind=Kind.VIEW,
    schema="unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]",
)
def unsafe_split(input: Tensor, split_size: Dims, dim: int = 0) -> tuple[Tensor, ...]:
    """Split `dim` as `split` does, but autograd does not treat the parts as views.

    A write to a part does not change the history of `input` and of the other parts, although it changes their memory.

    Args:
        split_size: the length of each part, or a list of lengths.
        dim: the dimension to split.

    >>> torch.unsafe_split(torch.arange(3), 2)
    (tensor([0, 1]), tensor([2]))
    """
    return tuple(map(_untracked, split(input, split_size, dim)))


@composite(grad_fn="UnsafeSplitWithSizesBackward0", kind=Kind.VIEW)
def unsafe_split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Split `dim` as `split_with_sizes` does, but autograd does not treat the parts as views: see `unsafe_split`.

    Args:
        split_sizes: the lengths of the parts, whose sum is the length of `dim`.
        dim: the dimension to split.

    >>> torch.unsafe_split_with_sizes(torch.arange(3), [1, 2])
    (tensor([0]), tensor([1, 2]))
    """
    return tuple(map(_untracked, split(input, list(split_sizes), dim)))


def _untracked(part: Tensor) -> Tensor:
    """Return a tensor with the memory and history of `part`, but with a separate version counter, that is not a view."""
    result = part.data
    result._node, result._requires_grad = part._node, part._requires_grad
    if state.forward_levels:
        hooks.forward.copy(part, result)
    return result


# --- grids --------------------------------------------------------------------------------------------------------


@composite(
    method=False,
    kind=Kind.MOVEMENT,
    schema=("meshgrid(Tensor[] tensors) -> Tensor[]", "meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]"),
    home="torch.functional",
)
def meshgrid(*tensors: Tensor | Sequence[Tensor], indexing: str | None = None) -> tuple[Tensor, ...]:
    """Return the coordinates of a grid: each vector expanded along the dimensions of all others.

    With `indexing="ij"`, dimension `i` of the grid belongs to vector `i`; with "xy", the first two dimensions are swapped.

    Args:
        *tensors: vectors or 0-d tensors, as arguments or in one sequence.
        indexing: "ij" if dimension `i` of the results belongs to vector `i`, "xy" if the first two dimensions are swapped; None
            for "ij".

    >>> torch.meshgrid(torch.tensor([1, 2]), torch.tensor([3, 4, 5]), indexing="ij")[0].shape
    torch.Size([2, 3])
    """
    vectors = list(_tensors(tensors))
    if not vectors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    for vector in vectors:
        if vector.ndim > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got shape {list(vector.shape)}")
        if vector.dtype is not vectors[0].dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
        if vector.device != vectors[0].device:
            raise RuntimeError("meshgrid expects all tensors to have the same device")
    vectors = [vector.reshape(-1) for vector in vectors]
    if indexing is None:
        warn_once("torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.")
        indexing = "ij"
    if indexing not in ("ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    swap = indexing == "xy" and len(vectors) > 1
    if swap:
        vectors[0], vectors[1] = vectors[1], vectors[0]
    shape = [len(vector) for vector in vectors]
    grids = [
        vector.reshape([-1 if i == axis else 1 for i in range(len(vectors))]).expand(shape) for axis, vector in enumerate(vectors)
    ]
    if swap:
        grids[0], grids[1] = grids[1], grids[0]  # restore the order of the arguments
    return tuple(grids)


@composite(method=False, kind=Kind.MOVEMENT, home="torch.functional")
def cartesian_prod(*tensors: Tensor) -> Tensor:
    """Return all combinations of one element from each vector, one per row.

    Args:
        *tensors: vectors.

    Raises:
        RuntimeError: an argument is not a vector.

    >>> torch.cartesian_prod(torch.tensor([1, 2]), torch.tensor([4, 5]))
    tensor([[1, 4],
            [1, 5],
            [2, 4],
            [2, 5]])
    """
    for vector in tensors:
        if vector.ndim != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(vector.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    return stack([grid.reshape(-1) for grid in meshgrid(*tensors, indexing="ij")], 1)


@composite(method=False, grad_fn="StackBackward0", kind=Kind.MOVEMENT)
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """Return all combinations of `r` elements of a vector, one per row, in lexicographic order of position.

    Args:
        input: a vector.
        r: the number of elements in each combination.
        with_replacement: whether an element may occur several times in a combination.

    Raises:
        RuntimeError: `input` is not a vector, or `r` is negative.

    >>> torch.combinations(torch.tensor([1, 2, 3]))
    tensor([[1, 2],
            [1, 3],
            [2, 3]])
    """
    from .creation.from_data import tensor

    if input.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if not r:
        return input.new_empty(0)
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    places = [*itertools.chain.from_iterable(choose(range(len(input)), r))]
    return input[tensor(places, dtype=dtypes.int64, device=input.device).reshape(-1, r)]


@composite(method=False, grad_fn="BlockDiagBackward0", kind=Kind.MOVEMENT, autocast=Autocast.WHOLE, home="torch.functional")
def block_diag(*tensors: Tensor) -> Tensor:
    """Return one matrix with the given matrices along its diagonal, 0 elsewhere.

    Args:
        *tensors: tensors with at most two dimensions. Vectors are rows, and 0-d tensors are matrices with one element.

    Raises:
        RuntimeError: a tensor has more than two dimensions.

    >>> torch.block_diag(torch.tensor([[1, 2]]), torch.tensor(3))
    tensor([[1, 2, 0],
            [0, 0, 3]])
    """
    for index, matrix in enumerate(tensors):
        if matrix.ndim > 2:
            raise RuntimeError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {index} has {matrix.ndim} dimensions"
            )
    blocks = [atleast_2d(matrix) for matrix in tensors] or [zeros(1, 0)]
    width = sum(block.shape[1] for block in blocks)
    rows, before = [], 0
    for matrix in blocks:
        own = matrix.shape[1]
        rows.append(constant_pad(matrix, (before, width - before - own)))
        before += own
    return cat(rows, 0)


# --- diagonals ----------------------------------------------------------------------------------------------------


@composite(grad_fn="DiagEmbedBackward0", kind=Kind.MOVEMENT)
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Return matrices, in dimensions `dim1` and `dim2`, whose diagonal is the last dimension of `input`.

    Args:
        input: a tensor of at least one dimension.
        offset: the diagonal to fill: 0 for the main one, positive above it, negative below.
        dim1, dim2: the dimensions of the matrices in the result.

    Raises:
        RuntimeError: `dim1` and `dim2` are the same dimension.

    >>> torch.diag_embed(torch.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    ndim = input.ndim + 1
    first, second = wrap_dim(dim1, ndim), wrap_dim(dim2, ndim)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    size = input.shape[-1] + abs(as_int("diag_embed", "offset", offset))
    shape = list(input.shape[:-1])
    for dim in sorted((first, second)):
        shape.insert(dim, size)
    output = input.new_zeros(shape)
    diagonal(output, offset, first, second).copy_(input)
    return output


@with_grad_fn("DiagonalBackward0_copy")
def _diagonal_copy(input: Tensor, offset: int) -> Tensor:
    return input.diagonal(offset).clone()


@composite(out=Out.OWN_DTYPE | Out.RECORDED | Out.UNCHECKED, kind=Kind.MOVEMENT)
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """Return the matrix whose diagonal is the given vector, or the diagonal of the given matrix.

    Args:
        input: a vector or a matrix.
        diagonal: the diagonal: 0 for the main one, positive above it, negative below.
        out: a tensor that the result is written to.

    Raises:
        RuntimeError: `input` has another number of dimensions.

    >>> torch.diag(torch.tensor([1, 2])), torch.diag(torch.tensor([[1, 2], [3, 4]]))
    (tensor([[1, 0],
            [0, 2]]), tensor([1, 4]))
    """
    if input.ndim == 1:
        return diag_embed(input, diagonal)
    if input.ndim != 2:
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.ndim}D")
    return _diagonal_copy(input, diagonal)


@composite(kind=Kind.MOVEMENT)
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """Return a matrix whose diagonal holds all elements of `input`.

    Args:
        input: a tensor of any shape.
        offset: the diagonal to fill: 0 for the main one, positive above it, negative below.

    >>> torch.diagflat(torch.tensor([1, 2]), 1)
    tensor([[0, 1, 0],
            [0, 0, 2],
            [0, 0, 0]])
    """
    return diag_embed(input.reshape(-1), offset)


@composite(grad_fn="TraceBackward0", kind=Kind.REDUCTION, linearity=Linearity.JOINT, autocast={"cpu": Autocast.FLOAT32})
def trace(input: Tensor) -> Tensor:
    """Return the sum of the diagonal of a matrix."""
    if input.ndim != 2:
        raise RuntimeError("trace: expected a matrix")
    require_dtype("trace", input, "numbers")
    return input.diagonal().sum()


@declare("fill_diagonal_", kind=Kind.SCATTER)
def _fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Set the main diagonal to `fill_value`, in place.

    With `wrap`, the diagonal of a tall matrix restarts every `width + 1` rows.

    Args:
        fill_value: the number.
        wrap: whether the diagonal of a tall matrix continues.

    >>> torch.zeros(2, 2).fill_diagonal_(5)
    tensor([[5., 0.],
            [0., 5.]])
    """
    if self.ndim < 2:
        raise RuntimeError("dimensions must larger than 1")
    if self.ndim > 2 and len(set(self.shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    if wrap and self.ndim == 2:
        height, width = self.shape
        for start in range(0, height, width + 1):
            self[start:].diagonal().fill_(fill_value)
        return self
    places = arange(min(self.shape), device=self.device)
    self[(places,) * self.ndim] = filler(as_python(fill_value), self._key)
    return self


attach(fill_diagonal_=_fill_diagonal_)


# --- indices of triangles -----------------------------------------------------------------------------------------


def _triangle_indices(name: str, span: Any) -> None:
    def function(
        row: int,
        col: int,
        offset: int = 0,
        *,
        dtype: dtypes.dtype | None = None,
        layout: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        pin_memory: bool = False,
    ) -> Tensor:
        dtype = dtypes.int64 if dtype is None else dtypes.as_dtype(dtype)
        if dtype not in (dtypes.int32, dtypes.int64):
            raise NotImplementedError(f"\"{name}\" not implemented for '{dtype.legacy_name}'")
        for length, given in (("row", row), ("col", col)):
            if given < 0:
                raise RuntimeError(f"{length} must be non-negative, got{given}")
        result = tensor((), dtype=dtype, device=device)
        lines = arange(row, device=device if result._key.backend.has_data else "cpu")
        first, after = (edge.clamp(0, col) for edge in span(lines + offset, col))
        counts = after - first
        total = int(counts.sum())
        if result._key.backend.has_data:
            before = (counts.cumsum(0) - counts - first).repeat_interleave(counts, output_size=total)
            columns = arange(total, device=device) - before
            result = stack([lines.repeat_interleave(counts, output_size=total), columns]).to(dtype)
        else:
            result = result.new_empty(2, total)
        return finish(result, requires_grad, pin_memory=pin_memory)

    function.__name__ = function.__qualname__ = name
    side = "on and below" if name.startswith("tril") else "on and above"
    function.__doc__ = f"""Return the row and column indices {side} a diagonal of a `row` by `col` matrix, shape `(2, n)`.

    Args:
        row: the number of rows.
        col: the number of columns.
        offset: the diagonal: 0 for the main one, positive above it, negative below.
        dtype: int64 or int32; None for int64.

    >>> torch.{name}(2, 2)
    tensor([[0, {"1, 1" if name.startswith("tril") else "0, 1"}],
            [0, {"0, 1" if name.startswith("tril") else "1, 1"}]])
    """
    PUBLIC[name] = with_args(OPTION_ARGS)(function)
    register(name, {"kind": Kind.FACTORY})


# Each lambda returns, for each row, the first column of the triangle and the column after its last.
_triangle_indices("tril_indices", lambda diagonal, col: (diagonal * 0, diagonal + 1))
_triangle_indices("triu_indices", lambda diagonal, col: (diagonal, diagonal * 0 + col))


@composite(method=False, kind=Kind.POINTWISE, home="torch.functional")
def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """Convert indices into a flattened tensor of `shape` to one index tensor per dimension.

    Args:
        indices: an integer tensor.
        shape: the shape of the tensor that `indices` refer to.

    Raises:
        ValueError: a size is negative.
        TypeError: `indices` has another dtype.

    >>> torch.unravel_index(torch.tensor([1, 5]), (2, 3))
    (tensor([0, 1]), tensor([1, 2]))
    """
    shape = as_shape((shape,)) if not isinstance(shape, int) else (shape,)
    if indices.dtype.category != dtypes.INTEGER:
        raise TypeError(f"expected 'indices' to be an integer tensor, but got {indices.dtype}")
    if any(size < 0 for size in shape):
        raise ValueError(f"'shape' cannot have negative values, but got {shape}")
    if not shape:
        return ()
    strides = tensor([math.prod(shape[dim + 1 :]) for dim in range(len(shape))], device=indices.device)
    return (indices.long().unsqueeze(-1) // strides % tensor(shape, device=indices.device)).unbind(-1)


@composite(method=False)
def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """Return the Vandermonde matrix: row `i` holds the powers of `x[i]`.

    Args:
        x: a vector.
        N: the number of columns; None for the length of `x`.
        increasing: whether the powers go from 0 to `N - 1`; otherwise from `N - 1` to 0.

    >>> torch.vander(torch.tensor([2, 3]), increasing=True)
    tensor([[1, 2],
            [1, 3]])
    """
    if x.ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    if N is not None and N < 0:
        raise RuntimeError("N must be non-negative.")
    powers = arange(x.shape[0] if N is None else N, device=x.device)
    matrix = x.unsqueeze(1) ** powers
    return matrix if increasing else matrix.flip(1)


# --- flipping and rotating ----------------------------------------------------------------------------------------


@composite(kind=Kind.MOVEMENT)
def fliplr(input: Tensor) -> Tensor:
    """Reverse the order of the columns (dimension 1)."""
    if input.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return input.flip(1)


@composite(kind=Kind.MOVEMENT)
def flipud(input: Tensor) -> Tensor:
    """Reverse the order of the rows (dimension 0)."""
    if input.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return input.flip(0)


@composite(grad_fn="Rot90Backward0", kind=Kind.MOVEMENT)
def rot90(input: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """Rotate by `k` quarter turns from the first towards the second of `dims`.

    Args:
        k: the number of quarter turns; negative for the other direction.
        dims: the two dimensions of the plane.

    Raises:
        RuntimeError: `dims` has not two different dimensions, or `input` has fewer than two.

    >>> torch.rot90(torch.tensor([[1, 2], [3, 4]]))
    tensor([[2, 4],
            [1, 3]])
    """
    k = as_int("rot90", "k", k)
    if not isinstance(dims, (tuple, list)):
        raise TypeError(f"rot90(): argument 'dims' (position 2) must be tuple of ints, not {type(dims).__name__}")
    dims = whole_numbers("dims", dims)
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if input.ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input.ndim}")
    a, b = (wrap_dim(dim, input.ndim) for dim in dims)
    if a == b:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    k %= 4
    if k == 2:
        return input.flip(a, b)
    if k == 1:
        return input.flip(b).transpose(a, b)
    return input.flip(a).transpose(a, b) if k else input.clone()


def _triangle(name: str) -> Any:
    record = op(
        name,
        lambda xp, input, /, diagonal=0: getattr(xp, name)(input, k=diagonal),
        kind=Kind.MOVEMENT,
        narrow=Narrow.COMPLEX32,
        order=Order.ROW_MAJOR,
        overlap=Overlap.ALLOWED,
        public=False,
        method=False,
        input=lambda F, g, diagonal: getattr(F, name)(g, diagonal),
    )

    def function(input: Tensor, diagonal: int = 0) -> Tensor:
        if input.ndim < 2:
            raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
        return record(input, diagonal)

    function.__name__ = function.__qualname__ = name
    side = "lower" if name == "tril" else "upper"
    function.__doc__ = f"""Return the {side} triangle of matrices, the rest 0.

    Args:
        diagonal: the last diagonal of the triangle: 0 for the main one, positive above it, negative below.

    >>> torch.{name}(torch.ones(2, 2))
    tensor([[1., {int(name == "triu")}.],
            [{int(name == "tril")}., 1.]])
    """
    return composite(function, inplace=True, out=Out.OWN_DTYPE | Out.UNCHECKED)


tril, triu = _triangle("tril"), _triangle("triu")
