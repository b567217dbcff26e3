"""Fill and select elements by a mask; the indices of nonzero elements."""

from __future__ import annotations

from typing import Any

from ...engine.calls.dispatch import common_shape, require_data
from ...engine.calls.facts import Kind, Narrow, Order, Overlap
from ...engine.calls.op import composite, op
from ...engine.calls.operands import filler
from ...engine.calls.record import Out
from ...engine.devices.devices import dispatch_key
from ...engine.tensors.tensor import Tensor, wrap
from ...engine.values import dtypes
from ...engine.values.scalars import converted
from .standard import nonzero as coordinates

_masked_fill = op(
    "masked_fill", lambda xp, input, mask, value: xp.where(mask, value, input),
    kind=Kind.POINTWISE, narrow=Narrow.COMPLEX32, order=Order.ROW_MAJOR, overlap=Overlap.DEPRECATED,
    keeps_dtype=("mask",), promote="match", public=False, method=False, out=False,
    check=lambda input, mask, value: common_shape(mask.shape, input.shape),
    input=lambda F, g, mask: F.masked(g, ~mask),
    value=lambda F, g, mask: F.sum(F.masked(g, mask)),
    schema=(
        "masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor",
        "masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor",
    ),
)  # fmt: skip


@composite(inplace=True, may_share=("value",))
def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """Return a copy of `input` with `value` (a number or 0-d tensor) where `mask` is True.

    Args:
        mask: a bool tensor that can be broadcast to the shape of `input`.
        value: the number.

    >>> torch.masked_fill(torch.tensor([1, 2]), torch.tensor([True, False]), 0)
    tensor([0, 2])
    """
    if mask.dtype is dtypes.uint8:
        mask = mask.bool()
    if mask.dtype is not dtypes.bool_:
        raise RuntimeError(f"masked_fill_ only supports boolean masks, but got mask with dtype {mask.dtype}")
    if isinstance(value, Tensor):
        if value.ndim:
            raise RuntimeError(
                f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
            )
        if not dtypes.can_cast(value.dtype, input.dtype):
            value = input.new_tensor(converted(value.item(), input.dtype))
        value = value.to(input.dtype)
    else:
        value = filler(value, input._key)
    return _masked_fill(input, mask, value)


@composite(
    out=Out.OWN_DTYPE | Out.DISJOINT,
    grad_fn="MaskedSelectBackward0",
    kind=Kind.INDEXING,
    dynamic_shape=True,
    single_operator=True,
)
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """Return a vector of the elements where `mask` is True.

    Args:
        mask: a bool tensor that can be broadcast with `input`.

    >>> torch.masked_select(torch.tensor([1, 2]), torch.tensor([True, False]))
    tensor([1])
    """
    from ..views.views import broadcast_tensors

    if mask.dtype is not dtypes.bool_:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    require_data("masked_select", mask)
    input, mask = broadcast_tensors(input, mask)
    return input[mask]


@composite(out=Out.OWN_DTYPE | Out.DISJOINT, kind=Kind.INDEXING, dynamic_shape=True)
def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """Return the indices of the nonzero elements, one per row; with `as_tuple`, one index tensor per dimension.

    Args:
        as_tuple: whether to return one index tensor per dimension.

    >>> torch.nonzero(torch.tensor([0, 5, 7]))
    tensor([[1],
            [2]])
    """
    require_data("nonzero", input)
    key = dispatch_key(dtypes.int64, input.device)
    with key.backend.guard(key.device.index or 0):
        arrays = coordinates(input._key.backend.xp, input._array) if input.ndim else ()
        indices = [wrap(key.backend.astype(array, key.raw_dtype), key) for array in arrays]
    if as_tuple:
        return tuple(indices) if input.ndim else (wrap(key.backend.xp.zeros(int(bool(input)), dtype=key.raw_dtype), key),)
    from ..joining import stack

    if not input.ndim:
        from ..creation.from_shape import empty

        return empty((int(bool(input)), 0), dtype=dtypes.int64, device=input.device)
    return stack(indices).t()
