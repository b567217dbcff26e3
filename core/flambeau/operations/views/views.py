"""Views of the same memory with another shape or order of dimensions: reshape, permute, expand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from ...engine.calls.arguments import Dims
from ...engine.calls.facts import Kind, Linearity, Narrow
from ...engine.calls.op import composite, op
from ...engine.calls.signatures import missing
from ...engine.calls.transform_hooks import hooks
from ...engine.devices.devices import DispatchKey
from ...engine.devices.warning import warn_once
from ...engine.tape.fast_path import FAST
from ...engine.tape.node import rename_node
from ...engine.tensors.tensor import Tensor, attach
from ...engine.values import dtypes

__all__ = ["as_shape", "inferred_shape", "reshaped_copy", "wrap_dim"]


def wrap_dim(dim: int, ndim: int) -> int:
    """Convert `dim` to a non-negative dimension.  Raises IndexError if out of range; a 0-d tensor counts as one-dimensional."""
    limit = ndim or 1
    if type(dim) is not int:
        dim = _as_integer(dim, "dims")
    if not -limit <= dim < limit:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-limit}, {limit - 1}], but got {dim})")
    return dim + limit if dim < 0 else dim


def as_shape(sizes: tuple[Any, ...]) -> tuple[int, ...]:
    """Return a shape that was passed as `f(2, 3)` or as `f((2, 3))`; a bool counts as an int, except as the first size."""
    if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)):
        sizes = tuple(sizes[0])
    for size in sizes:
        if type(size) is not int:
            return (_as_integer(sizes[0]), *(int(size) if type(size) is bool else _as_integer(size) for size in sizes[1:]))
    return sizes


def _as_integer(value: Any, what: str = "sizes") -> int:
    if type(value) is bool or not hasattr(value, "__index__"):
        raise TypeError(f"{what} must be ints, but found element of type {type(value).__name__}")
    return value.__index__()  # type: ignore[no-any-return]


def sizes_given(first: Any, rest: tuple[Any, ...]) -> tuple[int, ...]:
    """Return the shape that a call of a function `f(size, *rest)` gives: `f(2, 3)`, `f((2, 3))` or `f(size=(2, 3))`."""
    return as_shape((first, *rest) if rest else (first,))


def _check_sizes(shape: Sequence[int], least: int) -> None:
    for position, size in enumerate(shape):
        if size < least:
            raise RuntimeError(f"invalid shape dimension {size} at index {position} of shape {list(shape)}")


def inferred_shape(shape: Sequence[int], old_shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return `shape` with -1 replaced by the inferred size.  Raises RuntimeError if the numbers of elements differ."""
    numel = prod(old_shape)
    if -1 not in shape:
        if prod(shape) != numel:
            raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")
        return tuple(shape)
    known = prod(size for size in shape if size != -1)
    if list(shape).count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred")
    if known == 0 and numel == 0:
        raise RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified dimension "
            "size -1 can be any value and is ambiguous"
        )
    if known <= 0 or numel % known:
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")
    return tuple(numel // known if size == -1 else size for size in shape)


def view_operation(name: str, forward: Any, rule: Any, **options: Any) -> Callable[..., Tensor]:
    return op(name, forward, view=True, input=rule, **({"kind": Kind.VIEW, "public": False, "method": False} | options))


# --- shapes -------------------------------------------------------------------------------------------------------

_reshaped = view_operation(
    "view", lambda xp, input, /, shape: xp.reshape(input, shape),
    lambda F, g, input_shape: F.reshape(g, input_shape), method=False,
    schema=("view(Tensor(a) self, SymInt[] size) -> Tensor(a)", "view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)"),
)  # fmt: skip
reshaped_copy: Callable[..., Tensor] = op(
    "reshape", lambda xp, input, /, shape: xp.reshape(input, shape),
    kind=Kind.VIEW, public=False, method=False, out=False,
    grad_fn="UnsafeViewBackward0", input=lambda F, g, input_shape: F.reshape(g, input_shape),
)  # fmt: skip


def _cannot_view(input: Tensor) -> RuntimeError:
    return RuntimeError(
        "view size is not compatible with input tensor's size and stride (at least one dimension spans across "
        "two contiguous subspaces). Use .reshape(...) instead."
    )


@composite(method=False)
def reshape(input: Tensor, shape: Sequence[int]) -> Tensor:
    """Return the same elements in another shape, as a view if possible, else a copy.

    Args:
        shape: the sizes of the result; one may be -1, and is then inferred.

    Raises:
        RuntimeError: the numbers of elements differ.

    >>> torch.arange(4).reshape(2, -1)
    tensor([[0, 1],
            [2, 3]])
    """
    return _reshape_method(input, shape)


def _reshape_method(self: Tensor, shape: Any, *rest: Any) -> Tensor:
    new_shape = as_shape((shape, *rest))
    if new_shape and min(new_shape) < -1:
        _check_sizes(new_shape, -1)
    array, backend = self._array, self._key.backend
    if type(self) in FAST and type(self._key) is DispatchKey and not backend.is_contiguous(array):
        shape = inferred_shape(new_shape, array.shape)
        if not _can_view(array.shape, backend.strides(array), shape):
            return reshaped_copy(self, shape)
    try:
        return _reshaped(self, new_shape)
    except RuntimeError:
        return reshaped_copy(self, inferred_shape(new_shape, array.shape))


def _can_view(sizes: Sequence[int], strides: Sequence[int], shape: Sequence[int]) -> bool:
    """Whether a view can have this `shape`: the elements along each of its dimensions must be evenly spaced in memory."""
    blocks, following = [1], None  # sizes of the blocks of evenly spaced elements, from the last dimension to the first
    for n, step in zip(reversed(sizes), reversed(strides), strict=True):
        if n == 1:
            continue
        if following is not None and step != following:
            blocks.append(1)
        blocks[-1] *= n
        following = n * step
    remaining, covered = iter(blocks), 1
    block = next(remaining)
    for n in reversed(shape):
        covered *= n
        if covered == block:
            block, covered = next(remaining, 1), 1
        elif n != 1 and (not covered or block % covered):
            return False
    return True


def _view_method(self: Tensor, size: Any = None, *rest: Any, dtype: Any = None) -> Tensor:
    """Return a view with another shape or, given a dtype, a view of the bits as that dtype.

    Args:
        size: the shape: integers, or one sequence of them; or the dtype.
        dtype: the dtype.

    Raises:
        RuntimeError: the number of elements differs, or the strides do not allow a view of this shape.

    >>> torch.arange(4).view(2, 2)
    tensor([[0, 1],
            [2, 3]])
    """
    if size is None or type(size) is dtypes.dtype:
        return _view_dtype(self, dtype or size)
    new_shape = as_shape((size, *rest))
    if new_shape and min(new_shape) < -1:
        _check_sizes(new_shape, -1)
    try:
        return _reshaped(self, new_shape)
    except RuntimeError as error:
        if self._key.wraps:  # the error of a class
            raise
        inferred_shape(new_shape, self._array.shape)  # this call raises an error if the number of elements differs
        self._key.materialize(self)  # this call raises an error if the memory of the tensor is too small
        raise _cannot_view(self) from error


_reshape_method.__doc__ = reshape.__doc__
attach(view=_view_method, reshape=_reshape_method)


def _view_dtype(input: Tensor, dtype: dtypes.dtype | None) -> Tensor:
    if dtype is None:
        raise TypeError("view() received an invalid combination of arguments: neither a size nor a dtype is given")
    if input._key.wraps:
        return hooks.call_aten_operator("view", (input, dtype), {})  # type: ignore[no-any-return]  # what a class returns
    from ...engine.calls.results import view_of
    from ...engine.calls.tables import OPS
    from ...engine.devices.devices import dispatch_key

    if input._key.materialized is not input._key:
        kind = "conjugate view tensors" if input.is_conj() else "tensors with negative bit set"
        raise RuntimeError(f"torch.Tensor.view is not supported for {kind} when converting to a different dtype.")
    key = dispatch_key(dtype, input.device)
    backend = key.backend
    try:
        array = backend.reinterpret(input._array, dtype)
    except ValueError as error:
        raise RuntimeError(
            f"self.stride(-1) must be 1 to view {input.dtype} as {dtype} (different element sizes), but got "
            f"{input.stride(-1) if input.ndim else 0}"
        ) from error
    if backend.mutable:
        return view_of(array, key, None, input, ())  # type: ignore[arg-type]  # not a recorded operation
    return view_of(array, key, OPS["view_dtype"], input, (dtype, backend))


op(
    "view_dtype",
    lambda xp, input, /, dtype, backend: backend.reinterpret(input, dtype),
    kind=Kind.VIEW,
    moves=False,
    narrow=Narrow.ALL,
    view=True,
    public=False,
    method=False,
)


@composite(kind=Kind.VIEW)
def view_as(input: Tensor, other: Tensor) -> Tensor:
    """Return `input.view(other.size())`.

    Args:
        other: a tensor with the number of elements of `input`.
    """
    return _view_method(input, other.shape)


@composite(kind=Kind.VIEW)
def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    """Return `input.reshape(other.size())`.

    Args:
        other: a tensor with the number of elements of `input`.
    """
    return _reshape_method(input, other.shape)


def _expand_forward(xp: Any, input: Any, /, shape: tuple[int, ...]) -> Any:
    if prod(shape) == prod(input.shape):  # no element is repeated, so the view may be written to
        return xp.reshape(input, shape)
    return xp.broadcast_to(input, shape)


_expanded = view_operation("expand", _expand_forward, lambda F, g: g)  # the engine sums the gradient over the expanded dimensions


def _expand_method(self: Tensor, size: Any, *rest: Any, implicit: bool = False) -> Tensor:
    """Return a view with dimensions of size 1 expanded and new dimensions added at the front; -1 keeps a size.

    Args:
        size: the shape: integers, or one sequence of them.
        implicit: without effect.

    Raises:
        RuntimeError: a size differs from one that is not 1.

    >>> torch.tensor([[1], [2]]).expand(-1, 2)
    tensor([[1, 1],
            [2, 2]])
    """
    shape, own_shape = sizes_given(size, rest), self._array.shape
    extra = len(shape) - len(own_shape)
    if extra < 0:
        raise RuntimeError(
            f"expand(torch.{self.type().split('.')[-1]}{{{list(own_shape)}}}, size={list(shape)}): the number of "
            f"sizes provided ({len(shape)}) must be greater or equal to the number of dimensions in the tensor "
            f"({len(own_shape)})"
        )
    result = []
    for dim, new in enumerate(shape):
        old = own_shape[dim - extra] if dim >= extra else 1
        if new == -1:
            if dim < extra:
                raise RuntimeError(
                    f"The expanded size of the tensor ({new}) isn't allowed in a leading, non-existing dimension {dim}"
                )
            new = old
        elif old not in (1, new):
            raise RuntimeError(
                f"The expanded size of the tensor ({new}) must match the existing size ({old}) at "
                f"non-singleton dimension {dim}.  Target sizes: {list(shape)}.  Tensor sizes: "
                f"{list(own_shape)}"
            )
        result.append(new)
    return _expanded(self, tuple(result))


attach(expand=_expand_method)


@composite(kind=Kind.VIEW)
def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """Return `input.expand(other.size())`.

    Args:
        input: a tensor of any shape.
        other: a tensor to whose shape `input` can be broadcast.

    Raises:
        RuntimeError: the shapes do not fit.

    >>> torch.tensor([1, 2]).expand_as(torch.ones(2, 2))
    tensor([[1, 2],
            [1, 2]])
    """
    return _expand_method(input, other.shape)


@composite(method=False, kind=Kind.VIEW)
def broadcast_to(input: Tensor, size: Sequence[int]) -> Tensor:
    """Return a view broadcast to the shape `size`.

    Args:
        input: a tensor of any shape.
        size: the shape of the result; dimensions of size 1 are repeated, and new dimensions are added in front.

    Raises:
        RuntimeError: the shape does not fit.

    >>> torch.broadcast_to(torch.tensor([1, 2]), (2, 2))
    tensor([[1, 2],
            [1, 2]])
    """
    return _expand_method(input, size)


def _broadcast_to_method(self: Tensor, size: Any, *rest: Any) -> Tensor:
    return _expand_method(self, size, *rest)


_broadcast_to_method.__doc__ = broadcast_to.__doc__
attach(broadcast_to=_broadcast_to_method)


@composite(method=False, kind=Kind.VIEW, home="torch.functional")
def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Expand the tensors to their common shape.

    Args:
        *tensors: tensors whose shapes can be broadcast.

    Raises:
        RuntimeError: the shapes do not fit.

    >>> [x.shape for x in torch.broadcast_tensors(torch.ones(2, 1), torch.ones(3))]
    [torch.Size([2, 3]), torch.Size([2, 3])]
    """
    from ...engine.calls.dispatch import common_shape

    shape = common_shape(*(tensor.shape for tensor in tensors))
    return tuple(tensor if tensor._array.shape == shape else _expand_method(tensor, shape) for tensor in tensors)


def _squeeze_call(input: Tensor, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Return the call of PyTorch's operator, with the removed dimensions."""
    removed: list[int] = []
    for dim, size in enumerate(input.shape):
        if size == 1 and shape[dim - len(removed) : dim - len(removed) + 1] != (1,):
            removed.append(dim)
    return "squeeze", input, removed[0] if len(removed) == 1 else removed


_squeezed = view_operation(
    "squeeze", lambda xp, input, /, shape: xp.reshape(input, shape), lambda F, g, input_shape: F.reshape(g, input_shape),
    dispatches=_squeeze_call,
)  # fmt: skip
_unsqueezed = view_operation(
    "unsqueeze", lambda xp, input, /, dim: xp.expand_dims(input, axis=dim), lambda F, g, input_shape: F.reshape(g, input_shape)
)


@composite(
    kind=Kind.VIEW,
    schema=(
        "squeeze(Tensor(a) self) -> Tensor(a)",
        "squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)",
        "squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)",
    ),
)
def squeeze(input: Tensor, dim: Dims | None = None, *, axis: Dims | None = None) -> Tensor:
    """Return a view without the dimensions of size 1, or only without those in `dim` (an int or a tuple).

    Args:
        dim: one dimension or several; None for all. Dimensions of another size are kept.
        axis: another name of `dim`.

    >>> torch.zeros(1, 2, 1).squeeze().shape, torch.zeros(1, 2, 1).squeeze(0).shape
    (torch.Size([2]), torch.Size([2, 1]))
    """
    if axis is not None:
        dim = axis
    shape = input._array.shape
    dims = (
        range(len(shape))
        if dim is None
        else [wrap_dim(d, len(shape)) for d in (dim if isinstance(dim, (tuple, list)) else (dim,))]
    )
    for d in dims if len(dims) > 1 and dim is not None else ():
        if dims.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    new_shape = tuple(size for i, size in enumerate(shape) if size != 1 or i not in dims)
    return rename_node(
        _squeezed(input, new_shape), f"SqueezeBackward{0 if dim is None else 2 if isinstance(dim, (tuple, list)) else 1}"
    )


@composite(kind=Kind.VIEW, schema="unsqueeze(Tensor(a) self, int dim) -> Tensor(a)")
def unsqueeze(input: Tensor, dim: int | None = None, *, axis: int | None = None) -> Tensor:
    """Return a view with a new dimension of size 1 at `dim`.

    Args:
        dim: the index of the new dimension in the result.
        axis: another name of `dim`.

    >>> torch.zeros(2).unsqueeze(1).shape
    torch.Size([2, 1])
    """
    if dim is None:
        if axis is None:
            raise missing("unsqueeze", "dim")
        dim = axis
    return _unsqueezed(input, wrap_dim(dim, input._array.ndim + 1))


@composite(kind=Kind.VIEW, schema="flatten.using_ints")
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Merge dimensions `start_dim` to `end_dim` into one; the result is a view if possible.

    Args:
        input: a tensor of any shape.
        start_dim: the first dimension to merge.
        end_dim: the last dimension to merge.

    Raises:
        RuntimeError: `start_dim` comes after `end_dim`.

    >>> torch.zeros(2, 3, 4).flatten(1).shape
    torch.Size([2, 12])
    """
    shape = input._array.shape
    start, end = wrap_dim(start_dim, len(shape)), wrap_dim(end_dim, len(shape))
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not shape:
        return _reshape_method(input, (1,))
    if start == end:
        return input
    return _reshape_method(input, (*shape[:start], prod(shape[start : end + 1]), *shape[end + 1 :]))


@composite(kind=Kind.VIEW, schema="unflatten.int")
def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """Split dimension `dim` into `sizes`; one size may be -1.

    Args:
        dim: the dimension to split.
        sizes: the new sizes, whose product is the size of `dim`.

    Raises:
        RuntimeError: the product of `sizes` is another number.

    >>> torch.zeros(2, 6).unflatten(1, (3, -1)).shape
    torch.Size([2, 3, 2])
    """
    shape = input._array.shape
    dim = wrap_dim(dim, len(shape))
    sizes = as_shape((sizes,))
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    try:
        sizes = inferred_shape(sizes, (shape[dim],))
    except RuntimeError:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} ({shape[dim]}) "
            "in the input tensor"
        ) from None
    return _reshape_method(input, shape[:dim] + tuple(sizes) + shape[dim + 1 :])


@composite(kind=Kind.VIEW)
def ravel(input: Tensor) -> Tensor:
    """Return all elements as a contiguous vector."""
    return _reshape_method(input.contiguous(), (-1,))


# --- order of dimensions ------------------------------------------------------------------------------------------


def inverse_permutation(dims: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted(range(len(dims)), key=dims.__getitem__))


_permuted = view_operation(
    "permute", lambda xp, input, /, dims: xp.permute_dims(input, dims), lambda F, g, dims: F.permute(g, inverse_permutation(dims))
)


@composite(method=False, kind=Kind.VIEW)
def permute(input: Tensor, dims: Sequence[int]) -> Tensor:
    """Return a view with the dimensions in the order `dims`.

    Args:
        dims: all dimensions of `input`, in the order of the result.

    Raises:
        RuntimeError: `dims` is not a permutation of the dimensions.

    >>> torch.permute(torch.zeros(2, 3, 4), (2, 0, 1)).shape
    torch.Size([4, 2, 3])
    """
    return _permute_method(input, dims)


def _permute_method(self: Tensor, dims: Any, *rest: Any) -> Tensor:
    ndim = self._array.ndim
    dims = sizes_given(dims, rest)
    if len(dims) != ndim:
        raise RuntimeError(
            f"permute(sparse_coo): number of dimensions in the tensor input does not match the length of the "
            f"desired ordering of dimensions i.e. input.dim() = {ndim} is not equal to "
            f"len(dims) = {len(dims)}"
        )
    order = tuple([wrap_dim(d, ndim) for d in dims])
    if len(set(order)) != ndim:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return _permuted(self, order)


_permute_method.__doc__ = permute.__doc__
attach(permute=_permute_method)


def _transpose_forward(xp: Any, input: Any, /, dim0: int, dim1: int) -> Any:
    order = list(range(input.ndim))
    order[dim0], order[dim1] = order[dim1], order[dim0]
    return xp.permute_dims(input, tuple(order))


_transposed = view_operation("transpose", _transpose_forward, lambda F, g, dim0, dim1: F.transpose(g, dim0, dim1))
_t = view_operation("t", lambda xp, input: xp.permute_dims(input, tuple(range(input.ndim))[::-1]), lambda F, g: F.t(g))


@composite(aliases=("swapdims",), kind=Kind.VIEW, schema="transpose.int")
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Return a view with two dimensions swapped.

    Args:
        dim0, dim1: the dimensions to swap.

    >>> torch.transpose(torch.zeros(2, 3), 0, 1).shape
    torch.Size([3, 2])
    """
    ndim = input._array.ndim
    dim0, dim1 = wrap_dim(dim0, ndim), wrap_dim(dim1, ndim)
    return _transposed(input, dim0, dim1) if ndim else input


@composite(kind=Kind.VIEW)
def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """Return a view with two dimensions swapped; another name of `transpose`.

    Args:
        axis0, axis1: the dimensions to swap.
    """
    return transpose(input, axis0, axis1)


@composite(kind=Kind.VIEW)
def t(input: Tensor) -> Tensor:
    """Return a view of the transpose of a matrix; vectors and 0-d tensors are unchanged."""
    if input._array.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input._array.ndim}D")
    return _t(input)


def _reversed_dims(self: Tensor) -> Tensor:
    """Return a view with the dimensions in reverse order; for a matrix, this is the transpose."""
    ndim = self._array.ndim
    if not ndim:
        _warn_of_number("T")
    elif ndim != 2:
        warn_once(
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will throw "
            "an error in a future release. Consider `x.mT` to transpose batches of matrices or "
            "`x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions of a tensor."
        )
    return _permuted(self, tuple(range(ndim))[::-1])


def _warn_of_number(name: str) -> None:
    warn_once(f"Tensor.{name} is deprecated on 0-D tensors. This function is the identity in these cases.")


def _matrix_transpose(self: Tensor, name: str = "mT") -> Tensor:
    """Return a view with the last two dimensions swapped."""
    ndim = self._array.ndim
    if ndim == 1:
        raise RuntimeError(f"tensor.{name} is only supported on matrices or batches of matrices. Got 1-D tensor.")
    if not ndim:
        _warn_of_number(name)
        return _permuted(self, ())
    return transpose(self, -2, -1)


def _transposed_conjugate(self: Tensor) -> Tensor:
    """Return the conjugate transpose of a matrix."""
    ndim = self._array.ndim
    if ndim not in (0, 2):
        more = " For batches of matrices, consider using tensor.mH" if ndim > 2 else ""
        raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {ndim}-D tensor.{more}")
    return _matrix_transpose(self, "H").conj()


attach(T=property(_reversed_dims))
attach(mT=property(_matrix_transpose))
attach(H=property(_transposed_conjugate))
attach(
    mH=property(
        lambda self: _matrix_transpose(self, "mH").conj(), doc="Return the conjugate transpose of matrices: `x.mT.conj()`."
    )
)


@composite(kind=Kind.VIEW)
def adjoint(input: Tensor) -> Tensor:
    """Return the conjugate transpose of matrices."""
    return _matrix_transpose(input).conj()


@composite(
    aliases=("moveaxis",),
    kind=Kind.VIEW,
    schema=(
        "movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)",
        "movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)",
    ),
)
def movedim(input: Tensor, source: Dims, destination: Dims) -> Tensor:
    """Return a view with dimensions `source` moved to `destination`; the others keep their order.

    Args:
        source: one dimension or several, which are moved.
        destination: their positions in the result.

    Raises:
        RuntimeError: the numbers of dimensions differ, or a dimension is repeated.

    >>> torch.movedim(torch.zeros(2, 3, 4), 0, 2).shape
    torch.Size([3, 4, 2])
    """
    ndim = input._array.ndim
    several = isinstance(source, (tuple, list))
    if several is not isinstance(destination, (tuple, list)):
        raise TypeError(
            "movedim(): arguments 'source' and 'destination' must be two ints or two tuples of ints, not "
            f"{type(source).__name__} and {type(destination).__name__}"
        )
    source, destination = (list(source), list(destination)) if several else ([source], [destination])
    if len(source) != len(destination):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({source} dims) should contain the same "
            f"number of dims as destination ({destination} dims)"
        )
    source, destination = ([wrap_dim(d, ndim) for d in dims] for dims in (source, destination))
    for name, axes in (("source", source), ("destination", destination)):
        if len(set(axes)) != len(axes):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({axes})")
    if not ndim:
        return _permuted(input, ())
    order = [-1] * ndim
    for s, d in zip(source, destination, strict=True):
        order[d] = s
    remaining = iter(d for d in range(ndim) if d not in source)
    return _permuted(input, tuple(next(remaining) if d == -1 else d for d in order))


@composite(kind=Kind.REDUCTION, linearity=Linearity.JOINT)
def sum_to_size(input: Tensor, size: Any, *rest: Any) -> Tensor:
    """Sum over dimensions so that the result has the shape `size`, which must be broadcastable to the tensor's shape.

    Args:
        size: the shape: integers, or one sequence of them.

    >>> torch.ones(2, 3).sum_to_size(1, 3)
    tensor([[2., 2., 2.]])
    """
    from ...engine.calls.dispatch import common_shape
    from ...engine.tape.engine import sum_to_size as summed

    shape = sizes_given(size, rest)
    try:
        fits = tuple(common_shape(shape, input.shape)) == tuple(input.shape)
    except RuntimeError:
        fits = False
    if not fits:
        raise RuntimeError(f"size {{{list(shape)}}} is not expandable to size {{{list(input.shape)}}}.")
    if not shape:
        return input.sum()
    return summed(input, shape)  # type: ignore[no-any-return]  # of any backend


# --- results that depend on another tensor with a zero derivative ---

op(
    "zeros_of",
    lambda xp, input, /, shape: xp.zeros(shape, dtype=input.dtype),
    kind=Kind.VIEW,
    public=False,
    method=False,
    out=False,
)
tied: Callable[..., Tensor] = op(
    "tied", lambda xp, input, to: input,
    kind=Kind.VIEW, keeps_dtype=("to",), public=False, method=False, out=False,
    doc="Return `input`, recorded as depending on `to` with a zero derivative: PyTorch's graphs have such edges.",
    input=lambda F, g: g, to=lambda F, g, to_shape: F.zeros_of(g, to_shape),
)  # fmt: skip
with_tied_gradient: Callable[..., Tensor] = op(
    "with_tied_gradient", lambda xp, input: input, public=False, method=False, out=False,
    doc="Return `input`; its gradient is recorded as depending on `input` with a zero derivative (see `tied`).",
    input=lambda F, g, input: F.tied(g, input),
)  # fmt: skip
