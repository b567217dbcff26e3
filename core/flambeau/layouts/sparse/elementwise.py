"""Pointwise functions, arithmetic, copies and casts of sparse tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau as torch

from ...autograd.function import Function
from ...engine.calls.facts import Linearity, facts_of
from ...engine.calls.node_names import merge_nodes, with_grad_fn
from ...engine.devices.sparse_arrays import SparseArray
from ...engine.tensors.tensor import Tensor, alias
from ...engine.values.scalars import is_library_scalar
from .batches import matrices, stacked
from .construction import new_coo
from .layouts import broadcast_to, coalesced, convert, empty_like, flat_indices, indices_of, sparse_dims, to_coo, to_sparse
from .tensors import (
    BACKENDS,
    IMPLEMENTATIONS,
    SparseTensor,
    apply_linear,
    batch_of,
    become,
    build,
    check_castable,
    detached,
    gather,
    implements,
    like,
    make,
    nnz_of,
    same_indices,
    snapshot,
    to_dense,
    values_of,
)  # fmt: skip

__all__: list[str] = []

# --- functions of one number --------------------------------------------------------------------------------------

_COALESCED_BY_PYTORCH = ("deg2rad", "rad2deg")  # linear functions, but PyTorch coalesces their input


@implements()
def apply_to_values(func: Any, input: Any, *args: Any, coalesce: bool = True, **kwargs: Any) -> Any:
    """Apply a function with f(0) = 0 to the values of a sparse tensor.

    If the function is not linear, duplicate entries are added first. With `coalesce=False`, raise RuntimeError if there are any.
    """
    facts = facts_of(func.__name__)
    assert facts is not None  # `keeps_zeros` is True only for functions with facts
    is_linear = facts.linearity is Linearity.JOINT and facts.name not in _COALESCED_BY_PYTORCH
    needs_coalesced = not is_linear and input._array.layout == "sparse_coo"
    if needs_coalesced and not coalesce and not input._array.coalesced:
        raise RuntimeError(f"{func.__name__}_ requires coalesced input")
    source = coalesced(input) if needs_coalesced else input
    given = values_of(source)
    values = func(given, *args, **kwargs)
    if values is given:
        return source
    result = like(source._array, values)
    return merge_nodes(result, values.grad_fn.name(), (input,)) if values.requires_grad else result


@implements("negative", "__neg__", grad_fn="NegBackward0")
def neg(input: Any) -> Any:
    return apply_linear(lambda given: like(given._array, -values_of(given)), [torch.neg], input)


@implements("conj_physical", grad_fn="ConjBackward0")
def conj(input: Any) -> Any:
    """Return the conjugate as a new tensor: sparse tensors have no lazy conjugate views."""
    if not input.is_complex():
        return input
    return like(input._array, torch.conj_physical(values_of(input)))


@implements()
def is_nonzero(self: Any) -> bool:
    return bool(self)


@implements("resolve_conj", "resolve_neg")
def _resolved(input: Any) -> Any:
    return input


@implements("pow", "pow_scalar", "__pow__", grad_fn="PowBackward0")
def _pow(self: Any, exponent: Any) -> Any:
    if (isinstance(exponent, Tensor) and exponent.ndim) or not isinstance(self, SparseTensor):
        raise RuntimeError("pow(): only a sparse tensor to the power of a number is supported")
    number = exponent.item() if isinstance(exponent, Tensor) else exponent
    if number == 0:
        raise RuntimeError("pow: cannot raise to zeroth power on sparse tensor; it would make the result tensor dense")
    source = coalesced(self) if self._array.layout == "sparse_coo" else self
    return like(source._array, values_of(source) ** number)


# --- addition -----------------------------------------------------------------------------------------------------


def _is_number(value: Any) -> bool:
    return isinstance(value, (bool, int, float, complex)) or is_library_scalar(value)


@implements("__iadd__", grad_fn="AddBackward0")
def add(input: Any, other: Any, alpha: Any = 1) -> Any:
    if not isinstance(input, SparseTensor):
        return _dense_plus_sparse(input, other, alpha)
    if isinstance(other, SparseTensor):
        adjoints = (lambda gradient: gradient, lambda gradient: _scaled(gradient, alpha.conjugate(), gradient.dtype))
        return apply_linear(lambda first, second: _sum(first, second, alpha), adjoints, input, other)
    if input._array.layout != "sparse_coo" and isinstance(other, Tensor) and other.shape == input.shape:
        return to_dense(input, masked=None) + other * alpha
    raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")


def _dense_plus_sparse(input: Any, other: SparseTensor, alpha: Any) -> Tensor:
    if not isinstance(input, Tensor):
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    if input.shape != other.shape:
        raise RuntimeError(
            f"add: expected 'self' and 'other' to have same size, but self has size {list(input.shape)} while other has size "
            f"{list(other.shape)} (FYI: dense-sparse addition does not currently support broadcasting)"
        )
    return torch.add(input, to_dense(other, masked=None), alpha=alpha)


def _scaled(values: Any, alpha: Any, dtype: torch.dtype) -> Any:
    """Return `alpha * values`, computed in `dtype`, the common dtype of a sum: -1 times an unsigned integer may be negative."""
    return values if alpha == 1 else (values.to(dtype) * alpha).to(dtype)


def _sum(first: SparseTensor, second: SparseTensor, alpha: Any) -> Any:
    if first.shape != second.shape:
        raise RuntimeError(f"add: expected sizes of 'self' and 'other' to match, but {list(first.shape)} != {list(second.shape)}")
    layout, dtype = first._array.layout, torch.promote_types(first.dtype, second.dtype)
    scaled = _scaled(values_of(second), alpha, dtype)
    if layout == "sparse_coo" and not (nnz_of(first) and nnz_of(second)):
        rest = first if nnz_of(first) else like(second._array, scaled)
        return rest.to(dtype, copy=True)
    if same_indices(first._array, second._array):
        result = like(first._array, values_of(first) + scaled)
        result._array.coalesced = first._array.coalesced and second._array.coalesced
        return result
    second = like(second._array, scaled)
    if batch := batch_of(first._array):
        return stacked([_sum(one, other, 1) for one, other in zip(matrices(first), matrices(second), strict=True)], batch)
    if layout != "sparse_coo":
        return convert(_sum(to_coo(first), to_coo(second), 1), layout, _block(first))
    if sparse_dims(first) != sparse_dims(second):
        raise RuntimeError("add: expected 'self' and 'other' to have the same number of dense dimensions")
    return _concatenated(first, to_coo(second))


def _concatenated(first: SparseTensor, second: SparseTensor) -> SparseTensor:
    """Add two COO tensors by concatenating their entries; entries with equal indices are added if a tensor is coalesced."""
    indices = torch.cat([indices_of(first), indices_of(second)], 1)
    values, others = values_of(first), values_of(second)
    dtype = torch.promote_types(values.dtype, others.dtype)
    result = build("sparse_coo", [indices], torch.cat([values.to(dtype), others.to(dtype)]), first.shape, coalesced=False)
    flags = first._array.coalesced, second._array.coalesced
    if any(flags):
        result = coalesced(result)
        result._array.coalesced = all(flags)
    return result


def _block(tensor: SparseTensor) -> Any:
    array = tensor._array
    return tuple(array.values.shape[1:3]) if array.layout in ("sparse_bsr", "sparse_bsc") else None


@implements()
def added_gradients(first: SparseTensor, second: Tensor) -> Tensor:
    """Return the sum of two gradients of a tensor; the first is sparse, the second sparse or dense."""
    if not isinstance(second, SparseTensor):
        return second + to_dense(first)
    if first._array.layout == second._array.layout == "sparse_coo" and sparse_dims(first) != sparse_dims(second):
        return to_dense(first) + to_dense(second)
    if first._array.layout != second._array.layout:
        return added_gradients(to_coo(first), to_coo(second))
    return _sum(first, second, 1)  # type: ignore[no-any-return]  # a SparseTensor


@implements("__radd__")
def _radd(self: Any, other: Any) -> Any:
    return add(other, self)


@implements("__isub__", grad_fn="SubBackward0")
def sub(input: Any, other: Any, alpha: Any = 1) -> Any:
    _check_difference(input, other, alpha)
    return add(input, other, alpha=-alpha)


@implements("__rsub__")
def rsub(self: Any, other: Any) -> Any:
    return sub(other, self)


@implements()
def add_(self: Any, other: Any, *, alpha: Any = 1) -> Any:
    if isinstance(self, SparseTensor):
        _check_not_leaf(self)
        return become(self, add(snapshot(self), other, alpha=alpha))
    if self.shape != other.shape:
        return _dense_plus_sparse(self, other, alpha)  # raises RuntimeError: the shapes differ
    common = torch.result_type(self, other)
    check_castable(common, self.dtype)
    other = other if other._array.layout == "sparse_coo" else to_coo(other)
    values, indices = values_of(other), indices_of(other)
    values = _scaled(values, alpha, common).to(self.dtype)
    if len(indices) == 1:
        return self.index_add_(0, indices[0], values)
    return self.index_put_(tuple(indices.unbind(0)), values, accumulate=True) if len(indices) else self.add_(values.sum(0))


@implements("sub_", "subtract_")
def _sub_(self: Any, other: Any, *, alpha: Any = 1) -> Any:
    _check_difference(self, other, alpha)
    return add_(self, other, alpha=-alpha)


def _check_difference(input: Any, other: Any, alpha: Any) -> None:
    """Raise the errors of dense tensors of these dtypes: bools have no difference."""
    if isinstance(input, Tensor) and isinstance(other, Tensor):
        torch.sub(torch.empty(0, dtype=input.dtype), torch.empty(0, dtype=other.dtype), alpha=alpha)


def _check_not_leaf(self: SparseTensor) -> None:
    if self._requires_grad and self._node is None and torch.is_grad_enabled():
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")


# --- multiplication -----------------------------------------------------------------------------------------------


class _Product(Function):
    """Multiply a sparse tensor by a sparse or dense one of the same shape.

    The gradient of each operand has entries wherever those of the result and the other operand have some.
    """

    @staticmethod
    def forward(ctx: Any, first: SparseTensor, second: Tensor) -> SparseTensor:
        ctx.save_for_backward(first, second)
        return _product(first, second)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        first, second = ctx.saved_tensors
        for_first = gradient * second.conj() if ctx.needs_input_grad[0] else None
        return for_first, gradient * first.conj() if ctx.needs_input_grad[1] else None


@implements("__rmul__", "__imul__", grad_fn="MulBackward0")
def mul(input: Any, other: Any) -> Any:
    if not isinstance(input, SparseTensor):
        input, other = other, input
    if isinstance(other, SparseTensor) and (input.ndim == 0) != (other.ndim == 0):
        input, other = (input, to_dense(other)) if other.ndim == 0 else (other, to_dense(input))
    if _is_number(other) or (isinstance(other, Tensor) and not isinstance(other, SparseTensor) and other.ndim == 0):
        return _multiplied(input, other, lambda value, factor: value * factor)
    input, other = _broadcast(input, other)
    if torch.is_grad_enabled() and (input._requires_grad or other._requires_grad):
        return _Product.apply(input, other)
    return _product(input, other)


def _multiplied(input: SparseTensor, factor: Any, compute: Callable[[Any, Any], Any]) -> Any:
    """Multiply (or divide) all values by one number."""

    def on_values(given: SparseTensor) -> SparseTensor:
        return like(given._array, compute(values_of(given), factor))

    if isinstance(factor, complex) or (isinstance(factor, Tensor) and (factor._requires_grad or factor.is_complex())):
        return on_values(input)
    return apply_linear(on_values, [lambda gradient: compute(gradient, factor)], input)


def _broadcast(first: SparseTensor, second: Tensor) -> tuple[SparseTensor, Tensor]:
    """Broadcast a sparse and a dense tensor, or two COO tensors, to a common shape."""
    if first.shape == second.shape:
        return first, second
    shape = torch.broadcast_shapes(first.shape, second.shape)
    if not isinstance(second, SparseTensor):
        return first if first.shape == shape else broadcast_to(first, shape), second.expand(shape)
    if first._array.layout != "sparse_coo" or second._array.layout != "sparse_coo":
        raise RuntimeError(
            "mul(sparse, sparse): expected 'self' and 'other' to have same sizes, but "
            f"{list(first.shape)} != {list(second.shape)}"
        )
    return broadcast_to(first, shape), broadcast_to(second, shape)


def _product(first: SparseTensor, second: Tensor) -> SparseTensor:
    if not isinstance(second, SparseTensor):
        return like(first._array, values_of(first) * gather(second, first._array))
    if first._array.layout != "sparse_coo":
        if same_indices(first._array, second._array):
            return like(first._array, values_of(first) * values_of(second))
        return convert(_product(to_coo(first), to_coo(second)), first._array.layout, _block(first))
    second = to_coo(second)
    if sparse_dims(first) != sparse_dims(second):
        raise RuntimeError("mul(sparse, sparse): expected 'self' and 'other' to have the same number of dense dimensions")
    if first._array.coalesced and not second._array.coalesced:
        first, second = second, first  # the result has the entries of `first`
    if same_indices(first._array, second._array) and first._array.coalesced and second._array.coalesced:
        return like(first._array, values_of(first) * values_of(second))
    sizes = first.shape[: sparse_dims(first)]
    shared = torch.isin(flat_indices(indices_of(first), sizes), flat_indices(indices_of(second), sizes)).nonzero().squeeze(1)
    indices = indices_of(first)[:, shared]
    values = values_of(first)[shared] * IMPLEMENTATIONS["values_at"](second, indices)
    return build("sparse_coo", [indices], values, first.shape, first._array.coalesced and second._array.coalesced)


@implements("imul_dense", "mul_", "multiply_")
def _mul_(self: Any, other: Any) -> Any:
    if isinstance(self, SparseTensor):
        _check_not_leaf(self)
        return become(self, mul(snapshot(self), other))
    product = mul(self, other)
    check_castable(product.dtype, self.dtype)
    return self.copy_(to_dense(product))


def _division(name: str) -> Callable[..., Any]:
    def function(input: Any, other: Any, **kwargs: Any) -> Any:
        if not isinstance(input, SparseTensor) or not (_is_number(other) or (isinstance(other, Tensor) and other.ndim == 0)):
            shape = list(other.shape) if isinstance(other, Tensor) else "?"
            raise RuntimeError(
                f"Sparse division requires a scalar or zero-dim dense tensor divisor (got shape {shape} for divisor)"
            )
        rounds = name == "floor_divide" or kwargs.get("rounding_mode") is not None
        source = coalesced(input) if rounds and input._array.layout == "sparse_coo" else input
        compute = getattr(torch, name)
        if rounds:
            return like(source._array, compute(values_of(source), other, **kwargs))
        return _multiplied(source, other, compute)

    return function


implements("div", "divide", "true_divide", "__truediv__", "__div__", "__itruediv__", grad_fn="DivBackward0")(_division("div"))
implements("floor_divide", "__floordiv__", grad_fn="DivBackward0")(_division("floor_divide"))


# --- copies and casts ---------------------------------------------------------------------------------------------


@implements("detach", "data")
def _detach(self: Any) -> Any:
    return alias(self, SparseTensor)


@implements(grad_fn="CloneBackward0")
def clone(input: Any, *, memory_format: Any = None) -> Any:
    return apply_linear(lambda given: like(given._array, values_of(given).clone()), [lambda gradient: gradient], input)


@with_grad_fn("ToCopyBackward0")
def _copied(self: SparseTensor, values: Tensor) -> Any:
    return apply_linear(lambda given: like(given._array, values), [lambda gradient: gradient], self)


@implements()
def to(self: Any, *args: Any, **kwargs: Any) -> Any:
    kwargs.pop("memory_format", None)
    if not isinstance(self, SparseTensor):  # the call is `dense.to(sparse)`
        return self.to(args[0].device, args[0].dtype)
    args = tuple(alias(each, Tensor) if isinstance(each, SparseTensor) else each for each in args)
    layout = kwargs.pop("layout", None)
    values = values_of(detached(self))
    moved = values.to(*args, **kwargs)
    if moved is values or (moved._array is values._array and not kwargs.get("copy")):
        result: Any = self
    elif moved.device == self.device:
        result = _copied(self, moved)
    else:
        parts = [part.to(moved.device) for part in _index_parts(self)]
        result = build(self._array.layout, parts, values_of(self).to(*args, **kwargs), self.shape, self._array.coalesced)
    return result if layout is None else to_sparse(result, layout=layout)


def _index_parts(self: SparseTensor) -> Any:
    from .tensors import parts_of

    return parts_of(self._array)


def _casting(name: str) -> None:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        wanted = getattr(values_of(self.detach())[:0], name)(*args)
        return to(self, wanted.device, wanted.dtype)

    implements(name)(method)


for _name in (
    "float",
    "double",
    "half",
    "bfloat16",
    "int",
    "long",
    "short",
    "char",
    "byte",
    "bool",
    "cfloat",
    "cdouble",
    "cpu",
    "cuda",
):
    _casting(_name)


@implements("type")
def _type(self: Any, dtype: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
    if dtype is not None:
        return (
            to(self, dtype) if isinstance(dtype, torch.dtype) else to(self, getattr(torch, str(dtype).rpartition(".")[2]).dtype)
        )
    if self._array.layout != "sparse_coo":
        raise RuntimeError(f"type(): tensors in layout {self.layout} have no legacy type name; use .dtype and .layout")
    name = torch.zeros(0, dtype=self.dtype, device=self.device).type()
    head, _, last = name.rpartition(".")
    return f"{head}.sparse.{last}"


@implements()
def copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
    if not (isinstance(self, SparseTensor) and isinstance(src, SparseTensor)) or self._array.layout != src._array.layout:
        raise RuntimeError(
            "copy_() between dense and sparse Tensors is not implemented! Found self type = "
            f"{self.layout} and src type = {src.layout}"
        )
    if self.shape != src.shape:
        raise RuntimeError(
            f"copy_: only tensors of the same shape can be copied, but got {list(self.shape)} and {list(src.shape)}"
        )
    _check_not_leaf(self)
    return become(self, clone(src.to(self.dtype)))


@implements()
def zero_(self: Any) -> Any:
    return become(self, empty_like(self._array, self.shape, self.dtype))


@implements("zeros_like")
def _zeros_like(
    input: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    memory_format: Any = None,
    **options: Any,
) -> Any:
    if memory_format is not None and layout is not torch.strided:
        raise RuntimeError("memory format option is only supported by strided tensors")
    dtype, device = dtype or input.dtype, device or input.device
    if layout in (None, input.layout):
        result = empty_like(input._array, input.shape, dtype).to(device)
    else:
        result = torch.zeros(input.shape, dtype=dtype, layout=layout, device=device)
    return result.requires_grad_(requires_grad)


@implements("empty_like")
def _empty_like(input: Any, *, dtype: Any = None, layout: Any = None, **options: Any) -> Any:
    if input._array.layout == "sparse_coo" or layout is torch.strided:
        return _zeros_like(input, dtype=dtype, layout=layout, **options)
    if layout not in (None, input.layout):
        raise RuntimeError(
            "empty_like with different sparse layout is not supported "
            f"(self is {BACKENDS[input._array.layout]} but you requested {BACKENDS[str(layout).removeprefix('torch.')]})"
        )
    return full_like(input, 0, dtype=dtype, **options)


@implements()
def full_like(
    input: Any, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, **options: Any
) -> Any:
    """Return a compressed tensor with the indices of `input`, and `fill_value` at each of them."""
    if not isinstance(input, SparseTensor) or input._array.layout == "sparse_coo":
        raise NotImplementedError("full_like(): a COO tensor has no indices to fill; convert it with `to_dense()` first")
    values = torch.full_like(values_of(detached(input)), fill_value, dtype=dtype)
    return like(input._array, values).to(device or input.device).requires_grad_(requires_grad)


@implements()
def ones_like(input: Any, **options: Any) -> Any:
    return full_like(input, 1, **options)


@implements()
def fill_(self: Any, value: Any) -> Any:
    return become(self, full_like(self, value))


@implements("new_zeros", "new_empty")
def _new_zeros(self: Any, *size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False, **options: Any) -> Any:
    shape = tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    result = torch.zeros(shape, dtype=dtype or self.dtype, layout=self.layout, device=device or self.device)
    return result.requires_grad_(requires_grad)


@implements()
def new(self: Any, *args: Any, device: Any = None) -> Any:
    """Call the legacy constructor of COO tensors of this dtype: `new(indices, values, size)` or `new(*size)`."""
    if self._array.layout != "sparse_coo":
        raise RuntimeError(f"new(): not supported for tensors in layout {self.layout}")
    return new_coo("new", args, self.dtype, device, self.device)


@implements("__deepcopy__")
def _deepcopy(self: Any, memo: dict[int, Any]) -> Any:
    if self._node is not None:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment."
        )
    if id(self) not in memo:
        result = memo[id(self)] = make(SparseArray.copy_of(self._array))
        result._requires_grad = self._requires_grad
        if self._grad is not None:
            result._grad = self._grad.clone()
    return memo[id(self)]


@implements("__reduce_ex__")
def _reduce_ex(self: Any, protocol: Any) -> Any:
    from ...protocols.pickling import sparse_tensor
    from .tensors import parts_of

    plain = self.detach()
    data: tuple[Any, ...] = (*parts_of(self._array), values_of(plain), self.shape)
    if self._array.layout == "sparse_coo":
        data += (self._array.coalesced,)
    return sparse_tensor, (self.layout, data)
