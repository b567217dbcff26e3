"""Attention as one operation, for backends that have a kernel for it; others compute it step by step.

`fused_attention` is for half-precision kernels, `attention` for kernels that process the scores in blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

from ..engine.calls import overriding
from ..engine.calls.facts import Kind
from ..engine.calls.op import formula, op
from ..engine.calls.tables import FUSED
from ..engine.devices.devices import DispatchKey
from ..engine.devices.state import state
from ..engine.tape.grad_mode import grad_flag
from ..engine.tensors.tensor import Tensor
from ..engine.values import dtypes
from .creation.from_shape import full

__all__ = ["attention", "can_use_attention", "fused_attention", "has_fused_attention", "has_half_attention"]


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
    """Return the gradients of query, key and value.

    Only kernels use `out` and `workspace`; a kernel's forward stores intermediate sums in `workspace`.
    """
    scores = F.mm(query, F.mH_(key)) * scale
    scores = scores if bias is None else scores + bias
    weights = F.softmax(scores, len(scores.shape) - 1)
    through = F.mm(g, F.mH_(value))
    slopes = weights * (through - F.sum(weights * through, (len(scores.shape) - 1,), True)) * scale
    return F.mm(slopes, key), F.mm(F.mH_(slopes), query), F.mm(F.mH_(weights), g)


_attention = op(
    "fused_attention", _forward,
    kind=Kind.ATTENTION, public=False, method=False, out=False,
    grad_fn="ScaledDotProductCudnnAttentionBackward0",
    vjp=lambda F, g, query, key, value, bias, out, causal, scale, workspace: (
        *attention_backward(F, g, query, key, value, bias, out, causal, scale, {} if workspace is None else workspace), None),
)  # fmt: skip


FUSED.add("fused_attention")


def has_fused_attention(query: Tensor, key: Tensor, value: Tensor) -> bool:
    """Whether the backend's attention kernel accepts these tensors: half precision, `(batch, heads, length, size)`."""
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
    """Return `softmax(query @ key.T * scale) @ value`, for tensors that `has_fused_attention` accepts."""
    bias = None
    if causal:
        shape = query.shape[2], key.shape[2]
        bias = full(shape, -float("inf"), dtype=query.dtype, device=query.device).triu(1)
    return _attention(query, key, value, bias, causal, scale, {})


# --- in blocks ----------------------------------------------------------------------------------------------------

# Score of a masked position: its softmax weight is 0.  With -inf, a fully masked row would compute -inf - -inf = NaN.
_LOWEST = -1e30


def _attention_forward(
    xp: Any,
    query: Any,
    key: Any,
    value: Any,
    mask: Any = None,
    /,
    causal: bool = False,
    scale: float = 1.0,
    workspace: Any = None,
) -> Any:
    scores = xp.matmul(query * scale, xp.matrix_transpose(key))
    nothing = xp.full_like(scores, -inf)
    scores = xp.where(mask, scores, nothing) if mask is not None and mask.dtype == xp.bool else scores
    scores = scores + mask if mask is not None and mask.dtype != xp.bool else scores
    scores = scores + xp.triu(nothing, k=1) if causal else scores
    peaks = xp.max(scores, axis=-1, keepdims=True)
    weights = xp.exp(scores - xp.where(peaks > -inf, peaks, xp.zeros_like(peaks)))
    sums = xp.sum(weights, axis=-1, keepdims=True)
    return xp.matmul(weights, value) / xp.where(sums > 0, sums, xp.ones_like(sums))


@formula
def attention_gradients(
    F: Any, g: Any, query: Any, key: Any, value: Any, mask: Any, out: Any, causal: bool, scale: float, workspace: Any
) -> tuple[Any, Any, Any]:
    """Return the gradients of query, key and value.  The softmax weights are recomputed, so that no score matrix is stored.

    Only kernels use `out` and `workspace`; a kernel's forward stores values for its backward in `workspace`.
    """
    scores = F.mm(query * scale, F.mH_(key))
    zeros = F.zeros_of(scores, tuple(scores.shape))
    if mask is not None:
        scores = F.where(mask, scores, zeros - inf) if _is_bool(mask) else scores + mask
    scores = scores + F.triu(zeros - inf, 1) if causal else scores
    seen, last = scores > -inf, len(scores.shape) - 1
    weights = F.masked(F.softmax(F.where(seen, scores, zeros + _LOWEST), last), seen)  # 0 in fully masked rows
    through = F.mm(g, F.mH_(value))
    slopes = weights * (through - F.sum(weights * through, (last,), True)) * scale
    return F.mm(slopes, key), F.mm(F.mH_(slopes), query), F.mm(F.mH_(weights), g)


def _is_bool(mask: Any) -> bool:
    return "bool" in str(mask.dtype)


_attention_in_blocks = op(
    "attention", _attention_forward,
    kind=Kind.ATTENTION, promote="product", keeps_dtype=("mask",), public=False, method=False, out=False,
    grad_fn="ScaledDotProductFlashAttentionForCpuBackward0",
    vjp=lambda F, g, query, key, value, mask, out, causal, scale, workspace: (
        *attention_gradients(
            F, g, query, key, value, mask, out, causal, scale, {} if workspace is None else workspace), None),
)  # fmt: skip


def attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, causal: bool, scale: float) -> Tensor:
    """Return `softmax(query @ key.T * scale + mask) @ value`, or zeros for a query whose keys are all masked.

    The caller checks `can_use_attention` first.
    """
    recorded = grad_flag.get() and (query._requires_grad or key._requires_grad or value._requires_grad)
    return _attention_in_blocks(query, key, value, mask, causal, scale, {} if recorded else None)


def can_use_attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, one_node: bool) -> bool:
    """Whether `attention` may compute this call as one operation.

    Tensor subclasses that override operations, forward-mode derivatives and shapes that broadcast are excluded.  If gradients
    are recorded, the backend needs a kernel for them, and PyTorch must also record this attention as one node (`one_node`).
    Otherwise, a call without a mask needs no kernel; a masked call without a kernel would not become faster.
    """
    tensors = (query, key, value) if mask is None else (query, key, value, mask)
    if state.forward_levels or query._key.dtype.category != dtypes.FLOATING:
        return False
    for tensor in tensors:
        if type(tensor._key) is not DispatchKey or (type(tensor) is not Tensor and overriding.overriding(tensor)):
            return False
    if not _fit(tuple(query._array.shape), tuple(key._array.shape), tuple(value._array.shape), mask):
        return False
    recorded = grad_flag.get() and any(tensor._requires_grad for tensor in tensors)
    has_kernel = "attention_gradients" in query._key.backend.all_kernels
    return (one_node and has_kernel) if recorded else (has_kernel or mask is None)


def has_half_attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> bool:
    """Whether `attention` computes these half-precision tensors without casts, which requires a kernel and no gradients."""
    if grad_flag.get() and (query._requires_grad or key._requires_grad or value._requires_grad):
        return False
    has_kernel = type(query._key) is DispatchKey and "attention" in query._key.backend.half_kernels
    return has_kernel and can_use_attention(query, key, value, mask, True)


def _fit(query: Sequence[int], key: Sequence[int], value: Sequence[int], mask: Tensor | None) -> bool:
    """Whether query, key and value can be multiplied without broadcasting; the mask may broadcast."""
    fit = query[:-2] == key[:-2] == value[:-2] and query[-1] == key[-1] and key[-2] == value[-2]
    if not fit or mask is None:
        return fit
    scores, shape = (*query[:-1], key[-2]), mask.shape
    return len(shape) <= len(scores) and all(n in (1, m) for n, m in zip(shape[::-1], scores[::-1], strict=False))
