"""Attention over sequences of different lengths that are packed one after the other."""

from __future__ import annotations

from typing import Any, NamedTuple

import flambeau as torch
from flambeau import Tensor

from ..functional import scaled_dot_product_attention

__all__ = ["AuxRequest", "varlen_attn"]


class AuxRequest(NamedTuple):
    """Which statistics are returned: the log-sum-exp, which is not supported."""

    lse: bool = False


def varlen_attn(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    cu_seq_q: Tensor,
    cu_seq_k: Tensor | None,
    max_q: int,
    max_k: int,
    *,
    return_aux: AuxRequest | None = None,
    scale: float | None = None,
    window_size: tuple[int, int] = (-1, -1),
    enable_gqa: bool = False,
    **options: Any,
) -> Tensor:
    """Compute attention within each sequence.

    Args:
        query, key, value: `(tokens, heads, size)`, the tokens of all sequences.
        cu_seq_q, cu_seq_k: the number of tokens before each sequence, and in total; `cu_seq_k` is None for the same lengths.
        max_q, max_k: the greatest lengths, which have no effect.
        scale: the factor of the scores; None for `1 / sqrt(size)`.
        window_size: the number of keys before and after each query's position that it attends to; -1 for all.
        enable_gqa: whether several query heads share a key head.

    Raises:
        NotImplementedError: other options, or `return_aux`, are given.
    """
    if return_aux is not None or any(option is not None for option in options.values()):
        raise NotImplementedError("varlen_attn supports neither return_aux nor blocks of memory")
    starts_q = cu_seq_q.tolist()
    starts_k = starts_q if cu_seq_k is None else cu_seq_k.tolist()
    results = []
    for sequence in range(len(starts_q) - 1):
        rows, columns = slice(*starts_q[sequence : sequence + 2]), slice(*starts_k[sequence : sequence + 2])
        q, k, v = (part.transpose(0, 1) for part in (query[rows], key[columns], value[columns]))
        mask = None
        if window_size != (-1, -1):
            before, after = (limit if limit >= 0 else q.shape[1] + k.shape[1] for limit in window_size)
            last = k.shape[1] - q.shape[1]  # the last query is aligned with the last key
            mask = torch.ones(q.shape[1], k.shape[1], dtype=torch.bool, device=q.device).tril(last + after).triu(last - before)
        results.append(scaled_dot_product_attention(q, k, v, mask, scale=scale, enable_gqa=enable_gqa).transpose(0, 1))
    return torch.cat(results)
