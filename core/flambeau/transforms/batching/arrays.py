"""Arrays with hidden leading dimensions, and the array API functions for them.

A `BatchedArray` hides its first `depth` dimensions, one for each `vmap` around it, and shows the others.  A hidden dimension
has size 1 if the array is the same for the whole batch.  `Namespace` implements the array API for such arrays.  As all
operations use the array API, none needs a batching rule.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, ClassVar

from ...engine.values.symbols import BINARY, COMPARISONS, UNARY
from ...operations.indexing.standard import nonzero

__all__ = ["BatchedArray", "Namespace", "namespace"]

Array = Any


class BatchedArray:
    """An array of the underlying library (`raw`) with its first `depth` dimensions hidden.

    An array that is the same for the whole batch gets new memory when different values for each member are written to it.  Its
    views are then created again.  A view therefore stores the function that created it.  A view that entered or left a level
    also stores the position of the dimension that only it, or only its parent, hides.
    """

    __slots__ = ("_look", "_parent", "_position", "_raw", "_stamp", "depth", "verdict", "xp")
    __array_ufunc__ = None  # NumPy's operators then return NotImplemented, so that Python calls the operators of this class

    def __hash__(self) -> int:
        return object.__hash__(self)

    def __init__(
        self, raw: Array, xp: Namespace, parent: BatchedArray | None = None, look: Any = None, position: int = 0
    ) -> None:
        self._raw = raw
        self.xp: Namespace = xp
        self.depth: int = xp.depth
        self._parent = parent
        self._look = look
        self._position = position
        self._stamp = 0 if parent is None else parent.stamp
        self.verdict: str | None = None  # "any" or "all": whether `bool()` is true if any, or all, members are

    @property
    def raw(self) -> Array:
        if self._parent is not None and self._stamp != self._parent.stamp:
            self._raw, self._stamp = self._look(self._parent.raw), self._parent.stamp
        return self._raw

    @property
    def stamp(self) -> int:
        """The number of times that the memory has been replaced.  A view whose number differs is outdated."""
        return self._stamp if self._parent is None else self._parent.stamp

    def replace_raw(self, replaced: Callable[[Array], Array]) -> None:
        """Replace the raw array by `replaced(raw)`, which has the same elements, and those of all parents in the same way."""
        self._raw = replaced(self._raw)
        if self._parent is not None:
            self._parent.replace_raw(replaced)

    def give_memory(self, sizes: Sequence[int]) -> None:
        """Expand the hidden dimensions to at least these sizes in memory, before different values per member are written."""
        hidden = self.raw.shape[: self.depth]
        shape = tuple(max(have, want) for have, want in zip(hidden, sizes, strict=True))
        if shape == hidden:
            return
        if self._parent is not None:
            # The parent hides one dimension more if the array left a level, and one less if the array entered a level.
            more, position = self._parent.depth - self.depth, self._position
            self._parent.give_memory([*sizes[:position], *(1,) * more, *sizes[position + max(-more, 0) :]])
        else:
            self._raw = self.xp.clone(self.xp.inner.broadcast_to(self._raw, shape + self.shape))
            self._stamp += 1

    # --- attributes of the array API ---

    @property
    def shape(self) -> tuple[int, ...]:
        return self._raw.shape[self.depth :]  # type: ignore[no-any-return]  # arrays are untyped

    @property
    def ndim(self) -> int:
        return self._raw.ndim - self.depth  # type: ignore[no-any-return]  # arrays are untyped

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def dtype(self) -> Any:
        return self._raw.dtype

    @property
    def device(self) -> Any:
        return getattr(self._raw, "device", None)

    @property
    def T(self) -> BatchedArray:
        return self.xp.permute_dims(self, tuple(range(self.ndim))[::-1])  # type: ignore[no-any-return]  # the namespace is untyped

    @property
    def mT(self) -> BatchedArray:
        return self.xp.matrix_transpose(self)  # type: ignore[no-any-return]  # the namespace is untyped

    @property
    def real(self) -> BatchedArray:
        return self.xp.real(self)  # type: ignore[no-any-return]  # the namespace is untyped

    @property
    def imag(self) -> BatchedArray:
        return self.xp.imag(self)  # type: ignore[no-any-return]  # the namespace is untyped

    def __array_namespace__(self, api_version: str | None = None) -> Namespace:
        return self.xp

    def __len__(self) -> int:
        return self.shape[0]

    __getitem__: ClassVar[Callable[[BatchedArray, Any], BatchedArray]]  # both are set by the module `indexing`
    __setitem__: ClassVar[Callable[[BatchedArray, Any, Any], None]]

    def __bool__(self) -> bool:
        if self.verdict is not None:  # the array is the result of `any` or `all`
            return bool(getattr(self.xp.inner, self.verdict)(self.raw))
        if self.raw.size == 1:
            return bool(self.raw)
        raise RuntimeError(
            "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We "
            "don't support that yet, please file an issue at "
            "https://github.com/pytorch/pytorch/issues ."
        )

    def _no_number(self) -> Any:
        raise RuntimeError("vmap: cannot convert a batched array to a Python number")

    __int__: Any = _no_number
    __float__: Any = _no_number
    __complex__: Any = _no_number
    __index__: Any = _no_number

    def __repr__(self) -> str:
        return f"BatchedArray({self.raw!r}, depth={self.depth})"


def _add_operators() -> None:
    def binary(name: str) -> Any:
        return lambda self, other: getattr(self.xp, name)(self, other)

    def reflected(name: str) -> Any:
        return lambda self, other: getattr(self.xp, name)(other, self)

    def unary(name: str) -> Any:
        return lambda self: getattr(self.xp, name)(self)

    for dunder, name in BINARY.items():
        setattr(BatchedArray, f"__{dunder}__", binary(name))
        setattr(BatchedArray, f"__r{dunder}__", reflected(name))
    for dunder, name in COMPARISONS.items():
        setattr(BatchedArray, f"__{dunder}__", binary(name))
    for dunder, name in UNARY.items():
        setattr(BatchedArray, f"__{dunder}__", unary(name))


_add_operators()


def view(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a method of `Namespace` that returns a function `raw array -> raw view`: the decorated method returns the view."""

    @functools.wraps(function)
    def wrapped(self: Namespace, array: Any, *args: Any, **kwargs: Any) -> BatchedArray:
        array = self.lifted(array)
        look = function(self, array, *args, **kwargs)
        return BatchedArray(look(array.raw), self, array, look)

    return wrapped


class Namespace:
    """The array API for arrays with `depth` hidden dimensions over the library `inner`.

    A function not defined here is elementwise, or is in one of the sets of names below the class (such as `_REDUCTIONS`).
    """

    def __init__(self, inner: Any, depth: int) -> None:
        self.inner = inner
        self.depth = depth
        self.clone: Callable[[Array], Array] = functools.partial(inner.asarray, copy=True)  # copies a raw array
        for name, extension in (("linalg", Linalg), ("fft", Fourier)):
            if hasattr(inner, name):
                setattr(self, name, extension(self))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        attribute = getattr(self.inner, name)
        if name in _WITHOUT_ARRAYS or not callable(attribute) or isinstance(attribute, type):
            wrapped = attribute
        elif name in _REDUCTIONS:
            wrapped = self.reduction(name, attribute)
        elif name in _ALONG:
            wrapped = self.along(attribute)
        elif name in _DATA_DEPENDENT:
            wrapped = functools.partial(_refuse, f"aten::{'_unique2' if name.startswith('unique') else name}")
        else:
            wrapped = self.elementwise(attribute)
        setattr(self, name, wrapped)
        return wrapped

    # --- broadcasting arrays ---

    def lifted(self, array: Any) -> BatchedArray:
        """Convert to a BatchedArray of this depth; an array without hidden dimensions is the same for the whole batch."""
        if type(array) is BatchedArray:
            return array if array.depth == self.depth else self._deeper(array)
        raw = self.inner.asarray(array)
        return BatchedArray(self.inner.reshape(raw, (1,) * self.depth + tuple(raw.shape)), self)

    def _deeper(self, array: BatchedArray) -> BatchedArray:
        """Add dimensions of size 1 to an array batched by fewer `vmap`s, such as an index from outside of the inner one."""
        raw, k = array.raw, array.depth
        return self.made(self.inner.reshape(raw, raw.shape[:k] + (1,) * (self.depth - k) + raw.shape[k:]))

    def made(self, raw: Array) -> BatchedArray:
        return BatchedArray(raw, self)

    def aligned(self, arrays: Sequence[Any], ndim: int = 0) -> list[Any]:
        """Return the raw arrays, padded to the same number of visible dimensions: the largest of the arrays, at least `ndim`."""
        ndim = max([ndim, *(getattr(array, "ndim", 0) for array in arrays)])
        return [self._with_ndim(array, ndim) if type(array) is BatchedArray else array for array in arrays]

    def _with_ndim(self, array: BatchedArray, ndim: int) -> Array:
        raw, k = array.raw, self.depth
        missing = ndim - array.ndim
        if missing <= 0:
            return raw
        return self.inner.reshape(raw, raw.shape[:k] + (1,) * missing + raw.shape[k:])

    def hidden_shape(self, arrays: Sequence[Any]) -> tuple[int, ...]:
        """Return the broadcast shape of the hidden dimensions of the arrays."""
        shapes = [array.raw.shape[: self.depth] for array in arrays if type(array) is BatchedArray]
        return tuple(max(lengths) for lengths in zip(*shapes, strict=True)) if shapes else (1,) * self.depth

    def spread(self, array: Any, hidden: tuple[int, ...]) -> Array:
        """Return the raw array with its hidden batch dimensions expanded to the sizes `hidden`."""
        array = self.lifted(array)
        return self.inner.broadcast_to(array.raw, hidden + array.shape)

    def axis(self, axis: Any, ndim: int) -> Any:
        """Convert visible axes to axes of the raw array; None means all visible axes."""
        if axis is None:
            return tuple(range(self.depth, self.depth + ndim))
        if isinstance(axis, (tuple, list)):
            return tuple(self.axis(dim, ndim) for dim in axis)
        return axis if axis < 0 else axis + self.depth

    # --- families of functions ---

    def elementwise(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def apply(*arrays: Any, **kwargs: Any) -> Any:
            if not any(type(array) is BatchedArray for array in arrays):
                return function(*arrays, **kwargs)
            return self.made(function(*self.aligned(arrays), **kwargs))

        return apply

    def reduction(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def apply(x: Any, axis: Any = None, **kwargs: Any) -> Any:
            x = self.lifted(x)
            axes = self.axis(axis, x.ndim)
            if axis is None and name in ("argmax", "argmin"):
                keepdims = kwargs.pop("keepdims", False)
                positions = function(self.reshape(x, (-1,)).raw, axis=self.depth, **kwargs)
                return self.reshape(self.made(positions), (1,) * x.ndim) if keepdims else self.made(positions)
            result = self.made(function(x.raw, axis=axes, **kwargs))
            result.verdict = name if name in ("all", "any") and axis is None else None
            return result

        return apply

    def along(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a function along one axis, by default the last, that preserves the shape."""

        def apply(x: Any, /, *, axis: Any = -1, **kwargs: Any) -> Any:
            x = self.lifted(x)
            return self.made(function(x.raw, axis=self.axis(-1 if axis is None else axis, x.ndim), **kwargs))

        return apply

    # --- creating arrays ---

    def asarray(self, obj: Any, *, dtype: Any = None, copy: bool | None = None, device: Any = None) -> BatchedArray:
        if type(obj) is not BatchedArray:
            return self.lifted(self.inner.asarray(obj, dtype=dtype, copy=copy))
        if copy or (dtype is not None and obj.dtype != dtype):
            return self.made(self.inner.asarray(obj.raw, dtype=dtype, copy=copy))
        return obj

    def __dir__(self) -> Sequence[str]:
        return sorted({*object.__dir__(self), *dir(self.inner)})

    def _new(self, name: str, *args: Any, **kwargs: Any) -> BatchedArray:
        return self.lifted(getattr(self.inner, name)(*args, **kwargs))

    def zeros(self, shape: Any, **kwargs: Any) -> BatchedArray:
        return self._new("zeros", shape, **kwargs)

    def ones(self, shape: Any, **kwargs: Any) -> BatchedArray:
        return self._new("ones", shape, **kwargs)

    def empty(self, shape: Any, **kwargs: Any) -> BatchedArray:
        return self._new("empty", shape, **kwargs)

    def full(self, shape: Any, fill_value: Any, **kwargs: Any) -> BatchedArray:
        if type(fill_value) is BatchedArray:
            return self.asarray(self.broadcast_to(fill_value, shape), copy=True, **kwargs)
        return self._new("full", shape, fill_value, **kwargs)

    def arange(self, *args: Any, **kwargs: Any) -> BatchedArray:
        return self._new("arange", *args, **kwargs)

    def linspace(self, *args: Any, **kwargs: Any) -> BatchedArray:
        return self._new("linspace", *args, **kwargs)

    def eye(self, *args: Any, **kwargs: Any) -> BatchedArray:
        return self._new("eye", *args, **kwargs)

    def zeros_like(self, x: Any, *, dtype: Any = None, device: Any = None) -> BatchedArray:
        return self.zeros(x.shape, dtype=dtype or x.dtype)

    def ones_like(self, x: Any, *, dtype: Any = None, device: Any = None) -> BatchedArray:
        return self.ones(x.shape, dtype=dtype or x.dtype)

    def empty_like(self, x: Any, *, dtype: Any = None, device: Any = None) -> BatchedArray:
        return self.empty(x.shape, dtype=dtype or x.dtype)

    def full_like(self, x: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> BatchedArray:
        return self.full(x.shape, fill_value, dtype=dtype or x.dtype)

    def astype(self, x: Any, dtype: Any, *, copy: bool = True, device: Any = None) -> BatchedArray:
        return self.made(self.inner.astype(self.lifted(x).raw, dtype, copy=copy))

    def tril(self, x: Any, *, k: int = 0) -> BatchedArray:
        return self.made(self.inner.tril(self.lifted(x).raw, k=k))

    def triu(self, x: Any, *, k: int = 0) -> BatchedArray:
        return self.made(self.inner.triu(self.lifted(x).raw, k=k))

    def meshgrid(self, *arrays: Any, indexing: str = "xy") -> list[BatchedArray]:
        lifted = [self.lifted(array) for array in arrays]
        order = list(range(len(lifted)))
        if indexing == "xy" and len(order) > 1:
            order[:2] = 1, 0
        shape = tuple(lifted[i].shape[0] for i in order)
        return [
            self.broadcast_to(self.reshape(array, tuple(-1 if order[d] == i else 1 for d in range(len(order)))), shape)
            for i, array in enumerate(lifted)
        ]

    # --- dtypes ---

    def isdtype(self, dtype: Any, key: Any) -> bool:
        return self.inner.isdtype(dtype, key)  # type: ignore[no-any-return]  # the namespace is untyped

    def result_type(self, *arrays: Any) -> Any:
        return self.inner.result_type(*(array.dtype if type(array) is BatchedArray else array for array in arrays))

    def finfo(self, type: Any, /) -> Any:
        return self.inner.finfo(getattr(type, "dtype", type))

    def iinfo(self, type: Any, /) -> Any:
        return self.inner.iinfo(getattr(type, "dtype", type))

    # --- views ---

    @view
    def reshape(self, x: BatchedArray, shape: Any, *, copy: bool | None = None) -> Callable[[Array], Array]:
        shape = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
        if -1 in shape:
            known = prod(n for n in shape if n != -1)
            shape = tuple(x.size // max(known, 1) if n == -1 else n for n in shape)
        return lambda raw: self.inner.reshape(raw, raw.shape[: self.depth] + shape)

    @view
    def permute_dims(self, x: BatchedArray, axes: Sequence[int]) -> Callable[[Array], Array]:
        order = tuple(range(self.depth)) + tuple(axis % max(x.ndim, 1) + self.depth for axis in axes)
        return lambda raw: self.inner.permute_dims(raw, order)

    @view
    def matrix_transpose(self, x: BatchedArray) -> Callable[[Array], Array]:
        return lambda raw: self.inner.matrix_transpose(raw)

    @view
    def moveaxis(self, x: BatchedArray, source: Any, destination: Any) -> Callable[[Array], Array]:
        source, destination = self.axis(source, x.ndim), self.axis(destination, x.ndim)
        return lambda raw: self.inner.moveaxis(raw, source, destination)

    @view
    def expand_dims(self, x: BatchedArray, /, *, axis: int = 0) -> Callable[[Array], Array]:
        return lambda raw: self.inner.expand_dims(raw, axis=self.axis(axis, x.ndim))

    @view
    def squeeze(self, x: BatchedArray, axis: Any) -> Callable[[Array], Array]:
        return lambda raw: self.inner.squeeze(raw, axis=self.axis(axis, x.ndim))

    @view
    def broadcast_to(self, x: BatchedArray, shape: Any) -> Callable[[Array], Array]:
        shape = tuple(shape)
        lengths = (1,) * (len(shape) - x.ndim) + x.shape

        def look(raw: Array) -> Array:
            hidden = raw.shape[: self.depth]
            return self.inner.broadcast_to(self.inner.reshape(raw, hidden + lengths), hidden + shape)

        return look

    def broadcast_arrays(self, *arrays: Any) -> list[BatchedArray]:
        lifted = [self.lifted(array) for array in arrays]
        shape = self.inner.broadcast_arrays(*(self.inner.empty(array.shape) for array in lifted))[0].shape
        return [self.broadcast_to(array, shape) for array in lifted]

    def unstack(self, x: Any, /, *, axis: int = 0) -> tuple[BatchedArray, ...]:
        moved = self.moveaxis(x, axis, 0)
        return tuple(moved[index] for index in range(moved.shape[0]))

    # --- rearranging ---

    def concat(self, arrays: Sequence[Any], /, *, axis: int | None = 0) -> BatchedArray:
        if axis is None:
            arrays, axis = [self.reshape(array, (-1,)) for array in arrays], 0
        hidden = self.hidden_shape(arrays)
        raws = [self.spread(array, hidden) for array in arrays]
        return self.made(self.inner.concat(raws, axis=self.axis(axis, 0)))

    def stack(self, arrays: Sequence[Any], /, *, axis: int = 0) -> BatchedArray:
        hidden = self.hidden_shape(arrays)
        return self.made(self.inner.stack([self.spread(array, hidden) for array in arrays], axis=self.axis(axis, 0)))

    def flip(self, x: Any, /, *, axis: Any = None) -> BatchedArray:
        return self.made(self.inner.flip(x.raw, axis=self.axis(axis, x.ndim)))

    def roll(self, x: Any, /, shift: Any, *, axis: Any = None) -> BatchedArray:
        if axis is None:
            return self.reshape(self.roll(self.reshape(x, (-1,)), shift, axis=0), x.shape)  # type: ignore[no-any-return]  # the namespace is untyped
        return self.made(self.inner.roll(x.raw, shift, axis=self.axis(axis, x.ndim)))

    def repeat(self, x: Any, repeats: Any, /, *, axis: int | None = None) -> BatchedArray:
        if type(repeats) is BatchedArray:
            refuse_dynamic("aten::repeat_interleave")
        if axis is None:
            x, axis = self.reshape(x, (-1,)), 0
        return self.made(self.inner.repeat(x.raw, repeats, axis=self.axis(axis, x.ndim)))

    def tile(self, x: Any, repetitions: tuple[int, ...], /) -> BatchedArray:
        ndim = max(x.ndim, len(repetitions))
        repeats = (1,) * (self.depth + ndim - len(repetitions)) + tuple(repetitions)
        return self.made(self.inner.tile(self._with_ndim(x, ndim), repeats))

    def take(self, x: Any, indices: Any, /, *, axis: int = 0) -> BatchedArray:
        x = self.lifted(x)
        return x[(slice(None),) * (axis % max(x.ndim, 1)) + (indices,)]  # type: ignore[no-any-return]  # the namespace is untyped

    def take_along_axis(self, x: Any, indices: Any, /, *, axis: int = -1) -> BatchedArray:
        hidden = self.hidden_shape([x, indices])
        x, indices = self.lifted(x), self.lifted(indices)
        lengths = [max(a, b) for a, b in zip(x.shape, indices.shape, strict=True)]
        shape = [(b if dim == axis % x.ndim else n) for dim, (n, b) in enumerate(zip(lengths, indices.shape, strict=True))]
        raw = self.spread(x, hidden)
        return self.made(
            self.inner.take_along_axis(
                raw, self.inner.broadcast_to(indices.raw, hidden + tuple(shape)), axis=self.axis(axis, x.ndim)
            )
        )

    def searchsorted(self, x1: Any, x2: Any, /, *, side: str = "left", sorter: Any = None) -> BatchedArray:
        """For each value in `x2`, count the boundaries in `x1` that are before it."""
        x1 = self.lifted(x1) if sorter is None else self.take_along_axis(x1, sorter)
        x2 = self.lifted(x2)
        bounds = self.reshape(x1, (1,) * x2.ndim + x1.shape)
        values = self.expand_dims(x2, axis=x2.ndim)
        before = bounds < values if side == "left" else bounds <= values
        return self.sum(self.astype(before, self.inner.int64), axis=-1)  # type: ignore[no-any-return]  # the namespace is untyped

    def diff(self, x: Any, /, *, axis: int = -1, n: int = 1, prepend: Any = None, append: Any = None) -> BatchedArray:
        parts = [array for array in (prepend, x, append) if array is not None]
        x = self.concat(parts, axis=axis) if len(parts) > 1 else x
        return self.made(self.inner.diff(x.raw, axis=self.axis(axis, x.ndim), n=n))

    def nonzero(self, x: Any, /) -> tuple[BatchedArray, ...]:
        x = self.lifted(x)
        if prod(x.raw.shape[: self.depth]) != 1:
            refuse_dynamic("aten::nonzero")
        return tuple(map(self.lifted, nonzero(self.inner, self.inner.reshape(x.raw, x.shape))))

    def sort(self, x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> BatchedArray:
        ascending = self.made(self.inner.sort(self.lifted(x).raw, axis=self.axis(axis, x.ndim), stable=stable))
        return self.flip(ascending, axis=axis) if descending else ascending

    def argsort(self, x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> BatchedArray:
        if not descending:
            return self.made(self.inner.argsort(self.lifted(x).raw, axis=self.axis(axis, x.ndim), stable=stable))
        # an ascending sort of the flipped array: equal elements keep their order
        positions = self.argsort(self.flip(x, axis=axis), axis=axis, stable=stable)
        return self.flip(x.shape[axis] - 1 - positions, axis=axis)

    # --- products ---

    def matmul(self, a: Any, b: Any) -> BatchedArray:
        a, b = self.lifted(a), self.lifted(b)
        row, column = a.ndim == 1, b.ndim == 1
        a = self.expand_dims(a, axis=0) if row else a
        b = self.expand_dims(b, axis=-1) if column else b
        product = self.made(self._product(a, b))
        product = self.squeeze(product, -1) if column else product
        return self.squeeze(product, -1 if column else -2) if row else product

    def _product(self, a: BatchedArray, b: BatchedArray) -> Array:
        if b.ndim == 2 and prod(b.raw.shape[:-2]) == 1 and prod(a.raw.shape[:-2]) > 1:
            # `b` is one matrix for the whole batch: a single large product is faster than many small ones.
            raw = a.raw
            tall = self.inner.reshape(raw, (prod(raw.shape[:-1]), raw.shape[-1]))
            matrix = self.inner.reshape(b.raw, b.shape)
            return self.inner.reshape(self.inner.matmul(tall, matrix), (*raw.shape[:-1], b.shape[-1]))
        return self.inner.matmul(*self.aligned([a, b]))

    def vecdot(self, x1: Any, x2: Any, /, *, axis: int = -1) -> BatchedArray:
        return self.sum(self.conj(x1) * x2 if self.isdtype(x1.dtype, "complex floating") else x1 * x2, axis=axis)  # type: ignore[no-any-return]  # the namespace is untyped

    def tensordot(self, x1: Any, x2: Any, /, *, axes: Any = 2) -> BatchedArray:
        x1, x2 = self.lifted(x1), self.lifted(x2)
        if isinstance(axes, int):
            axes = tuple(range(x1.ndim - axes, x1.ndim)), tuple(range(axes))
        left, right = ([axis % array.ndim for axis in listed] for listed, array in zip(axes, (x1, x2), strict=True))
        free = [dim for dim in range(x1.ndim) if dim not in left], [dim for dim in range(x2.ndim) if dim not in right]
        summed = prod(x1.shape[dim] for dim in left)
        a = self.reshape(self.permute_dims(x1, (*free[0], *left)), (prod(x1.shape[dim] for dim in free[0]), summed))
        b = self.reshape(self.permute_dims(x2, (*right, *free[1])), (summed, prod(x2.shape[dim] for dim in free[1])))
        shape = tuple(x1.shape[dim] for dim in free[0]) + tuple(x2.shape[dim] for dim in free[1])
        return self.reshape(self.matmul(a, b), shape)  # type: ignore[no-any-return]  # the namespace is untyped


_WITHOUT_ARRAYS = frozenset({"can_cast", "dtype", "e", "inf", "nan", "newaxis", "pi"})
_REDUCTIONS = frozenset({"all", "any", "argmax", "argmin", "count_nonzero", "max", "mean", "min", "prod", "std", "sum", "var"})
_ALONG = frozenset({"cumulative_prod", "cumulative_sum"})
_DATA_DEPENDENT = frozenset({"unique_all", "unique_counts", "unique_inverse", "unique_values"})


def _refuse(name: str, *args: Any, **kwargs: Any) -> Any:
    refuse_dynamic(name)


def refuse_dynamic(name: str) -> Any:
    raise RuntimeError(
        f"vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over "
        f"{name}. "
        "Please file an issue at https://github.com/pytorch/pytorch/issues if you need this feature."
    )


class _Extension:
    """An extension of the array API whose functions treat leading dimensions as a batch."""

    def __init__(self, xp: Namespace) -> None:
        self.xp = xp

    def _wrapped(self, results: Any) -> Any:
        if isinstance(results, tuple):
            return (
                results._make(map(self.xp.made, results))
                if hasattr(results, "_make")
                else tuple(self.xp.made(result) for result in results)
            )
        return self.xp.made(results)


class Linalg(_Extension):
    """`linalg`: functions of the last two dimensions."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in ("matmul", "matrix_transpose", "tensordot", "vecdot"):
            return getattr(self.xp, name)
        function = getattr(self.xp.inner.linalg, name)

        def apply(*arrays: Any, **kwargs: Any) -> Any:
            return self._wrapped(function(*(self.xp.lifted(array).raw for array in arrays[:1]), *arrays[1:], **kwargs))

        return apply

    def solve(self, x1: Any, x2: Any, /) -> Any:
        x1, x2 = self.xp.lifted(x1), self.xp.lifted(x2)
        if x2.ndim == 1:
            return self.xp.squeeze(self.solve(x1, self.xp.expand_dims(x2, axis=-1)), -1)
        a, b = self.xp.aligned([x1, x2])
        return self.xp.made(self.xp.inner.linalg.solve(a, b))

    def outer(self, x1: Any, x2: Any, /) -> Any:
        return self.xp.expand_dims(x1, axis=-1) * self.xp.expand_dims(x2, axis=0)

    def cross(self, x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
        a, b = self.xp.aligned([self.xp.lifted(x1), self.xp.lifted(x2)])
        return self.xp.made(self.xp.inner.linalg.cross(a, b, axis=axis))

    def vector_norm(self, x: Any, /, *, axis: Any = None, **kwargs: Any) -> Any:
        return self.xp.made(self.xp.inner.linalg.vector_norm(x.raw, axis=self.xp.axis(axis, x.ndim), **kwargs))


class Fourier(_Extension):
    """`fft`: functions along some axes."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        function, xp = getattr(self.xp.inner.fft, name), self.xp
        if name.endswith("freq"):
            return lambda *args, **kwargs: xp.lifted(function(*args, **kwargs))
        several = name.endswith("n") or name.endswith("shift")

        def apply(x: Any, /, **kwargs: Any) -> Any:
            x = xp.lifted(x)
            if several:
                kwargs["axes"] = xp.axis(kwargs.get("axes"), x.ndim)
            else:
                kwargs["axis"] = xp.axis(kwargs.get("axis", -1), x.ndim)
            return xp.made(function(x.raw, **kwargs))

        return apply


def namespace(inner: Any, depth: int) -> Namespace:
    """Return the unique namespace of this depth over this library."""
    found = namespaces.get((id(inner), depth))
    if found is None:
        found = namespaces.setdefault((id(inner), depth), Namespace(inner, depth))
    return found


namespaces: dict[tuple[int, int], Namespace] = {}  # by (depth, id of the library): a library may be unhashable
