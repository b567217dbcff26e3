"""Attention with user-defined functions that modify and mask the scores.

>>> from flambeau.nn.attention.flex_attention import create_block_mask, flex_attention
>>> q = torch.ones(1, 2, 4, 8)
>>> causal = create_block_mask(lambda b, h, q_idx, kv_idx: q_idx >= kv_idx, None, None, 4, 4, "cpu")
>>> flex_attention(q, q, q, lambda score, b, h, q_idx, kv_idx: score - (q_idx - kv_idx), causal).shape
torch.Size([1, 2, 4, 8])
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple, TypedDict

import flambeau as torch
from flambeau.extension import private_names

from .masks import (
    BlockMask,
    ScoreMod,
    and_masks,
    create_block_mask,
    create_mask,
    noop_mask,
    or_masks,
    positions,
    sliced_mask_mod,
    vectorize_positions,
)

__all__ = [
    "AuxOutput", "AuxRequest", "BlockMask", "FlexKernelOptions", "and_masks", "create_block_mask", "create_mask",
    "flex_attention", "noop_mask", "or_masks",
]  # fmt: skip

Tensor = torch.Tensor
__getattr__ = private_names(__name__)


class AuxRequest(NamedTuple):
    """Which statistics `flex_attention` returns with the values: log-sum-exp (`lse`), maximum score (`max_scores`)."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """The statistics requested by `AuxRequest`, with None for those not requested."""

    lse: Tensor | None = None
    """The logarithm of the sum of the exponentials of each query's scores."""
    max_scores: Tensor | None = None
    """The largest score of each query."""


class FlexKernelOptions(TypedDict, total=False):
    """Options of PyTorch's GPU kernels, which are accepted and have no effect."""

    num_warps: int
    num_stages: int
    BLOCK_M: int
    BLOCK_N: int
    BLOCK_M1: int
    BLOCK_N1: int
    BLOCK_M2: int
    BLOCK_N2: int
    PRESCALE_QK: bool
    ROWS_GUARANTEED_SAFE: bool
    BLOCKS_ARE_CONTIGUOUS: bool
    WRITE_DQ: bool
    FORCE_USE_FLEX_ATTENTION: bool
    USE_TMA: bool
    kpack: int
    matrix_instr_nonkdim: int
    waves_per_eu: int
    BACKEND: str


def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: ScoreMod | None = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: FlexKernelOptions | Mapping[str, Any] | None = None,
    *,
    return_aux: AuxRequest | None = None,
) -> Any:
    """Compute `softmax(score_mod(scale * query @ key^T)) @ value` with a mask; gradients also flow through `score_mod`.

    Scores are computed in float32 (in float64 for float64), and all of them are in memory at once. A query whose scores are all
    masked gets zeros.

    Args:
        query, key, value: of one dtype.
        score_mod: a function `(score, batch, head, q_idx, kv_idx) -> score` of 0-d tensors.
        block_mask: the mask, from `create_block_mask`; its `mask_mod` is True for scores to keep.
        scale: by default `1 / sqrt(E)`.
        enable_gqa: whether `query` may have more heads than `key`, a multiple of them.
        return_lse: deprecated: whether to return `(values, lse)`.
        kernel_options: no effect.
        return_aux: the statistics to return; the result is then `(values, AuxOutput)`.

    Shape:
        - query: `(B, Hq, L, E)`; key: `(B, H, S, E)`; value: `(B, H, S, Ev)`.
        - Output: `(B, Hq, L, Ev)`; statistics: `(B, Hq, L)`.

    Raises:
        ValueError: shapes, dtypes, devices or lengths do not fit.
        NotImplementedError: a tensor does not have four dimensions.
        RuntimeError: the mask is on another device, or is a slice of a mask, which has no `mask_mod`.

    Example:
        >>> from flambeau.nn.attention.flex_attention import flex_attention
        >>> q = torch.eye(2).reshape(1, 1, 2, 2)
        >>> flex_attention(q, q, q, lambda score, b, h, q_idx, kv_idx: torch.where(q_idx >= kv_idx, score, -torch.inf))
        tensor([[[[1.0000, 0.0000],
                  [0.3302, 0.6698]]]])
    """
    _check(query, key, value, enable_gqa)
    if block_mask is not None:
        _check_mask(query, key, block_mask)
    elif query.shape[0] != key.shape[0]:
        raise ValueError(
            "Expect query and key/value to have the same batch size, or non-none block_mask, but got block_mask=None, "
            f"Bq={query.shape[0]}, and Bkv={key.shape[0]}."
        )
    if return_lse:
        if return_aux is not None:
            raise ValueError(
                "Cannot specify both return_lse and return_aux. return_lse is deprecated, please use "
                "return_aux=AuxRequest(lse=True) instead."
            )
        warnings.warn(
            "return_lse is deprecated and will be removed in v2.10. Please use return_aux=AuxRequest(lse=True) instead.",
            FutureWarning,
            stacklevel=2,
        )
    groups = query.shape[1] // key.shape[1]
    key, value = (tensor.repeat_interleave(groups, 1).expand(query.shape[0], -1, -1, -1) for tensor in (key, value))
    scores = _scores(query, key, score_mod, block_mask, 1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    is_masked = scores == -math.inf
    nothing_left = is_masked.all(-1, keepdim=True)
    weights = scores.masked_fill(nothing_left, 0.0).softmax(-1).masked_fill(nothing_left, 0.0)
    output = weights.to(query.dtype) @ value.to(query.dtype)
    if return_aux is None and not return_lse:
        return output
    lse = scores.masked_fill(nothing_left, 0.0).logsumexp(-1).masked_fill(nothing_left.squeeze(-1), -math.inf)
    if return_aux is None:
        return output, lse
    return output, AuxOutput(lse if return_aux.lse else None, scores.amax(-1) if return_aux.max_scores else None)


def _scores(query: Tensor, key: Tensor, score_mod: ScoreMod | None, block_mask: BlockMask | None, scale: float) -> Tensor:
    """Compute the scores of all queries and keys, with `-inf` where they are masked."""
    precision = torch.float64 if query.dtype == torch.float64 else torch.float32
    scores = (query.to(precision) @ key.to(precision).transpose(-2, -1)) * scale
    places = positions(scores.shape, scores.device)
    if score_mod is not None:
        scores = vectorize_positions(score_mod, takes_score=True)(scores, *places)
    if block_mask is not None and block_mask.mask_mod is not noop_mask:
        counts = vectorize_positions(block_mask.mask_mod, takes_score=False)(*places)
        scores = torch.where(counts, scores, torch.tensor(-math.inf, dtype=precision, device=scores.device))
    return scores


def _check(query: Tensor, key: Tensor, value: Tensor, enable_gqa: bool) -> None:
    if query.device != key.device or query.device != value.device:
        raise ValueError(
            "Expected query, key, and value to have the same device type, but got "
            f"query.device: {query.device}, key.device: {key.device}, and value.device: {value.device} instead."
        )
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(
            f"Expect query and key/value to have the same embedding dimension but got E={query.shape[-1]} and E={key.shape[-1]}."
        )
    if not query.dim() == key.dim() == value.dim() == 4:
        raise NotImplementedError("NYI: query, key, and value must be 4D tensors")
    heads, groups = query.shape[1], key.shape[1]
    if heads != groups and not enable_gqa:
        raise ValueError(
            f"Expect query and key/value to have the same number of heads but got Hq={heads} and Hkv={groups}. "
            "Try setting enable_gqa=True for GQA."
        )
    if heads % groups:
        raise ValueError(
            f"Expect number of query heads to be a multiple of kv heads for GQA but got Hq={heads} and Hkv={groups}."
        )


def _check_mask(query: Tensor, key: Tensor, mask: BlockMask) -> None:
    if mask.mask_mod is sliced_mask_mod:
        raise RuntimeError("Cannot use mask_mod from a sliced BlockMask")
    if query.shape[0] != key.shape[0] and mask.kv_num_blocks.shape[0] != query.shape[0]:
        raise ValueError(
            "Expect query and key/value to have the same batch size, or block_mask and query to have the same batch size, "
            f"but got Bq={query.shape[0]}, Bkv={key.shape[0]}, B_block_mask={mask.kv_num_blocks.shape[0]}."
        )
    lengths = query.shape[-2], key.shape[-2]
    if lengths != mask.shape[-2:]:
        longer = any(given > covered for given, covered in zip(lengths, mask.shape[-2:], strict=True))
        raise ValueError(
            f"block_mask was created for block_mask.shape={mask.shape} but got q_len={lengths[0]} and kv_len={lengths[1]}. "
            + (
                "As the block mask was created for a smaller length than you're using it for, you likely need to create a new "
                "block mask."
                if longer
                else "As the block mask was created for a larger length than you're using it for, you can either 1. create a new "
                "block mask with the correct length, or 2. 'adjust' the existing block mask to the correct length by calling "
                "block_mask._adjust(q_len, kv_len). This essentially 'crops' the block mask to the upper left corner, which does "
                "not work for all mask_mods!"
            )
        )
    if query.device != mask.kv_num_blocks.device:
        raise RuntimeError(
            f"Expect q/k/v and block_mask to be on the same device but got {query.device} and {mask.kv_num_blocks.device}."
        )
