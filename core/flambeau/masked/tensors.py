"""`MaskedTensor`: a tensor with a mask, as a wrapper subclass.

Operators reach `__torch_dispatch__`, which applies them to the data, and to the mask if they move elements.  Gradients of masked
tensors are masked tensors, so that an infinite derivative at a masked element does not spread.  Reductions are functions of
`torch.masked`, which `flambeau.masked` enters into `REDUCTIONS`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..autograd.function import Function
from ..engine.calls.facts import Kind, facts_of
from ..engine.calls.overriding import DisableTorchFunctionSubclass
from ..engine.tensors.tensor import Tensor
from ..engine.values import dtypes
from ..engine.values.constants import sparse_coo, sparse_csr, strided
from ..engine.values.trees import tree_map
from ..operations.creation.from_data import as_tensor

__all__ = ["REDUCTIONS", "MaskedTensor", "as_masked_tensor", "is_masked_tensor", "masked_tensor", "wrap_result"]

REDUCTIONS: dict[str, Callable[..., Any]] = {}  # by name: the functions of `torch.masked` that replace PyTorch's


class MaskedTensor(Tensor):
    """A tensor with a bool mask of the same shape.  Elements where the mask is False are ignored.

    Elementwise functions keep the mask.  Views and copies in another arrangement apply to data and mask.  Reductions are computed
    by the functions of `torch.masked`.  Two masked tensors in one operation must have equal masks.

    Raises:
        TypeError: `mask` is not a bool tensor, or `data` is not a tensor, or an operation is not supported.
        ValueError: their shapes differ, or two masked tensors in one operation have different masks.

    >>> torch.masked.masked_tensor(torch.tensor([1.0, 2.0]), torch.tensor([True, False]))
    MaskedTensor(
      [  1.0000,       --]
    )
    """

    _masked_data: Tensor
    _masked_mask: Tensor

    @staticmethod
    def __new__(cls, data: Tensor, mask: Tensor, requires_grad: bool = False) -> MaskedTensor:
        if not isinstance(data, Tensor) or isinstance(data, MaskedTensor):
            raise TypeError("data must be a Tensor")
        if not isinstance(mask, Tensor) or mask.dtype is not dtypes.bool_:
            raise TypeError("mask must have dtype bool.")
        if data.ndim != mask.ndim:
            raise ValueError("data.dim() must equal mask.dim()")
        if data.shape != mask.shape:
            raise ValueError("data.size() must equal mask.size()")
        tensor: MaskedTensor = Tensor._make_wrapper_subclass(
            cls, data.shape, dtype=data.dtype, device=data.device, layout=data.layout
        )
        tensor._masked_data, tensor._masked_mask = data.detach(), mask
        if requires_grad:
            tensor.requires_grad = True
        return tensor

    def __init__(self, data: Tensor, mask: Tensor, requires_grad: bool = False) -> None:
        pass

    def get_data(self) -> Tensor:
        """Return the data, including the elements where the mask is False.  Sparse data have no history."""
        return self._masked_data if is_sparse(self._masked_data) else _Data.apply(self)

    def get_mask(self) -> Tensor:
        """Return the mask."""
        return self._masked_mask

    def to_tensor(self, value: float) -> Tensor:
        """Return the data with `value` where the mask is False."""
        return self.get_data().masked_fill(~self._masked_mask, value)

    def is_sparse_coo(self) -> bool:
        """Whether data and mask are sparse tensors in the layout COO."""
        return self._masked_data.layout is sparse_coo

    def is_sparse_csr(self) -> bool:  # type: ignore[override]  # a method, as in PyTorch
        """Whether data and mask are sparse tensors in the layout CSR."""
        return self._masked_data.layout is sparse_csr

    def item(self) -> Any:
        """Return the only element as a Python number."""
        return self._masked_data.item()

    def __bool__(self) -> bool:
        return bool(self._masked_data)

    def tolist(self) -> Any:
        """Raise RuntimeError: a list has no mask; call it on `get_data()`."""
        raise RuntimeError(".tolist() is not supported for tensor subclasses, got MaskedTensor")

    @classmethod
    def __torch_function__(cls, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs, name = kwargs or {}, func.__name__
        if name in REDUCTIONS and args and isinstance(args[0], MaskedTensor):
            return REDUCTIONS[name](*args, **kwargs)
        if name == "where" and len(args) == 3:
            return _where(*args)
        if name in ("to_dense", "to_sparse", "to_sparse_coo", "to_sparse_csr"):
            return MaskedTensor(*(getattr(part, name)() for part in (args[0]._masked_data, args[0]._masked_mask)))
        if any(isinstance(arg, MaskedTensor) and is_sparse(arg._masked_data) for arg in args) and name != "__get__":
            return _on_sparse(func, args, kwargs)
        with DisableTorchFunctionSubclass():
            return func(*args, **kwargs)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        base = name.removeprefix("_").rstrip("_") if name != "_to_copy" else "clone"
        facts = facts_of(base)
        kwargs, masks = kwargs or {}, list[Tensor]()
        tree_map(lambda part: masks.append(part._masked_mask) if isinstance(part, MaskedTensor) else None, (args, kwargs))
        if base == "sum":
            return _sum(func, masks[0], *args, **kwargs)
        kind = None if facts is None else facts.kind
        if kind in _MOVING:
            moved = (func(*tree_map(part, args), **tree_map(part, kwargs)) for part in (_data_of, _mask_of))
            return _pair(*moved)
        if kind not in _KEEPING_MASK and base not in ("detach", "clone", "softmax", "log_softmax", "softmax_backward_data"):
            return NotImplemented
        if any(not equal_masks(mask, masks[0]) for mask in masks[1:]):
            raise ValueError("Input masks must match. If you need support for this, please open an issue on Github.")
        result = func(*tree_map(_data_of, args), **tree_map(_data_of, kwargs))
        if name.endswith("_"):
            return args[0]
        return MaskedTensor(result, masks[0]) if isinstance(result, Tensor) else result

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]  # takes what Tensor takes
        def shown(data: Any, mask: Any) -> Any:
            if not isinstance(data, list):
                return "--" if not mask else f"{data:8.4f}" if isinstance(data, float) else str(data)
            return [shown(*pair) for pair in zip(data, mask, strict=True)]

        def lines(rows: Any, indent: str) -> str:
            if not rows or not isinstance(rows[0], list):
                width = max(8, *map(len, rows)) if rows else 0
                return f"{indent}[{', '.join(row.rjust(width) if row == '--' else row for row in rows)}]"
            return f"{indent}[\n" + ",\n".join(lines(row, indent + "  ") for row in rows) + f"\n{indent}]"

        data, mask = map(dense, (self._masked_data, self._masked_mask))
        rows = shown(data.tolist(), mask.tolist())
        if not self.ndim:
            return f"MaskedTensor({rows.rjust(8) if rows == '--' else rows}, {bool(mask)})"
        return f"MaskedTensor(\n{lines(rows, '  ')}\n)"


# --- operators ----------------------------------------------------------------------------------------------------

_MOVING = frozenset({Kind.VIEW, Kind.MOVEMENT, Kind.INDEXING})
_KEEPING_MASK = frozenset({Kind.POINTWISE, Kind.LIKE, Kind.CONVERSION, Kind.RANDOM})


def _data_of(value: Any) -> Any:
    return value._masked_data if isinstance(value, MaskedTensor) else value


def _mask_of(value: Any) -> Any:
    return value._masked_mask if isinstance(value, MaskedTensor) else value


def _pair(data: Any, mask: Any) -> Any:
    """Combine results for data and mask: tensors, or sequences of tensors."""
    return MaskedTensor(data, mask) if isinstance(data, Tensor) else type(data)(map(MaskedTensor, data, mask))


def equal_masks(mask: Tensor, other: Tensor) -> bool:
    """Whether two masks are equal; they may be sparse."""
    return mask.shape == other.shape and bool((dense(mask) == dense(other)).all())


def is_sparse(tensor: Tensor) -> bool:
    """Whether the tensor has a sparse layout."""
    return tensor.layout is not strided


def dense(tensor: Tensor) -> Tensor:
    """Convert a sparse tensor to a dense one; return any other tensor unchanged."""
    return tensor.to_dense() if is_sparse(tensor) else tensor


def _on_sparse(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call an elementwise function of sparse masked tensors."""
    masks = [arg._masked_mask for arg in args if isinstance(arg, MaskedTensor)]
    if any(not equal_masks(mask, masks[0]) for mask in masks[1:]):
        raise ValueError("Input masks must match. If you need support for this, please open an issue on Github.")
    result = func(*(arg.get_data() if isinstance(arg, MaskedTensor) else arg for arg in args), **kwargs)
    return MaskedTensor(result, masks[0]) if isinstance(result, Tensor) and result.shape == masks[0].shape else result


def _sum(func: Any, mask: Tensor, input: MaskedTensor, *args: Any, **kwargs: Any) -> MaskedTensor:
    """Sum the unmasked elements, as derivative rules do for arguments that were broadcast."""
    data = input._masked_data.masked_fill(~mask, 0)
    return MaskedTensor(func(data, *args, **kwargs), func(mask, *args, **kwargs) > 0)


# --- Functions ----------------------------------------------------------------------------------------------------


class _Data(Function):
    """The data of a masked tensor.  The gradient is masked."""

    @staticmethod
    def forward(ctx: Any, input: MaskedTensor) -> Tensor:
        ctx.mask = input._masked_mask
        return input._masked_data.detach()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return gradient if isinstance(gradient, MaskedTensor) else MaskedTensor(gradient, ctx.mask)


class _Masked(Function):
    """A masked tensor of data and mask.  The gradient of the data is masked."""

    @staticmethod
    def forward(ctx: Any, data: Tensor, mask: Tensor) -> MaskedTensor:
        return MaskedTensor(data, mask)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return gradient, None


class _Result(_Masked):
    """A masked tensor of results and their mask.  The gradient of the results is not masked."""

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return _data_of(gradient), None


def wrap_result(data: Tensor, mask: Tensor) -> MaskedTensor:
    """Return a masked tensor of a result that was computed from plain tensors."""
    return _Result.apply(data, mask)  # type: ignore[no-any-return]  # the output of a Function


def _where(condition: Tensor, input: Any, other: Any) -> MaskedTensor:
    """Choose data and mask from one of two masked tensors.  Elements of a plain tensor are not masked."""
    condition = _data_of(condition)
    data, masks = [], []
    for value in (input, other):
        data.append(value.get_data() if isinstance(value, MaskedTensor) else value)
        masks.append(value._masked_mask if isinstance(value, MaskedTensor) else condition.new_ones((), dtype=dtypes.bool_))
    return wrap_result(data[0].where(condition, data[1]), masks[0].where(condition, masks[1]))


# --- construction -------------------------------------------------------------------------------------------------


def masked_tensor(data: Any, mask: Any, requires_grad: bool = False) -> MaskedTensor:
    """Return a MaskedTensor with a copy of `data`, detached from its autograd history."""
    return MaskedTensor(as_tensor(data).detach().clone(), as_tensor(mask).detach().clone(), requires_grad)


def as_masked_tensor(data: Any, mask: Any) -> MaskedTensor:
    """Return a MaskedTensor of `data` and `mask`; its gradients, which are masked, flow back to `data`."""
    return _Masked.apply(as_tensor(data), as_tensor(mask))  # type: ignore[no-any-return]  # the output of a Function


def is_masked_tensor(obj: Any, /) -> bool:
    """Whether `obj` is a MaskedTensor."""
    return isinstance(obj, MaskedTensor)
