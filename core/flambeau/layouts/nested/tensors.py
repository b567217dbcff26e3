"""The classes of nested tensors, and the lookup of implementations of `torch` functions for them."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

import flambeau as torch

from ...engine.calls.facts import Kind, facts_of, unaliased
from ...engine.calls.overriding import DisableTorchFunctionSubclass, redispatch_function
from ...engine.tape.node import Output
from ...engine.tensors.tensor import Tensor
from ...engine.values.sizes import Size
from ...protocols import pickling
from .sizes import SYMBOLS, size_of

__all__ = [
    "Nested",
    "NestedTensor",
    "StridedNestedTensor",
    "implements",
    "items_of",
    "lengths_of",
    "like",
    "strided_from_items",
    "with_moved_values",
]

C = TypeVar("C", bound=Callable[..., Any])


class _Shape:
    """The `_array` of a nested tensor. It has a shape but no elements."""

    __slots__ = ("shape",)
    dtype = None

    def __init__(self, shape: Any) -> None:
        self.shape = shape

    @property
    def ndim(self) -> int:
        return len(self.shape)


_NEED_NO_ELEMENTS = (
    "element_size", "get_device", "is_complex", "is_cpu", "is_cuda", "is_floating_point", "is_inference", "is_meta", "is_signed",
    "itemsize", "output_nr",
)  # fmt: skip


class Nested(Tensor):
    """A batch of tensors that differ in size, in one dimension or in several: see `torch.nested`.

    One tensor, `_values`, holds the elements of all items. Operations compute on `_values` and are recorded there: the nested
    tensor has no autograd node apart from that of `_values`.
    """

    _values: Tensor  # type: ignore[assignment]  # in Tensor, a method
    kinds: ClassVar[dict[Kind, Callable[..., Any]]] = {}  # {kind of function: implementation}
    implementations: ClassVar[dict[str, Callable[..., Any]]] = {}  # {function name: implementation}
    # Copy these methods from Tensor, so that calls of them skip `__torch_function__`.
    locals().update({name: vars(Tensor)[name] for name in _NEED_NO_ELEMENTS})
    is_nested: bool = True

    def like(self, values: Tensor) -> Any:
        """Return a nested tensor with these values, split into items like `self`. Dimensions that are not ragged may differ."""
        raise NotImplementedError

    def items(self) -> Sequence[Tensor]:
        """Return the tensors of the batch."""
        raise NotImplementedError

    def to_padded_tensor(self, padding: float, output_size: Any = None, out: Any = None) -> Tensor:
        """Return a dense tensor of the items, each padded at its end: see `torch.nested.to_padded_tensor`."""
        return torch.nested.to_padded_tensor(self, padding, output_size, out)  # type: ignore[no-any-return]

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _call(func, args, kwargs or {})

    # --- the graph ---

    @property
    def _requires_grad(self) -> bool:  # type: ignore[override]
        return self._values._requires_grad

    @property
    def _node(self) -> Any:
        return self._values._node

    @property
    def requires_grad(self) -> bool:
        """Whether operations on the tensor are recorded."""
        return self._values.requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self._values.requires_grad = value

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Set `requires_grad` in-place, and return the tensor."""
        self._values.requires_grad_(requires_grad)
        return self

    @property
    def is_leaf(self) -> bool:
        """Whether the tensor is a leaf of the autograd graph: it has no `grad_fn`."""
        return self._values.is_leaf

    @property
    def grad_fn(self) -> Any:
        """The node of the operation that computed the tensor; None for a leaf."""
        return self._node.node if type(self._node) is Output else self._node

    @property
    def grad(self) -> Any:
        """The gradient accumulated by `backward`, a nested tensor, or None."""
        return None if self._values.grad is None else self.like(self._values.grad)

    @grad.setter
    def grad(self, value: Any) -> None:
        self._values.grad = _unwrapped(value)

    @grad.deleter
    def grad(self) -> None:
        del self._values.grad

    @property
    def retains_grad(self) -> bool:
        """Whether `retain_grad` has been called on this non-leaf tensor."""
        return self._values.retains_grad

    def retain_grad(self) -> None:
        """Let backward accumulate `grad` for this tensor, although it is not a leaf."""
        self._values.retain_grad()

    def register_hook(self, hook: Callable[..., Any]) -> Any:
        """Call `hook(grad)`, with a nested tensor, whenever this tensor's gradient is computed."""
        return self._values.register_hook(lambda gradient: _unwrapped(hook(self.like(gradient))))

    def backward(
        self,
        gradient: Any = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Any = None,
        retain_variables: bool | None = None,
    ) -> None:
        """Compute the gradients of the leaves, given the gradient of this tensor, a nested tensor."""
        torch.autograd.backward(self, gradient, retain_graph, create_graph, inputs=inputs, retain_variables=retain_variables)

    def detach(self) -> Any:
        """Return a tensor with the same memory but no history."""
        return self.like(self._values.detach())

    @property
    def data(self) -> Any:
        """Return a tensor with the same memory but no history."""
        return self.detach()

    @data.setter
    def data(self, value: Any) -> None:
        self._values.data = _unwrapped(value)

    @property
    def _version(self) -> int:
        return self._values._version

    # --- attributes ---

    @property
    def dtype(self) -> Any:
        """The dtype of the elements."""
        return self._values.dtype

    @property
    def device(self) -> Any:
        """The device of the elements."""
        return self._values.device

    def dim(self) -> int:
        """The number of dimensions, including the batch."""
        return self._array.ndim  # type: ignore[no-any-return]  # arrays are untyped

    ndimension = dim

    @property
    def ndim(self) -> int:
        """The number of dimensions, including the batch."""
        return self.dim()

    def numel(self) -> int:
        """Return the number of elements of all items."""
        return self._values.numel()

    nelement = numel

    def __len__(self) -> int:
        return self._array.shape[0]  # type: ignore[no-any-return]  # arrays are untyped

    def __iter__(self) -> Any:
        return iter(self.items())

    def __bool__(self) -> bool:
        if self.numel() != 1:
            what = "no values" if self.numel() == 0 else "more than one value"
            raise RuntimeError(f"Boolean value of Tensor with {what} is ambiguous")
        return bool(self.item())

    def item(self) -> Any:
        """Return the only element as a Python scalar.  RuntimeError unless the tensor has exactly one element."""
        if self.numel() != 1:
            raise RuntimeError(f"a Tensor with {self.numel()} elements cannot be converted to Scalar")
        return self._values.item()

    def tolist(self) -> Any:
        """Raise RuntimeError, as PyTorch does for tensor subclasses."""
        raise RuntimeError(f".tolist() is not supported for tensor subclasses, got {type(self).__name__}")

    def numpy(self, *, force: bool = False) -> Any:
        """Raise RuntimeError, as PyTorch does for tensor subclasses."""
        raise RuntimeError(".numpy() is not supported for tensor subclasses.")

    def data_ptr(self) -> int:
        """Return the address of the values in memory."""
        return self._values.data_ptr()

    def untyped_storage(self) -> Any:
        """Return the storage of the values."""
        return self._values.untyped_storage()

    def storage_offset(self) -> int:
        """Return the offset of the values in their storage, in elements."""
        return self._values.storage_offset()

    def share_memory_(self) -> Any:
        """Move values, offsets and lengths to memory shared with other processes."""
        for part in self._parts():
            part.share_memory_()
        return self

    def is_shared(self) -> bool:
        """Whether values, offsets and lengths are in memory shared with other processes."""
        return all(part.is_shared() for part in self._parts())

    def as_subclass(self, cls: type) -> Any:
        """Return this tensor if it is an instance of `cls`, else raise NotImplementedError."""
        if isinstance(self, cls) and cls is not Tensor:
            return self
        raise NotImplementedError(f"aten.alias.default: a nested tensor cannot become an instance of {cls.__name__}")

    def _parts(self) -> list[Tensor]:
        return [self._values]

    def __format__(self, spec: str) -> str:
        return object.__format__(self, spec)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = self.like(copy.deepcopy(self._values, memo))
        return memo[id(self)]

    def __copy__(self) -> Any:
        return self.like(self._values)


def _unwrapped(value: Any) -> Any:
    return value._values if isinstance(value, Nested) else value


class NestedTensor(Nested):
    """A nested tensor in the layout `torch.jagged`: its items differ in one dimension, along which they are concatenated.

    Args:
        values: the elements of all items.
        offsets: the start of each item along the ragged dimension, and the end of the last one, of shape `(B + 1,)`.
        lengths: the length of each item, of shape `(B,)`, if there are gaps between items.
    """

    _offsets: Tensor
    _lengths: Tensor | None
    _ragged_idx: int
    _metadata_cache: dict[str, Any]
    implementations: ClassVar[dict[str, Callable[..., Any]]] = {}
    layout: Any = torch.jagged

    def __new__(
        cls,
        values: Tensor,
        offsets: Tensor,
        *,
        lengths: Tensor | None = None,
        _ragged_idx: int = 1,
        requires_grad: bool = False,
        _metadata_cache: dict[str, Any] | None = None,
    ) -> Any:
        """Create a nested tensor from values, offsets and lengths, without checks."""
        self = object.__new__(cls)
        self._values, self._offsets, self._lengths, self._ragged_idx = values, offsets, lengths, _ragged_idx
        self._metadata_cache = _metadata_cache if _metadata_cache is not None else {}
        inner = tuple(values.shape)
        ragged = size_of(offsets if lengths is None else lengths)
        self._array = _Shape(Size((len(offsets) - 1, *inner[: _ragged_idx - 1], ragged, *inner[_ragged_idx:])))
        self._key = values._key
        self._storage = self._view = self._grad = None
        if requires_grad and not values._requires_grad:
            values.requires_grad_()
        return self

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing: `__new__` sets all attributes."""

    @property
    def shape(self) -> Any:
        """The shape; the ragged dimension has a symbolic size such as `j1`."""
        return self._array.shape

    @property
    def _size(self) -> Any:
        return self._array.shape

    def size(self, dim: int | None = None) -> Any:
        """Return the shape, or the size of a dimension. The ragged dimension has a symbolic size, such as `j1`."""
        return self.shape if dim is None else self.shape[wrapped(dim, self.dim())]

    @property
    def _strides(self) -> tuple[Any, ...]:
        steps = self._values.stride()
        ragged = self.shape[self._ragged_idx]
        return (ragged * steps[self._ragged_idx - 1], *steps)

    def stride(self, dim: int | None = None) -> Any:
        """Return all strides, or the stride of a dimension. The batch dimension has a symbolic stride, such as `4*j1`."""
        return self._strides if dim is None else self._strides[wrapped(dim, self.dim())]

    def numel(self) -> int:
        """Return the number of elements of all items."""
        if self._lengths is None:
            return self._values.numel()
        fixed = math.prod(n for place, n in enumerate(self._values.shape) if place != self._ragged_idx - 1)
        return int(self._lengths.sum()) * fixed

    nelement = numel

    def is_contiguous(self, *, memory_format: Any = torch.contiguous_format) -> bool:
        """Whether there are no gaps between the items, and the values are contiguous."""
        return self._lengths is None and self._values.is_contiguous(memory_format=memory_format)

    def values(self) -> Tensor:
        """Return the elements of all items, concatenated along the ragged dimension."""
        return self._values

    def offsets(self) -> Tensor:
        """Return the start of each item along the ragged dimension of the values, and the end of the last one."""
        return self._offsets

    def lengths(self) -> Tensor | None:
        """Return the lengths of the items if there are gaps between them, else None."""
        return self._lengths

    def _parts(self) -> list[Tensor]:
        return [self._values, self._offsets, *([] if self._lengths is None else [self._lengths])]

    def like(self, values: Tensor, ragged_idx: int | None = None) -> Any:
        """Return a nested tensor with these values and the item lengths of `self`. `ragged_idx` is the new ragged dimension."""
        return NestedTensor(
            values,
            self._offsets,
            lengths=self._lengths,
            _ragged_idx=self._ragged_idx if ragged_idx is None else ragged_idx,
            _metadata_cache=self._metadata_cache,
        )

    def items(self) -> Sequence[Tensor]:
        """Return the tensors of the batch: views of the values."""
        dim, starts, lengths = self._ragged_idx - 1, self._offsets.tolist(), lengths_of(self).tolist()
        if self._lengths is None and starts[0] == 0 and starts[-1] == self._values.shape[dim]:
            return self._values.split(lengths, dim)
        return tuple(self._values.narrow(dim, start, length) for start, length in zip(starts[:-1], lengths, strict=True))

    def _get_max_seqlen(self) -> int:
        return self._cached_seqlen("max_seqlen", torch.max)

    def _get_min_seqlen(self) -> int:
        return self._cached_seqlen("min_seqlen", torch.min)

    def _cached_seqlen(self, name: str, function: Callable[[Tensor], Tensor]) -> int:
        if self._metadata_cache.get(name) is None:
            self._metadata_cache[name] = int(function(lengths_of(self)))
        return int(self._metadata_cache[name])

    _max_seqlen = property(_get_max_seqlen)
    _min_seqlen = property(_get_min_seqlen)

    @property
    def _maybe_max_seqlen(self) -> int | None:
        return self._metadata_cache.get("max_seqlen")

    @property
    def _maybe_min_seqlen(self) -> int | None:
        return self._metadata_cache.get("min_seqlen")

    def __tensor_flatten__(self) -> tuple[list[str], dict[str, Any]]:
        """Return the names of the inner tensors, and a dictionary with the other attributes."""
        names = ["_values", "_offsets", *([] if self._lengths is None else ["_lengths"])]
        return names, {"requires_grad": self.requires_grad, "ragged_idx": self._ragged_idx}

    @staticmethod
    def __tensor_unflatten__(inner_tensors: dict[str, Tensor], meta: dict[str, Any], outer_size: Any, outer_stride: Any) -> Any:
        """Create a nested tensor from inner tensors and the dictionary of `__tensor_flatten__`."""
        values, offsets, lengths = (inner_tensors.get(name) for name in ("_values", "_offsets", "_lengths"))
        return NestedTensor(values, offsets, lengths=lengths, _ragged_idx=meta["ragged_idx"], requires_grad=meta["requires_grad"])

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]  # it takes what Tensor's takes
        history = (
            f", grad_fn={self.grad_fn}" if self.grad_fn is not None else ", requires_grad=True" if self.requires_grad else ""
        )
        size = tuple(self.shape)
        return f"NestedTensor(size={size}, offsets={self._offsets}{history}, contiguous={self.is_contiguous()})"

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _rebuild_njt, (
            {
                "values": self._values.detach(),
                "offsets": self._offsets,
                "lengths": self._lengths,
                "_ragged_idx": self._ragged_idx,
                "requires_grad": self.requires_grad,
            },
        )


def _rebuild_njt(constructor_kwargs: dict[str, Any]) -> NestedTensor:
    """Rebuild a nested tensor when a pickle is loaded."""
    parts = {name: value for name, value in constructor_kwargs.items() if name != "_metadata_cache"}
    return NestedTensor(**parts)


class StridedNestedTensor(Nested):
    """A nested tensor in the layout `torch.strided`: items may differ in all dimensions, and are stored contiguously in order."""

    implementations: ClassVar[dict[str, Callable[..., Any]]] = {}
    _sizes: tuple[Size, ...]

    def __len__(self) -> int:
        return len(self.shape)  # `shape` raises the RuntimeError that PyTorch raises

    def __new__(cls, values: Tensor, sizes: Sequence[Size]) -> Any:
        """Create a nested tensor from one-dimensional values and the sizes of the items."""
        self = object.__new__(cls)
        self._values, self._sizes = values, tuple(sizes)
        self._array = _Shape((len(sizes), *(None for _ in (sizes[0] if sizes else ()))))
        self._key = values._key
        self._storage = self._view = self._grad = None
        return self

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing: `__new__` sets all attributes."""

    @property
    def shape(self) -> Any:
        """Raise RuntimeError, as PyTorch does: the items differ in shape."""
        raise RuntimeError("Internal error: NestedTensorImpl doesn't support sizes. Please file an issue.")

    def size(self, dim: int | None = None) -> Any:
        """Return the size of a dimension.  RuntimeError if it differs between items, or if `dim` is None."""
        if dim is None:
            return self.shape
        dim = wrapped(dim, self.dim())
        sizes = {size[dim - 1] for size in self._sizes} if dim else {len(self._sizes)}
        if len(sizes) != 1:
            raise RuntimeError(f"Given dimension {dim} is irregular and does not have a size.")
        return sizes.pop()

    def stride(self, dim: int | None = None) -> Any:
        """Raise RuntimeError, as PyTorch does: the items differ in strides."""
        raise RuntimeError("Internal error: NestedTensorImpl doesn't support strides. Please file an issue.")

    def is_contiguous(self, *, memory_format: Any = torch.contiguous_format) -> bool:
        """Return True: the items are always stored contiguously."""
        return True

    def values(self) -> Tensor:
        """Return the elements of all items as a one-dimensional tensor."""
        return self._values

    def _nested_tensor_size(self) -> Tensor:
        """Return the sizes of the items, of shape `(B, ndim - 1)`."""
        return torch.tensor([list(size) for size in self._sizes], dtype=torch.int64).reshape(len(self._sizes), self.dim() - 1)

    def _nested_tensor_strides(self) -> Tensor:
        """Return the strides of the items, of shape `(B, ndim - 1)`."""
        rows = [[math.prod(size[place + 1 :]) for place in range(len(size))] for size in self._sizes]
        return torch.tensor(rows, dtype=torch.int64).reshape(len(rows), self.dim() - 1)

    def _nested_tensor_storage_offsets(self) -> Tensor:
        """Return the offset of each item in the values, of shape `(B,)`."""
        return torch.tensor([0, *(math.prod(size) for size in self._sizes)][:-1], dtype=torch.int64).cumsum(0)

    def like(self, values: Tensor) -> Any:
        """Return a nested tensor with other values and items of the same sizes."""
        return StridedNestedTensor(values, self._sizes)

    def items(self) -> Sequence[Tensor]:
        """Return the tensors of the batch: views of the values."""
        parts = self._values.split([math.prod(size) for size in self._sizes])
        return tuple(part.view(size) for part, size in zip(parts, self._sizes, strict=True))

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]  # it takes what Tensor's takes
        texts = [repr(item.detach()).replace("\n", "\n  ") for item in self.items()]
        lines = ",\n  ".join(texts)
        name = type(self._node.node if type(self._node) is Output else self._node).__name__
        history = f", grad_fn=<{name}>" if self._node is not None else ", requires_grad=True" if self.requires_grad else ""
        return f"nested_tensor([\n  {lines}\n]{history})" if texts else f"nested_tensor([\n\n]{history})"

    def __reduce_ex__(self, protocol: Any) -> Any:
        places = self._nested_tensor_size(), self._nested_tensor_strides(), self._nested_tensor_storage_offsets()
        values = self._values.detach().requires_grad_(self.requires_grad)
        return pickling.nested_tensor, (values, *places)


def wrapped(dim: int, ndim: int) -> int:
    if not -ndim <= dim < ndim:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got {dim})")
    return dim % ndim


def lengths_of(input: NestedTensor) -> Tensor:
    """Return the lengths of the items along the ragged dimension."""
    return input._offsets.diff() if input._lengths is None else input._lengths


def items_of(input: Any) -> Sequence[Tensor]:
    """Return the items of a nested tensor, or the rows of a dense one."""
    return input.items() if isinstance(input, Nested) else input.unbind(0)


def like(input: Nested, result: Any) -> Any:
    """Wrap a result computed from the values as a nested tensor; for a named tuple of results, wrap each."""
    if isinstance(result, Tensor):
        return input.like(result)
    return type(result)([like(input, part) for part in result])


def with_moved_values(input: NestedTensor, values: Tensor) -> Any:
    """Return `input` with `values`, which were moved to another device. Offsets and lengths follow; the ragged size is kept."""
    source = input._offsets if input._lengths is None else input._lengths
    offsets = input._offsets.to(values.device)
    lengths = None if input._lengths is None else input._lengths.to(values.device)
    SYMBOLS[offsets if lengths is None else lengths] = size_of(source)
    return NestedTensor(values, offsets, lengths=lengths, _ragged_idx=input._ragged_idx, _metadata_cache=input._metadata_cache)


def strided_from_items(items: Sequence[Tensor]) -> Any:
    """Create a nested tensor in the strided layout from its items; gradients flow to them."""
    if not items:
        return StridedNestedTensor(torch.empty(0), ())
    return StridedNestedTensor(torch.cat([item.reshape(-1) for item in items]), [item.shape for item in items])


# --- calls --------------------------------------------------------------------------------------------------------


def implements(cls: type[Nested], *names: str) -> Callable[[C], C]:
    """Return a decorator: for a nested class, the decorated function implements the functions and Tensor methods in `names`.

    By default, the only name is that of the decorated function, without a leading `_` or `_strided_`.
    """

    def register(function: C) -> C:
        own_name = function.__name__.removeprefix("_").removeprefix("strided_")
        cls.implementations.update(dict.fromkeys(names or (own_name,), function))
        return function

    return register


def _call(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function of `torch`, or a method or property of Tensor, with nested arguments."""
    name = func.__name__
    module = getattr(func, "__module__", None) or ""
    if func in (torch.autograd.grad, torch.autograd.backward):
        return _call_autograd(func, name, args, kwargs)
    is_ours = module.partition(".")[0] in ("flambeau", "flambeau_nnlib", "torch", "builtins", "")
    if not is_ours or name.startswith("_foreach_") or module.startswith("torch._ops."):
        return redispatch_function(func, (), args, kwargs)  # a composite or an operator: its operations are handled one by one
    if name in ("__get__", "__set__", "__delete__"):
        name = _name_of_property(func) if name == "__get__" else name
        if name not in NestedTensor.implementations:
            with DisableTorchFunctionSubclass():
                return func(*args, **kwargs)
    cls = next(type(value) for value in _flattened([*args, *kwargs.values()]) if isinstance(value, Nested))
    facts = facts_of(name)
    operation = name if name in cls.implementations else unaliased(name)
    if operation in cls.implementations:
        return cls.implementations[operation](*args, **kwargs)
    if facts is not None and facts.kind in Nested.kinds:
        return Nested.kinds[facts.kind](func, *args, **kwargs)
    own = getattr(cls, name, None)
    if own is not None and not hasattr(own, "__wrapped__"):  # a function call of a method that the class defines
        return own(*args, **kwargs)
    if name in _COMPOSITES or module.partition(".")[0] == "flambeau_nnlib" or module.startswith("torch.nn"):
        return redispatch_function(func, (), args, kwargs)
    raise NotImplementedError(
        f"aten.{name}.default is not implemented for nested tensors in the layout {cls.layout}; call it for each item of "
        "`unbind()`, or for the dense tensor `to_padded_tensor(padding)`"
    )


_COMPOSITES = frozenset({"tensor_split", "multi_head_attention_forward"})


def _flattened(values: Any) -> Any:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _flattened(value)
        else:
            yield value


def _name_of_property(getter: Any) -> str:
    prop = getter.__self__
    return next((name for name in ("T", "mT", "H", "data", "real") if vars(Tensor).get(name) is prop), "")


def _call_autograd(func: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call `torch.autograd.grad` or `backward` with `_values` in place of nested tensors; wrap gradients as nested tensors."""

    def plain(value: Any) -> Any:
        return tuple(map(plain, value)) if isinstance(value, (list, tuple)) else _unwrapped(value)

    with DisableTorchFunctionSubclass():
        found = func(*map(plain, args), **{key: plain(value) for key, value in kwargs.items()})
    if name == "backward":
        return None
    inputs = args[1] if len(args) > 1 else kwargs["inputs"]
    inputs = inputs if isinstance(inputs, (list, tuple)) else [inputs]
    return tuple(
        input.like(gradient) if isinstance(input, Nested) and gradient is not None else gradient
        for input, gradient in zip(inputs, found, strict=True)
    )
