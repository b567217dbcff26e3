"""Attention in one operation, for backends that have a kernel for it; others compute it step by step."""

from __future__ import annotations

from typing import Any

from ..calls import overriding
from ..calls.op import op
from ..calls.tables import FUSED
from ..runtime.devices import DispatchKey
from ..runtime.state import state
from ..tape.grad_mode import _grad
from ..tensors.tensor import Tensor
from ..values import dtypes
from .creation import full
from .formula import formula

__all__ = ["attention", "fused_attention", "has_fused_attention", "learns_nothing"]


def _forward(
    xp: Any,
    query: Any,
    key: Any,
    value: Any,
    bias: Any = None,
    /,
    causal: bool = False,
    scale: float = 1.0,
    workspace: Any = None,
) -> Any:
    scores = xp.matmul(query, xp.matrix_transpose(key)) * scale
    scores = scores if bias is None else scores + bias
    weights = xp.exp(scores - xp.max(scores, axis=-1, keepdims=True))
    return xp.matmul(weights / xp.sum(weights, axis=-1, keepdims=True), value)


@formula
def attention_backward(
    F: Any, g: Any, query: Any, key: Any, value: Any, bias: Any, out: Any, causal: bool, scale: float, workspace: Any
) -> Any:
    """The gradients of query, key and value.  Only kernels use `out` and `workspace`, where a forward stores its sums."""
    scores = F.mm(query, F.mH_(key)) * scale
    scores = scores if bias is None else scores + bias
    weights = F.softmax(scores, len(scores.shape) - 1)
    through = F.mm(g, F.mH_(value))
    slopes = weights * (through - F.sum(weights * through, (len(scores.shape) - 1,), True)) * scale
    return F.mm(slopes, key), F.mm(F.mH_(slopes), query), F.mm(F.mH_(weights), g)


_attention = op(
    "fused_attention", _forward, public=False, method=False, out=False,
    grad_fn="ScaledDotProductCudnnAttentionBackward0",
    vjp=lambda F, g, query, key, value, bias, out, causal, scale, workspace: (
        *attention_backward(F, g, query, key, value, bias, out, causal, scale, workspace), None),
)  # fmt: skip


FUSED.add("fused_attention")


def has_fused_attention(query: Tensor, key: Tensor, value: Tensor) -> bool:
    """Whether the backend has a kernel for attention of these: half precision, `(batch, heads, length, size)`."""
    dispatch_key = query._key
    return (
        type(dispatch_key) is DispatchKey
        and "fused_attention" in dispatch_key.backend.all_kernels
        and dispatch_key.dtype in dtypes.HALF
        and dispatch_key is key._key is value._key
        and query.ndim == key.ndim == value.ndim == 4
        and key.shape[:3] == value.shape[:3]
        and query.shape[:2] == key.shape[:2]
        and query.shape[3] == key.shape[3]
        and not (query.shape[3] % 8 or value.shape[3] % 8)
        and max(query.shape[3], value.shape[3]) <= 128
    )


def fused_attention(query: Tensor, key: Tensor, value: Tensor, causal: bool, scale: float) -> Tensor:
    """`softmax(query @ key.T * scale) @ value`, where `has_fused_attention`."""
    bias = None
    if causal:
        shape = query.shape[2], key.shape[2]
        bias = full(shape, -float("inf"), dtype=query.dtype, device=query.device).triu(1)
    return _attention(query, key, value, bias, causal, scale, {})


def _attention_forward(xp: Any, query: Any, key: Any, value: Any, /, scale: float) -> Any:
    scores = xp.matmul(query * scale, xp.matrix_transpose(key))
    weights = xp.exp(scores - xp.max(scores, axis=-1, keepdims=True))
    return xp.matmul(weights, value) / xp.sum(weights, axis=-1, keepdims=True)


attention = op("attention", _attention_forward, promote="product", public=False, method=False, out=False)


def learns_nothing(*tensors: Tensor) -> bool:
    """Whether what is computed from these needs no derivatives, and no mode or subclass wants to see the single operations."""
    recorded = _grad.get() and any(tensor._requires_grad for tensor in tensors)
    plain = all(type(tensor._key) is DispatchKey and tensor._key.dtype.category == dtypes.FLOATING for tensor in tensors)
    return plain and not (recorded or state.forward_levels or overriding.wanted(tensors))
