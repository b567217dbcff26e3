"""Private functions of `torch.nn.functional` that modified copies of PyTorch's attention and normalization layers call."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import flambeau as torch
from flambeau import Tensor
from flambeau.extension import warn
from flambeau.extension.functions import linear

from ..nn.functional.activation import implicit_dim

__all__: list[str] = []


def _in_projection_packed(q: Tensor, k: Tensor, v: Tensor, w: Tensor, b: Tensor | None = None) -> list[Tensor]:
    """Project queries, keys and values with a single packed weight `(3 * E, E)`."""
    size = q.shape[-1]
    if k is v and q is k:
        return [part.contiguous() for part in linear(q, w, b).chunk(3, -1)]
    weights = w.split(size)
    biases: Sequence[Any] = (None, None, None) if b is None else b.split(size)
    return [linear(x, weight, bias) for x, weight, bias in zip((q, k, v), weights, biases, strict=True)]


def _in_projection(
    q: Tensor, k: Tensor, v: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor,
    b_q: Tensor | None = None, b_k: Tensor | None = None, b_v: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Project queries, keys and values with separate weights. Raise an AssertionError if shapes do not match."""
    size = q.size(-1)
    for name, weight, width in (("w_q", w_q, size), ("w_k", w_k, k.size(-1)), ("w_v", w_v, v.size(-1))):
        if weight.shape != (size, width):
            raise AssertionError(f"expecting {name} shape of {(size, width)}, but got {weight.shape}")
    for name, bias in (("b_q", b_q), ("b_k", b_k), ("b_v", b_v)):
        if bias is not None and bias.shape != (size,):
            raise AssertionError(f"expecting {name} shape of {(size,)}, but got {bias.shape}")
    return linear(q, w_q, b_q), linear(k, w_k, b_k), linear(v, w_v, b_v)


def _mha_shape_check(
    query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None, attn_mask: Tensor | None, num_heads: int
) -> bool:
    """Whether the inputs of attention are batched. Raise an AssertionError if their dimensions are inconsistent."""
    if query.dim() not in (2, 3):
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {query.dim()}-D query tensor")
    is_batched = query.dim() == 3
    kind = "batched (3-D)" if is_batched else "unbatched (2-D)"
    if key.dim() != query.dim() or value.dim() != query.dim():
        raise AssertionError(
            f"For {kind} `query`, expected `key` and `value` to be {query.dim()}-D but found {key.dim()}-D and "
            f"{value.dim()}-D tensors respectively"
        )
    if key_padding_mask is not None and key_padding_mask.dim() != query.dim() - 1:
        raise AssertionError(
            f"For {kind} `query`, expected `key_padding_mask` to be `None` or {query.dim() - 1}-D but found "
            f"{key_padding_mask.dim()}-D tensor instead"
        )
    if attn_mask is not None:
        if attn_mask.dim() not in (2, 3):
            raise AssertionError(
                f"For {kind} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.dim()}-D tensor instead"
            )
        expected = (num_heads, query.shape[0], key.shape[0])
        if not is_batched and attn_mask.dim() == 3 and attn_mask.shape != expected:
            raise AssertionError(f"Expected `attn_mask` shape to be {expected} but got {attn_mask.shape}")
    return is_batched


def _none_or_dtype(input: Tensor | None) -> torch.dtype | None:
    """Return the dtype of a tensor, or None for None. Raise a RuntimeError for other values."""
    if input is None:
        return None
    if isinstance(input, Tensor):
        return input.dtype
    raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")


def _canonical_mask(
    mask: Tensor | None, mask_name: str, other_type: torch.dtype | None, other_name: str, target_type: torch.dtype,
    check_other: bool = True,
) -> Tensor | None:  # fmt: skip
    """Convert a boolean mask to scores: `-inf` where it is True. Raise an AssertionError for integer masks."""
    if mask is None:
        return None
    if mask.dtype is not torch.bool and not torch.is_floating_point(mask):
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None and mask.dtype is not other_type:
        warn(f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for both instead.")
    if torch.is_floating_point(mask):
        return mask
    return torch.zeros_like(mask, dtype=target_type).masked_fill_(mask, float("-inf"))


def _get_softmax_dim(name: str, ndim: int, stacklevel: int) -> int:
    """Return the default dimension of softmax and warn that it is implicit."""
    return implicit_dim(name, ndim)


def _verify_batch_size(size: Sequence[int]) -> None:
    """Raise a ValueError if batch statistics would be computed from a single value per channel."""
    if size[0] * prod(size[2:]) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {size}")
