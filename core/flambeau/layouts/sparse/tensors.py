"""`SparseTensor`, its conversion from and to indices and values, and its implementations of functions of `torch`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar, TypeVar

import flambeau as torch

from ...autograd.function import Function
from ...engine.calls.facts import Kind, facts_of, is_inplace, names, unaliased
from ...engine.calls.inplace import cast_error
from ...engine.calls.node_names import with_grad_fn
from ...engine.calls.out_rules import Out
from ...engine.calls.outputs import check_untracked, write
from ...engine.calls.overriding import DisableTorchFunctionSubclass, redispatch_function
from ...engine.calls.tables import PUBLIC
from ...engine.devices.aliases import resolve
from ...engine.devices.sparse_arrays import SparseArray
from ...engine.tensors.tensor import Tensor, wrap

__all__ = [
    "BACKENDS",
    "IMPLEMENTATIONS",
    "LAYOUTS",
    "SparseTensor",
    "apply_linear",
    "batch_of",
    "become",
    "blocks_of",
    "build",
    "coordinates",
    "detached",
    "gather",
    "gradient_at",
    "implements",
    "is_sparse",
    "like",
    "make",
    "nnz_of",
    "parts_of",
    "same_indices",
    "scatter",
    "snapshot",
    "store",
    "to_dense",
    "values_of",
]  # fmt: skip

LAYOUTS = {str(each).removeprefix("torch."): each for each in (
    torch.sparse_coo, torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc)}  # fmt: skip
BACKENDS = {
    "sparse_coo": "Sparse", "sparse_csr": "SparseCsr", "sparse_csc": "SparseCsc", "sparse_bsr": "SparseBsr",
    "sparse_bsc": "SparseBsc",
}  # fmt: skip
IMPLEMENTATIONS: dict[str, Callable[..., Any]] = {}  # by the name of the `torch` function or Tensor method

C = TypeVar("C", bound=Callable[..., Any])


def implements(*names: str, grad_fn: str | None = None) -> Callable[[C], C]:
    """Return a decorator that registers a function as the implementation of these operations for sparse tensors.

    The name of the function itself is always registered, in addition to `names`.  `grad_fn` is the name of the autograd node of
    its result.
    """

    def register(function: C) -> C:
        if grad_fn is not None:
            function = with_grad_fn(grad_fn)(function)
        IMPLEMENTATIONS.update(dict.fromkeys((function.__name__, *names), function))
        return function

    return register


_QUERIES = names(kind=Kind.QUERY)
_NEED_NO_ELEMENTS = (
    "shape", "size", "dim", "ndim", "ndimension", "nelement", "dtype", "device", "itemsize", "element_size", "is_cpu", "is_cuda",
    "is_leaf", "requires_grad", "grad", "grad_fn", "output_nr", "retain_grad", "retains_grad", "register_hook",
    "register_post_accumulate_grad_hook", "__len__", "requires_grad_", "detach_", "grad_dtype",
    *_QUERIES & vars(Tensor).keys(),
)  # fmt: skip


class SparseTensor(Tensor):
    """A tensor that stores only some elements; the others are zero: see `torch.sparse`.

    Created by `torch.sparse_coo_tensor`, `Tensor.to_sparse` and similar functions.
    """

    __slots__ = ()
    _array: SparseArray
    # Copy these methods from Tensor, so that calls of them skip `__torch_function__`.
    locals().update({name: vars(Tensor)[name] for name in _NEED_NO_ELEMENTS})
    _has_hooks = True  # makes autograd call `finish_leaf`, which accumulates gradients in all layouts
    text: ClassVar[Callable[[Any], str]]  # set by the module `text`

    @property
    def is_sparse(self) -> bool:  # type: ignore[override]  # False in Tensor
        """Whether the layout is COO."""
        return self._array.layout == "sparse_coo"

    @property
    def is_sparse_csr(self) -> bool:  # type: ignore[override]
        """Whether the layout is CSR."""
        return self._array.layout == "sparse_csr"

    @property
    def layout(self) -> torch.layout:
        """The layout, such as `torch.sparse_coo`."""
        return LAYOUTS[self._array.layout]

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _call(func, args, kwargs or {})

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]  # it takes what Tensor's takes
        return SparseTensor.text(self)

    def __format__(self, spec: str) -> str:
        return object.__format__(self, spec)

    def __bool__(self) -> bool:
        if self.numel() != 1:
            what = "no values" if self.numel() == 0 else "more than one value"
            raise RuntimeError(f"Boolean value of Tensor with {what} is ambiguous")
        return bool(self.item())

    def item(self) -> Any:
        """Return the only element as a Python scalar.  RuntimeError unless the tensor has exactly one element."""
        if self.numel() != 1:
            raise RuntimeError(f"a Tensor with {self.numel()} elements cannot be converted to Scalar")
        return to_dense(detached(self)).item()

    def numpy(self, *, force: bool = False) -> Any:
        """Raise TypeError: call `to_dense` first."""
        raise TypeError(f"can't convert {BACKENDS[self._array.layout]} layout tensor to numpy. Use Tensor.to_dense() first.")

    def tolist(self) -> Any:
        """Raise RuntimeError, as PyTorch does: call `to_dense` first."""
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")

    def stride(self, dim: int | None = None) -> Any:
        """Return zeros for a COO tensor; raise RuntimeError for other layouts, as in PyTorch."""
        if self._array.layout == "sparse_coo":
            return (0,) * self.ndim if dim is None else 0
        raise RuntimeError(f"{_layout_name(self)} tensors do not have strides")

    def is_contiguous(self, *, memory_format: Any = None) -> bool:
        """Return False for a COO tensor; raise RuntimeError for other layouts, as in PyTorch."""
        if self._array.layout == "sparse_coo":
            return False
        raise RuntimeError(f"{_layout_name(self)} tensors do not have is_contiguous")

    def data_ptr(self) -> int:
        """Raise RuntimeError: indices and values are in separate memory."""
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")

    def storage(self) -> Any:
        """Raise NotImplementedError: indices and values are in separate memory."""
        raise NotImplementedError("Cannot access storage of SparseTensorImpl")

    untyped_storage: Any = storage
    typed_storage: Any = storage
    share_memory_: Any = storage


def _layout_name(tensor: SparseTensor) -> str:
    return f"Sparse {tensor._array.layout.removeprefix('sparse_').upper()}"


def is_sparse(value: Any) -> bool:
    """Whether the value is a sparse tensor, of any layout."""
    return isinstance(value, SparseTensor)


# --- calls --------------------------------------------------------------------------------------------------------


def _call(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function of `torch`, or a method or property of Tensor, with sparse arguments."""
    if "out" in kwargs:
        others = {key: value for key, value in kwargs.items() if key != "out"}
        return _call(func, args, others) if kwargs["out"] is None else _write_to_out(func, kwargs["out"], args, others)
    name = func.__name__
    module = resolve(getattr(func, "__module__", None) or "")  # `flambeau...`, even if it was imported as `torch`
    is_ours = module.partition(".")[0] in ("flambeau", "flambeau_nnlib", "builtins", "")
    is_view_copy = name.endswith("_copy") and name not in ("index_copy", "narrow_copy")
    if not is_ours or module.startswith("flambeau.autograd") or name.startswith("_foreach_") or is_view_copy:
        return redispatch_function(func, (), args, kwargs)  # a composite: its operations are handled one by one
    if name in ("__get__", "__set__", "__delete__"):
        name = _name_of_property(func) if name == "__get__" else name
        if name not in IMPLEMENTATIONS:
            with DisableTorchFunctionSubclass():
                return func(*args, **kwargs)
    operation = name if name in IMPLEMENTATIONS else unaliased(name)
    if operation in IMPLEMENTATIONS:
        return IMPLEMENTATIONS[operation](*args, **kwargs)
    if name in _NEED_NO_ELEMENTS or name in _QUERIES:  # the call is `Tensor.name(sparse)`, or `torch.name(sparse, sparse)`
        with DisableTorchFunctionSubclass():
            return func(*args, **kwargs)
    if is_inplace(name) and (name[:-1] in IMPLEMENTATIONS or keeps_zeros(name, args, kwargs)):
        return _in_place(
            IMPLEMENTATIONS.get(name[:-1]) or partial(_apply_to_values, PUBLIC[name[:-1]], coalesce=False), *args, **kwargs
        )
    if keeps_zeros(name, args, kwargs):
        return _apply_to_values(func, *args, **kwargs)
    layouts = [BACKENDS[each._array.layout] for each in (*args, *kwargs.values()) if isinstance(each, SparseTensor)]
    where = f"'{layouts[0] if layouts else 'Sparse'}CPU' backend"
    raise NotImplementedError(
        f"Could not run 'aten::{name}' with arguments from the {where}: it is not implemented for sparse tensors. "
        "Convert them with `to_dense()` first."
    )


def _name_of_property(getter: Any) -> str:
    prop = getter.__self__
    return next((name for name in ("T", "mT", "H", "mH", "data", "real") if vars(Tensor).get(name) is prop), "")


def keeps_zeros(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether function `name` is pointwise and maps zero to zero, and only one of the arguments is a tensor."""
    facts = facts_of(name)
    tensors = [value for value in (*args, *kwargs.values()) if isinstance(value, Tensor)]
    return facts is not None and facts.kind is Kind.POINTWISE and facts.keeps_zero and len(tensors) == 1


def _write_to_out(func: Any, out: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function, and store its result in `out`."""
    name = func.__name__
    lists = [value if isinstance(value, (tuple, list)) else [value] for value in (out, *args, *kwargs.values())]
    check_untracked(name, Out(0), any(value._requires_grad for values in lists for value in values if isinstance(value, Tensor)))
    if any(isinstance(value, SparseTensor) for values in lists[1:] for value in values):
        return store(name, out, _call(func, args, kwargs))
    if name != "zeros":
        raise RuntimeError(f"{name}(): cannot write a dense result to `out` in layout {out.layout}")
    return become(out, func(*args, **{**kwargs, "layout": out.layout, "dtype": out.dtype}))


def store(name: str, out: Any, result: Any) -> Any:
    """Store the result of a function in a sparse or dense tensor `out`, or results in a tuple of dense tensors."""
    if not isinstance(out, SparseTensor):
        return write(name, Out(0), out, to_dense(result) if isinstance(result, SparseTensor) else result)
    if isinstance(result, SparseTensor) and result._array.layout != out._array.layout:
        result = result.to_sparse(layout=out.layout, blocksize=_block_of(out))
    return become(out, result)


def _apply_to_values(func: Any, *args: Any, **kwargs: Any) -> Any:
    return IMPLEMENTATIONS["apply_to_values"](func, *args, **kwargs)


def _in_place(function: Callable[..., Any], self: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a function with `self`, and replace `self` by the result, in-place."""
    if not isinstance(self, SparseTensor):
        result = function(self, *args, **kwargs)
        check_castable(result.dtype, self.dtype)
        return self.copy_(result)
    if self._requires_grad and self._node is None and torch.is_grad_enabled():
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
    return become(self, function(snapshot(self), *args, **kwargs))


def check_castable(result: torch.dtype, target: torch.dtype) -> None:
    """Raise RuntimeError if a result with the dtype `result` cannot be written to a tensor with the dtype `target`."""
    if not torch.can_cast(result, target):
        raise cast_error(result, target)


def snapshot(self: SparseTensor) -> SparseTensor:
    """Return a tensor with the same data and history, which operations in-place on `self` leave unchanged."""
    result = make(self._array)
    result._node, result._requires_grad = self._node, self._requires_grad
    return result


def become(self: SparseTensor, result: Any) -> SparseTensor:
    """Replace the data and autograd history of a tensor by those of `result`, in-place."""
    if not isinstance(result, SparseTensor):
        raise RuntimeError(f"cannot store a result in layout {result.layout} in a tensor in layout {self.layout}")
    if result.dtype is not self.dtype:
        check_castable(result.dtype, self.dtype)
        result = result.to(self.dtype)
    if result is not self:
        self._array, self._node = result._array, result._node
        self._requires_grad = self._requires_grad or result._requires_grad
    self._bump_version()
    return self


# --- conversion from and to indices and values --------------------------------------------------------------------


def make(array: SparseArray) -> SparseTensor:
    """Wrap a SparseArray as a SparseTensor without history."""
    result = object.__new__(SparseTensor)
    result._array, result._key, result._requires_grad = array, array.key, False
    result._node = result._grad = result._storage = result._view = None
    return result


def detached(input: SparseTensor) -> SparseTensor:
    """Return a tensor with the same data, without history."""
    return make(input._array)


def nnz_of(tensor: Any) -> int:
    """Return the number of specified elements of a sparse tensor, or of blocks."""
    return int(tensor._array.parts[-1].shape[-1])


def parts_of(array: SparseArray) -> tuple[Tensor, ...]:
    """Return the index arrays as tensors: one for COO, the compressed and the plain indices for other layouts."""
    key = array.key
    return tuple(wrap(each, key.to(key.backend.dtype_of(each))) for each in array.parts)


class _Values(Function):
    """Return the specified elements of a sparse tensor.  The tensor's gradient is sparse, with the same indices."""

    @staticmethod
    def forward(ctx: Any, input: SparseTensor) -> Tensor:
        ctx.places = input._array
        return wrap(input._array.values, input._key)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        return gradient_at(ctx.places, gradient)


class _Build(Function):
    """Create a sparse tensor from values.  Their gradient is the gradient of the sparse tensor, taken at its indices."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, places: SparseArray) -> SparseTensor:
        result = make(places.with_values(values._array, values._key))
        ctx.places = result._array
        return result

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        return gather(gradient, ctx.places), None


class _ToDense(Function):
    """Convert a sparse tensor to dense.

    `masked` selects the gradient of the sparse tensor: with True, it is sparse with the indices of the tensor; with False, it is
    sparse with the nonzero elements of the incoming gradient; with None, it is dense.
    """

    @staticmethod
    def forward(ctx: Any, input: SparseTensor, masked: bool | None) -> Tensor:
        ctx.places, ctx.masked = input._array, masked
        return scatter(wrap(input._array.values, input._key), input._array)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        if ctx.masked:
            return gradient_at(ctx.places, gather(gradient, ctx.places)), None
        if ctx.masked is None or isinstance(gradient, SparseTensor):
            return gradient, None
        if ctx.places.layout == "sparse_coo":
            return gradient.to_sparse(ctx.places.parts[0].shape[0] or None), None
        layout, blocksize = ctx.places.layout, blocks_of(ctx.places, ctx.places.values)
        dense_dim = gradient.ndim - len(batch_of(ctx.places)) - 2
        return gradient.to_sparse(layout=LAYOUTS[layout], blocksize=blocksize, dense_dim=dense_dim), None


class _Linear(Function):
    """Compute a linear function of sparse tensors; `adjoints` map the gradient of the result to those of the operands.

    Unlike a gradient computed by `_Values` and `_Build`, that of an operand keeps the entries outside of the operand's indices.
    """

    @staticmethod
    def forward(ctx: Any, compute: Callable[..., Any], adjoints: Sequence[Callable[..., Any]], *operands: SparseTensor) -> Any:
        ctx.adjoints = adjoints
        return compute(*operands)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        needed = zip(ctx.adjoints, ctx.needs_input_grad[2:], strict=True)
        return None, None, *(adjoint(gradient) if needs_it else None for adjoint, needs_it in needed)


def apply_linear(compute: Callable[..., Any], adjoints: Sequence[Callable[..., Any]], *operands: SparseTensor) -> Any:
    """Return `compute(*operands)`, which is linear in each operand; each adjoint maps the result's gradient to an operand's."""
    if torch.is_grad_enabled() and any(operand._requires_grad for operand in operands):
        return _Linear.apply(compute, adjoints, *operands)
    return compute(*operands)


def values_of(input: SparseTensor) -> Tensor:
    """Return the specified elements, of shape `(nnz, ...)`, with gradients."""
    if input._requires_grad and torch.is_grad_enabled():
        return _Values.apply(input)  # type: ignore[no-any-return]  # `apply` returns Any
    return wrap(input._array.values, input._key)


def like(places: SparseArray, values: Tensor) -> SparseTensor:
    """Create a sparse tensor with the layout, shape and indices of `places`, and the elements `values`."""
    values = values._key.materialize(values)
    if values._requires_grad and torch.is_grad_enabled():
        return _Build.apply(values, places)  # type: ignore[no-any-return]  # `apply` returns Any
    return make(places.with_values(values._array, values._key))


def gradient_at(places: SparseArray, values: Tensor) -> SparseTensor:
    """Create the gradient of a tensor with the indices `places` from the gradient of each entry.

    Entries at equal indices have equal gradients: each of them is the gradient of the element, so only one is kept.
    """
    gradient = like(places, values)
    return gradient if places.coalesced else IMPLEMENTATIONS["without_duplicates"](gradient)


def build(layout: str, parts: Sequence[Tensor], values: Tensor, shape: Sequence[int], coalesced: bool = True) -> SparseTensor:
    """Create a sparse tensor from indices (`parts`), values and shape, without checks."""
    raw = tuple(each._key.materialize(each)._array for each in parts)
    return like(SparseArray(layout, raw, None, tuple(shape), values._key, coalesced), values)


def to_dense(input: SparseTensor, masked: bool | None = True) -> Tensor:
    """Convert a sparse tensor to dense; for `masked`, see `_ToDense`."""
    if input._requires_grad and torch.is_grad_enabled():
        return _ToDense.apply(input, masked)  # type: ignore[no-any-return]  # `apply` returns Any
    return scatter(wrap(input._array.values, input._key), input._array)


def same_indices(first: SparseArray, second: SparseArray) -> bool:
    """Whether two tensors have the same layout, the same shape, and the same indices in the same order."""
    if first.layout != second.layout or first.shape != second.shape:
        return False
    if all(a is b for a, b in zip(first.parts, second.parts, strict=True)):
        return True
    if any(a.shape != b.shape for a, b in zip(first.parts, second.parts, strict=True)):
        return False
    return all(bool((a == b).all()) for a, b in zip(parts_of(first), parts_of(second), strict=True))


# --- between dense tensors and values -----------------------------------------------------------------------------


def batch_of(array: SparseArray) -> tuple[int, ...]:
    """Return the sizes of the batch dimensions of a compressed tensor; `()` for COO."""
    return () if array.layout == "sparse_coo" else tuple(array.parts[0].shape[:-1])


def _matrices_of(array: SparseArray) -> list[SparseArray]:
    """Split the SparseArray of a batch of matrices into one SparseArray per matrix."""
    batch = len(batch_of(array))
    parts = [part.flatten(0, batch - 1).unbind(0) for part in parts_of(array)]
    values, shape = wrap(array.values, array.key).flatten(0, batch - 1).unbind(0), array.shape[batch:]
    return [
        SparseArray(array.layout, tuple(part._array for part in own), held._array, shape, array.key, array.coalesced)
        for *own, held in zip(*parts, values, strict=True)
    ]


def coordinates(array: SparseArray) -> tuple[Tensor, ...]:
    """Return, for each sparse dimension, the index of each value (or block)."""
    parts = parts_of(array)
    if array.layout == "sparse_coo":
        return tuple(parts[0].unbind(0))
    compressed, plain = parts
    if compressed.ndim > 1:
        raise RuntimeError(f"not supported for batches of matrices in layout torch.{array.layout}; select the matrices first")
    lengths = compressed.diff().to(torch.int64)
    expanded = torch.repeat_interleave(torch.arange(len(lengths), device=plain.device), lengths)
    plain = plain.to(torch.int64)
    return (expanded, plain) if array.layout in ("sparse_csr", "sparse_bsr") else (plain, expanded)


def blocks_of(array: SparseArray, values: Any) -> tuple[int, int] | None:
    """Return the shape of a block for BSR and BSC, else None."""
    return tuple(values.shape[1:3]) if array.layout in ("sparse_bsr", "sparse_bsc") else None


def scatter(values: Tensor, array: SparseArray) -> Tensor:
    """Create a dense tensor with values at the indices of `array`, zero elsewhere; values at the same index are added."""
    if values.dtype is torch.bool:
        return scatter(values.to(torch.uint8), array) != 0
    if batch := batch_of(array):
        held = values.flatten(0, len(batch) - 1)
        members = _matrices_of(array.with_values(values._array, values._key))
        return torch.stack([scatter(*each) for each in zip(held.unbind(0), members, strict=True)]).reshape(array.shape)
    index, shape, block = coordinates(array), array.shape, blocks_of(array, values)
    if block is not None:
        grid = (shape[0] // block[0], shape[1] // block[1])
        whole = values.new_zeros((*grid, *values.shape[1:])).index_put(index, values, accumulate=True)
        return whole.transpose(1, 2).reshape(shape)
    if not index:
        return values.sum(0).to(values.dtype)
    return values.new_zeros(shape).index_put(index, values, accumulate=True)


def gather(input: Tensor, places: SparseArray) -> Tensor:
    """Return the values of a dense or sparse tensor at the indices of `places`."""
    if isinstance(input, SparseTensor):
        if same_indices(input._array, places) and input._array.coalesced:
            return values_of(input)
        return _gather_sparse(input, places)
    if batch := batch_of(places):
        slices = input.flatten(0, len(batch) - 1)
        found = [gather(*each) for each in zip(slices.unbind(0), _matrices_of(places), strict=True)]
        return torch.stack(found).unflatten(0, batch)
    index = coordinates(places)
    if places.layout in ("sparse_bsr", "sparse_bsc"):
        shape, block = places.shape, _block_of_places(places)
        grid = input.reshape(shape[0] // block[0], block[0], shape[1] // block[1], block[1], *shape[2:]).transpose(1, 2)
        return grid[index]
    if not index:
        return input.unsqueeze(0).expand(places.parts[0].shape[1], *input.shape)
    return input[index]


def _block_of(tensor: SparseTensor) -> tuple[int, int] | None:
    return blocks_of(tensor._array, tensor._array.values)


def _block_of_places(places: SparseArray) -> tuple[int, int]:
    return tuple(places.values.shape[1:3])


def _gather_sparse(input: SparseTensor, places: SparseArray) -> Tensor:
    if places.layout != "sparse_coo" or input._array.layout != "sparse_coo":
        return gather(to_dense(input), places)
    return IMPLEMENTATIONS["values_at"](input, parts_of(places)[0])  # type: ignore[no-any-return]  # implementations return Any


# --- methods that the engine calls --------------------------------------------------------------------------------


def _sum_of(array: SparseArray, other: Any) -> Any:
    """Add two gradients that are given as arrays: a SparseArray, and a sparse or dense one."""
    first = make(array)
    second = make(other) if isinstance(other, SparseArray) else wrap(other, array.key)
    with torch.no_grad():
        total = IMPLEMENTATIONS["added_gradients"](first, second)
    return total._array


def _copy_of(array: SparseArray) -> SparseArray:
    return array.with_values(array.key.backend.copy(array.values), array.key)


def _cast_to(array: SparseArray, key: Any) -> SparseArray:
    return array.with_values(key.backend.astype(array.values, key.raw_dtype), key)


SparseArray.tensor_of, SparseArray.sum_of = staticmethod(make), staticmethod(_sum_of)
SparseArray.copy_of, SparseArray.cast_to = staticmethod(_copy_of), staticmethod(_cast_to)
SparseArray.dense = staticmethod(lambda array: to_dense(make(array))._array)
