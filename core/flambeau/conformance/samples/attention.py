"""Scaled dot products of queries and keys, used as weights of values."""

from __future__ import annotations

from .activation import bad_activation
from .sample import fixed, functional, mask, real
from .softmax import softmax

__all__ = ["BAD", "SAMPLES"]


SAMPLES = [
    functional("scaled_dot_product_attention", lambda F, q, k, v: F.scaled_dot_product_attention(q, k, v),
          lambda np, q, k, v: softmax(np, q @ k.swapaxes(-1, -2) / 2, -1) @ v, real(2, 3, 4), real(2, 5, 4), real(2, 5, 3)),
    functional("scaled_dot_product_attention", lambda F, q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True,
        scale=0.3),
          lambda np, q, k, v: softmax(np, np.where(np.tri(3, 4) > 0, q @ k.T * 0.3, -np.inf), -1) @ v, real(3, 2), real(4, 2),
          real(4, 5)),
    functional("scaled_dot_product_attention", lambda F, q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m),
          lambda np, q, k, v, m: softmax(np, q @ k.swapaxes(-1, -2) / np.sqrt(2) + m, -1) @ v, real(2, 3, 2), real(2, 4, 2),
          real(2, 4, 5),
          real(3, 4)),
    functional("scaled_dot_product_attention", lambda F, q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m),
          lambda np, q, k, v, m: np.where(m.any(-1, keepdims=True), np.nan_to_num(
              softmax(np, np.where(m, q @ k.T / np.sqrt(2), -1e300), -1)) @ v, 0), real(3, 2), real(4, 2), real(4, 5),
              mask(3, 4)),
    functional("scaled_dot_product_attention", lambda F, q, k, v, m: F.scaled_dot_product_attention(q, k, v, m),
          lambda np, q, k, v, m: softmax(np, np.where(m, q @ k.swapaxes(-1, -2) / 2, -1e300), -1) @ v, real(2, 3, 2, 4),
          real(2, 3, 5, 4), real(2, 3, 5, 4), fixed([[1, 1, 0, 1, 0], [0, 1, 1, 1, 1]], "bool")),
    functional("scaled_dot_product_attention", lambda F, q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
          lambda np, q, k, v: softmax(np, np.where(np.tri(3, 5) > 0, q @ k.swapaxes(-1, -2) / 2, -1e300), -1) @ v,
          real(2, 3, 3, 4), real(2, 3, 5, 4), real(2, 3, 5, 4)),
]  # fmt: skip


BAD = [
    bad_activation("scaled_dot_product_attention", lambda F, x: F.scaled_dot_product_attention(x[0], x, x), "RuntimeError"),
]  # fmt: skip
