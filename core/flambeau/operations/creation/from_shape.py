"""Create tensors from a shape; fill tensors with one number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from itertools import pairwise
from math import prod
from typing import Any

from ...engine.calls import overriding
from ...engine.calls.arguments import Number
from ...engine.calls.dispatch import refuse_size
from ...engine.calls.facts import FACTORY_OPTIONS, Kind, Linearity, Overlap, declare, register
from ...engine.calls.inplace import is_plain
from ...engine.calls.op import composite
from ...engine.calls.operands import constant, filler
from ...engine.calls.overriding import may_override, offer_method
from ...engine.calls.signatures import add_args, with_args
from ...engine.calls.tables import PUBLIC
from ...engine.calls.transform_hooks import hooks
from ...engine.calls.wrappers import as_method
from ...engine.devices.devices import DispatchKey, dispatch_key
from ...engine.devices.mapping import map_file
from ...engine.tape.fast_path import FAST
from ...engine.tensors.memory_format import memory_order
from ...engine.tensors.tensor import Tensor, attach, wrap
from ...engine.values import dtypes
from ...engine.values.constants import jagged, strided
from ...engine.values.dtypes import dtype as Dtype
from ...engine.values.scalars import converted, is_library_scalar
from ..conversion import write_over
from ..views.views import as_shape
from .from_data import NUMBERS, frombuffer, tensor
from .options import (
    FACTORY_ARGS,
    LIKE_ARGS,
    NEW_ARGS,
    OPTION_ARGS,
    SIZE_ARGS,
    as_device,
    dtype_of_out,
    finish,
    key_for,
    plain_shape,
)

__all__ = [
    "empty", "empty_like", "empty_permuted", "empty_strided", "eye", "from_file", "full", "full_like", "ones", "ones_like",
    "require_memory", "scalar_tensor", "zeros", "zeros_like",
]  # fmt: skip

_LARGE = 2**24  # number of elements from which an allocation costs little, compared with computing the elements


# --- from a shape -------------------------------------------------------------------------------------------------


def _filled(name: str, doc: str, make: Callable[[DispatchKey, tuple[int, ...]], Any]) -> Callable[..., Tensor]:
    """Return a factory function `name(*size)` with PyTorch's options; `make` creates its array."""

    def factory(
        *size: Any,
        out: Tensor | None = None,
        dtype: Dtype | None = None,
        layout: Any = None,
        device: Any = None,
        requires_grad: bool | None = False,
        pin_memory: bool | None = False,
        memory_format: Any = None,
    ) -> Tensor:
        key = key_for(dtype, device, dtype_of_out(out))
        shape = checked_shape(name, size)
        if layout is not None and layout is not strided:
            if out is not None and out.layout is not layout:
                raise RuntimeError(f"layout {layout} does not match layout of out parameter ({out.layout})")
            if name not in ("zeros", "empty"):
                raise RuntimeError(f"{name}(): not implemented for layout {layout}; to_sparse() makes a dense tensor sparse")
            return hooks.sparse("empty")(shape, layout, key).requires_grad_(bool(requires_grad))  # type: ignore[no-any-return]  # a tensor
        array = make(key, shape) if memory_format is None else _in_order(memory_format.order(len(shape)), shape, key, make)
        result = wrap(array, key)
        return finish(result, requires_grad, out, pin_memory)

    args = f"{SIZE_ARGS}\n    memory_format: the order of the dimensions in memory; None for row-major."
    return publish_factory(name, doc, args, factory, lambda key, shape: wrap(make(key, shape), key))


def checked_shape(name: str, size: tuple[Any, ...]) -> tuple[int, ...]:
    if not size:
        raise TypeError(f'{name}() missing 1 required positional arguments: "size"')
    shape = plain_shape(size)
    if shape is not None:
        return shape
    try:
        shape = as_shape(size)
    except TypeError as error:
        raise TypeError(f"{name}(): argument 'size' (position 1) must be tuple of ints: {error}") from error
    if shape and min(shape) < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}")
    return shape


def require_memory(input: Tensor, shape: Sequence[int]) -> None:
    """Raise PyTorch's error if a result of this shape, with the dtype and device of `input`, cannot be allocated.

    For operations that compute positions or weights for each element before their result is allocated.
    """
    if prod(shape) > _LARGE:
        PUBLIC["empty"](shape, dtype=input.dtype, device=input.device)


def publish_factory(
    name: str,
    doc: str,
    args: str,
    factory: Callable[..., Tensor],
    default_factory: Callable[[DispatchKey, tuple[int, ...]], Tensor] | None = None,
    kind: Kind = Kind.FACTORY,
) -> Callable[..., Tensor]:
    """Register a factory function and return its public form.

    Args:
        name, doc: the name of the factory function, and its docstring without the `Args:` section.
        args: the lines of the `Args:` section.
        factory: the function, with all options.
        default_factory: for a factory of `*size`, a faster function of a dispatch key and a shape; it is called instead when no
            option is given.
        kind: the kind of operation.
    """
    factory.__name__ = factory.__qualname__ = name
    factory.__doc__ = add_args(doc, args)
    register(name, {"kind": kind})
    PUBLIC[name] = factory if default_factory is None else _open_to_modes(name, factory, default_factory)
    return PUBLIC[name]


def _open_to_modes(
    name: str, factory: Callable[..., Any], default_factory: Callable[[DispatchKey, tuple[int, ...]], Tensor]
) -> Callable[..., Any]:
    """Wrap a factory of `*size` so that a TorchFunctionMode can override it, though it has no tensor arguments."""

    @wraps(factory)
    def create(*args: Any, **kwargs: Any) -> Any:
        if FAST and args and not kwargs:
            shape = plain_shape(args)
            if shape is not None:
                try:
                    return default_factory(dispatch_key(dtypes.get_default_dtype()), shape)
                except Exception as error:
                    refuse_size(error, *args)
                    raise
        if not FAST and overriding.should_offer((), name=name):
            return overriding.handle_torch_function(create, (), *args, **kwargs)
        if kwargs and "size" in kwargs:
            args = (*args, kwargs.pop("size"))
        try:
            return factory(*args, **kwargs) if kwargs else factory(*args)
        except Exception as error:
            if overriding.may_override([*args, *kwargs.values()]):
                return overriding.handle_torch_function(create, overriding.relevant([*args, *kwargs.values()]), *args, **kwargs)
            refuse_size(error, *args)
            raise

    create.__dict__["__body__"] = factory
    return create


def _xp_filled(function: str) -> Callable[[DispatchKey, tuple[int, ...]], Any]:
    return lambda key, shape: getattr(key.backend.namespace_on(key.device.index), function)(shape, dtype=key.raw_dtype)


zeros = _filled(
    "zeros",
    """Return a tensor of zeros.

    >>> torch.zeros(2, 3)
    tensor([[0., 0., 0.],
            [0., 0., 0.]])
    """,
    _xp_filled("zeros"),
)
ones = _filled(
    "ones",
    """Return a tensor of ones.

    >>> torch.ones((2,), dtype=torch.int64)
    tensor([1, 1])
    """,
    _xp_filled("ones"),
)
empty = declare(schema=f"empty.memory_format(SymInt[] size, *, {FACTORY_OPTIONS}, MemoryFormat? memory_format=None) -> Tensor")(
    _filled("empty", "Return an uninitialised tensor.", _xp_filled("empty"))
)


def _options(like: Tensor, dtype: Dtype | None, device: Any) -> DispatchKey:
    if dtype is not None and type(dtype) is not Dtype:
        dtype = dtypes.as_dtype(dtype)
    return dispatch_key(dtype or like.dtype, as_device(device) or like.device)


def _like(name: str, doc: str, make: Callable[[DispatchKey, tuple[int, ...]], Any]) -> Callable[..., Tensor]:
    def factory(
        input: Tensor,
        *,
        dtype: Dtype | None = None,
        layout: Any = None,
        device: Any = None,
        requires_grad: bool | None = False,
        memory_format: Any = None,
        pin_memory: bool | None = False,
    ) -> Tensor:
        if not isinstance(input, Tensor):
            raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
        if input._key.wraps:  # called by an operation, such as dropout
            options = {"dtype": dtype, "device": device, "requires_grad": requires_grad, "memory_format": memory_format}
            return hooks.compute_on_wrappers(name, factory, (input,), options)  # type: ignore[no-any-return]  # what a class returns
        key = _options(input, dtype, device)
        if layout not in (None, strided, jagged):
            if name != "zeros_like":
                raise NotImplementedError(f"{name}(): a dense tensor has no indices for layout {layout}; use zeros_like")
            return zeros(input.shape, dtype=key.dtype, layout=layout, device=key.device, requires_grad=requires_grad)
        array = _in_order(memory_order(input, memory_format), input._array.shape, key, make)
        return finish(wrap(array, key), requires_grad, pin_memory=pin_memory)

    return publish_factory(name, doc, LIKE_ARGS, factory, kind=Kind.LIKE)


def _in_order(
    order: tuple[int, ...], shape: tuple[int, ...], key: DispatchKey, make: Callable[[DispatchKey, tuple[int, ...]], Any]
) -> Any:
    """Return an array of this shape, created by `make`, whose dimensions are stored in memory in the given order."""
    if all(before < after for before, after in pairwise(order)):
        return make(key, shape)
    back = tuple(sorted(order, key=order.__getitem__))
    return key.backend.xp.permute_dims(make(key, tuple([shape[d] for d in order])), back)


zeros_like = _like("zeros_like", "Return zeros with the shape, dtype, device and memory order of `input`.", _xp_filled("zeros"))
ones_like = _like("ones_like", "Return ones with the shape, dtype, device and memory order of `input`.", _xp_filled("ones"))
empty_like = _like(
    "empty_like", "Return an uninitialised tensor with the shape, dtype, device and memory order of `input`.", _xp_filled("empty")
)


def plain_number(value: Any) -> Any:
    """Convert a one-element tensor or another library's scalar to a Python number; return anything else unchanged."""
    if type(value) in NUMBERS:
        return value
    return value.item() if isinstance(value, Tensor) or is_library_scalar(value) else value


def dtype_for(value: Any) -> Dtype:
    """Return the dtype of a tensor, or the default dtype of a Python number's type."""
    return value.dtype if isinstance(value, Tensor) else dtypes.promotion_of_scalar(type(value))


@declare(kind=Kind.FACTORY)
@with_args(OPTION_ARGS)
def full(
    size: Sequence[int],
    fill_value: Number,
    *,
    out: Tensor | None = None,
    dtype: Dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool | None = False,
    pin_memory: bool | None = False,
) -> Tensor:
    """Return a tensor filled with `fill_value`; by default, its dtype follows that of the value.

    Args:
        size: the shape, a sequence of integers.
        fill_value: the value of all elements.
        out: a tensor that the result is written to.
        dtype: the dtype of the result; None for int64, bool, the default dtype or the complex one, depending on the value.

    >>> torch.full((2,), 7), torch.full((), 1.5)
    (tensor([7, 7]), tensor(1.5000))
    """
    if layout is not None and layout is not strided:
        raise RuntimeError(f"full(...) is not implemented for sparse layout, but got {layout}")
    value = plain_number(fill_value)
    if not isinstance(value, (bool, int, float, complex)):
        raise TypeError(f"full(): argument 'fill_value' (position 2) must be Number, not {type(value).__name__}")
    # as in PyTorch, a NumPy bool is not treated as a bool: the result is floating-point
    typed = value if isinstance(fill_value, Tensor) else fill_value
    key = key_for(dtype, device, dtype_of_out(out) or dtypes.promotion_of_scalar(type(typed)))
    shape = checked_shape("full", (size,))
    number, index = converted(value, key.dtype, alone=not shape), key.device.index
    if shape:
        array = key.backend.namespace_on(index).full(shape, number, dtype=key.raw_dtype)
    else:
        array = key.backend.asarray(number, key.raw_dtype, index=index or 0)
    return finish(wrap(array, key), requires_grad, out, pin_memory)


@declare(kind=Kind.LIKE)
@with_args(LIKE_ARGS)
def full_like(
    input: Tensor,
    fill_value: Number,
    *,
    dtype: Dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool | None = False,
    memory_format: Any = None,
    pin_memory: bool | None = False,
) -> Tensor:
    """Return a tensor filled with `fill_value`, with the shape, dtype, device and memory order of `input`.

    Args:
        input: a tensor of any shape.
        fill_value: the value of all elements.

    >>> torch.full_like(torch.zeros(2), 7)
    tensor([7., 7.])
    """
    key = _options(input, dtype, device)
    array = _in_order(
        memory_order(input, memory_format),
        input._array.shape,
        key,
        lambda key, shape: full(shape, fill_value, dtype=key.dtype, device=key.device)._array,
    )
    return finish(wrap(array, key), requires_grad, pin_memory=pin_memory)


@declare(kind=Kind.FACTORY)
@with_args(OPTION_ARGS)
def scalar_tensor(
    s: Number,
    *,
    dtype: Dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool | None = False,
    pin_memory: bool | None = False,
) -> Tensor:
    """Return a 0-d tensor of a number, by default in the default dtype.

    Args:
        s: the number.
        dtype: the dtype of the result; None for the default dtype.

    >>> torch.scalar_tensor(3)
    tensor(3.)
    """
    value = s if isinstance(s, Tensor) and s.ndim else plain_number(s)
    if not isinstance(value, (bool, int, float, complex)):
        raise TypeError(f"scalar_tensor(): argument 's' (position 1) must be Number, not {type(s).__name__}")
    key = key_for(dtype, device)
    return full((), value, dtype=key.dtype, device=key.device, requires_grad=requires_grad, pin_memory=pin_memory)


@declare(kind=Kind.FACTORY)
@with_args(FACTORY_ARGS)
def empty_strided(
    size: Sequence[int],
    stride: Sequence[int],
    *,
    dtype: Dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool | None = False,
    pin_memory: bool | None = False,
) -> Tensor:
    """Return an uninitialised tensor with the given size and strides.

    Args:
        size: the sizes.
        stride: the distances in memory between neighbouring elements of each dimension.

    Raises:
        RuntimeError: the numbers of sizes and strides differ.

    >>> torch.empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    size, stride = as_shape((size,)), as_shape((stride,))
    if len(size) != len(stride):
        raise RuntimeError(f"dimensionality of sizes ({len(size)}) must match dimensionality of strides ({len(stride)})")
    extent = 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True)) if 0 not in size else 0
    flat = empty(extent, dtype=dtype, device=device)
    return finish(flat.as_strided(size, stride), requires_grad, pin_memory=pin_memory)


@declare(
    kind=Kind.FACTORY,
    schema=(
        f"eye(SymInt n, *, {FACTORY_OPTIONS}) -> Tensor",
        f"eye.m(SymInt n, SymInt m, *, {FACTORY_OPTIONS}) -> Tensor",
    ),
)
@with_args(FACTORY_ARGS)
def eye(
    n: int,
    m: int | None = None,
    *,
    out: Tensor | None = None,
    dtype: Dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool | None = False,
    pin_memory: bool | None = False,
) -> Tensor:
    """Return an `(n, m)` matrix with ones on the diagonal and zeros elsewhere.

    Args:
        n: the number of rows.
        m: the number of columns; None for `n`.
        out: a tensor that the result is written to.

    Raises:
        RuntimeError: a size is negative.

    >>> torch.eye(2, 3)
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    key = key_for(dtype, device, dtype_of_out(out))
    if n < 0 or (m is not None and m < 0):
        raise RuntimeError(f"n must be greater or equal to 0, got {n if n < 0 else m}")
    result = wrap(key.backend.namespace_on(key.device.index).eye(n, n if m is None else m, dtype=key.raw_dtype), key)
    return finish(result, requires_grad, out, pin_memory)


PUBLIC.update(full=full, full_like=full_like, scalar_tensor=scalar_tensor, empty_strided=empty_strided, eye=eye)


# --- Tensor.new_* -------------------------------------------------------------------------------------------------


def _new_filled(name: str, factory: Callable[..., Tensor]) -> None:
    def method(
        self: Tensor,
        size: Any,
        *rest: Any,
        dtype: Dtype | None = None,
        layout: Any = None,
        device: Any = None,
        requires_grad: bool | None = False,
        pin_memory: bool | None = False,
    ) -> Tensor:
        key = _options(self, dtype, device)
        options = {"dtype": key.dtype, "device": key.device, "requires_grad": requires_grad, "pin_memory": pin_memory}
        return factory(size, *rest, **options) if layout is None else factory(size, *rest, layout=layout, **options)

    method.__name__ = method.__qualname__ = f"new_{name}"
    args = f"    size: the shape: integers, or one sequence of them.\n{NEW_ARGS}"
    method.__doc__ = add_args(f"Return `torch.{name}(size)` with this tensor's dtype and device.", args)
    setattr(Tensor, f"new_{name}", declare(kind=Kind.FACTORY)(method))


for _name, _factory in (("zeros", zeros), ("ones", ones), ("empty", empty)):
    _new_filled(_name, _factory)


@declare("new_full", kind=Kind.FACTORY)
@with_args(NEW_ARGS)
def _new_full(
    self: Tensor,
    size: Sequence[int],
    fill_value: Number,
    *,
    dtype: Dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool | None = False,
    pin_memory: bool | None = False,
) -> Tensor:
    """Return `torch.full(size, fill_value)` with this tensor's dtype and device.

    Args:
        size: the shape.
        fill_value: the number.
    """
    key = _options(self, dtype, device)
    return full(
        size,
        fill_value,
        dtype=key.dtype,
        layout=layout,
        device=key.device,
        requires_grad=requires_grad,
        pin_memory=pin_memory,
    )


@declare("new_tensor", kind=Kind.FACTORY)
def _new_tensor(
    self: Tensor, data: Any, *, dtype: Dtype | None = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Return `torch.tensor(data)` with this tensor's dtype and device.

    Args:
        data: a number, nested sequences, an array, or a tensor.
        dtype, device: those of the result; None for those of this tensor.
        requires_grad: whether autograd records operations on the result.
    """
    key = _options(self, dtype, device)
    return tensor(data, dtype=key.dtype, device=key.device, requires_grad=requires_grad)


@declare("new_empty_strided", kind=Kind.FACTORY)
@with_args(NEW_ARGS)
def _new_empty_strided(
    self: Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    *,
    dtype: Dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool | None = False,
    pin_memory: bool | None = False,
) -> Tensor:
    """Return `torch.empty_strided(size, stride)` with this tensor's dtype and device.

    Args:
        size: the shape.
        stride: the strides.
    """
    key = _options(self, dtype, device)
    return empty_strided(size, stride, dtype=key.dtype, device=key.device, requires_grad=requires_grad, pin_memory=pin_memory)


attach(new_full=as_method(_new_full), new_tensor=_new_tensor, new_empty_strided=as_method(_new_empty_strided))


@declare(kind=Kind.FACTORY)
@with_args(FACTORY_ARGS)
def empty_permuted(
    size: Sequence[int],
    physical_layout: Sequence[int],
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool | None = False,
    pin_memory: bool | None = False,
) -> Tensor:
    """Return an uninitialised tensor whose dimensions are stored in memory in the order `physical_layout`.

    Args:
        size: the sizes.
        physical_layout: the dimensions in the order in which they are stored, from the outermost to the innermost.

    Raises:
        RuntimeError: `physical_layout` is not a permutation of the dimensions.

    >>> torch.empty_permuted((2, 3, 4), (2, 0, 1)).stride()
    (3, 1, 6)
    """
    size, physical_layout = as_shape((size,)), as_shape((physical_layout,))
    if len(physical_layout) != len(size):
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; i.e. "
            f"len(size) = {len(size)} is not equal to len(physical_layout) = {len(physical_layout)}"
        )
    order = list(physical_layout)
    for position, dim in enumerate(order):
        if not 0 <= dim < len(size):
            raise RuntimeError(
                f"Dimension out of range (expected to be between 0 and {len(size) - 1}, but got {dim} at index "
                f"{position}). NB: negative dims not currently supported"
            )
    if len(set(order)) < len(order):
        raise RuntimeError("Duplicate dim not allowed")
    tensor = empty([size[d] for d in order], dtype=dtype, device=device, pin_memory=pin_memory)
    return tensor.permute(sorted(range(len(order)), key=order.__getitem__)).requires_grad_(bool(requires_grad))


# --- filling ---------------------------------------------------------------------------------------------------------


def _overwrite(self: Tensor, value: Tensor) -> Tensor:
    """Overwrite the elements with `value`, which must not depend on them; the old values get no gradient."""
    return self.copy_(value)


def _fill_by_kernel(self: Tensor, value: Any) -> bool:
    """Try to fill the tensor with an in-place kernel of the backend; return whether that succeeded."""
    kernel = self._key.backend.all_inplace_kernels.get("copy")
    try:
        done = kernel is not None and kernel(self._array, constant(value, self._key)._array)
    except OverflowError:
        return False
    if done:
        self._bump_version()
    return bool(done)


@declare("fill_", kind=Kind.POINTWISE)
def _fill_(self: Tensor, value: Any) -> Tensor:
    """Set every element to `value`, a number or a 0-d tensor.

    Args:
        value: the number.
    """
    if type(value) in self._key.scalars and type(self) in FAST and is_plain(self) and _fill_by_kernel(self, value):
        return self
    if isinstance(value, Tensor):
        if value.ndim:
            raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions.")
        return write_over(self, value, "FillBackward3", "fill")
    if may_override((value,)):
        return offer_method("fill_", (self, value), {})  # type: ignore[no-any-return]  # an override may return anything
    return write_over(self, filler(value, self._key, alone=self.numel() == 1), "FillBackward2", "fill")


@composite(
    method=False,
    kind=Kind.POINTWISE,
    overlap=Overlap.ALLOWED,
    schema=("fill.Scalar(Tensor self, Scalar value) -> Tensor", "fill.Tensor(Tensor self, Tensor value) -> Tensor"),
)
def fill(input: Tensor, value: Any) -> Tensor:
    """Return a copy of `input` with every element set to `value`.

    Args:
        input: the tensor to copy.
        value: a number or a 0-d tensor.

    >>> torch.fill(torch.zeros(2), 3)
    tensor([3., 3.])
    """
    return input.clone().fill_(value)


@declare("zero_", kind=Kind.POINTWISE, keeps_zero=True, linearity=Linearity.JOINT)
def _zero_(self: Tensor) -> Tensor:
    """Set every element to 0."""
    kernel = self._key.backend.all_inplace_kernels.get("zero")
    if kernel is None or type(self) not in FAST or not is_plain(self):
        return write_over(self, self.new_zeros(()), "ZeroBackward0", "fill")
    kernel(self._array)
    self._bump_version()
    return self


attach(_overwrite=_overwrite, fill_=_fill_, zero_=_zero_)


@declare(kind=Kind.FACTORY)
def from_file(
    filename: str,
    shared: bool | None = None,
    size: int = 0,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Return a tensor of `size` elements of a memory-mapped file.

    With `shared`, writes to the tensor change the file, and a missing file is created.

    Args:
        filename: the path of the file.
        shared: whether writes to the tensor change the file; a missing file is then created.
        size: the number of elements.
        dtype: the dtype of the elements; None for the default dtype.
        layout, device, pin_memory: ignored: the tensor is on the CPU.
        requires_grad: whether autograd records operations on the result.

    Raises:
        RuntimeError: the file cannot be opened, or is too small.
    """
    dtype = dtype or dtypes.get_default_dtype()
    mapped = map_file(filename, shared, size * dtype.itemsize)
    if mapped is None:
        return empty(0, dtype=dtype, requires_grad=requires_grad)
    return frombuffer(mapped, dtype=dtype, count=size, requires_grad=requires_grad)


PUBLIC.update(empty_permuted=empty_permuted, from_file=from_file)
