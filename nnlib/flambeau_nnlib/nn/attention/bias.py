"""Causal masks for `scaled_dot_product_attention`. A mask is stored as a shape and a corner, not as a matrix.

>>> from flambeau.nn.attention.bias import causal_lower_right
>>> mask = causal_lower_right(2, 4)
>>> mask
tensor([[ True,  True,  True, False],
        [ True,  True,  True,  True]])
>>> q, k = torch.ones(1, 2, 8), torch.ones(1, 4, 8)
>>> torch.nn.functional.scaled_dot_product_attention(q, k, k, mask).shape
torch.Size([1, 2, 8])
"""

from __future__ import annotations

import warnings
from enum import IntEnum, auto
from typing import Any

import flambeau as torch

from .. import functional as F

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(IntEnum):
    """The corner at which the diagonal of a non-square causal mask starts (`UPPER_LEFT`) or ends (`LOWER_RIGHT`)."""

    UPPER_LEFT = auto()
    LOWER_RIGHT = auto()


class CausalBias(torch.Tensor):
    """A causal mask, stored as its shape and the corner of its diagonal.

    Args:
        variant: the corner of the diagonal.
        seq_len_q: the number of queries, the mask's rows.
        seq_len_kv: the number of keys, the mask's columns.

    Raises:
        AssertionError: `variant` is not a `CausalVariant`.

    Warns:
        UserWarning: there are rows without any key, whose result is NaN.

    >>> from flambeau.nn.attention.bias import CausalBias, CausalVariant
    >>> CausalBias(CausalVariant.UPPER_LEFT, 2, 3)
    tensor([[ True, False, False],
            [ True,  True, False]])
    """

    variant: CausalVariant
    seq_len_q: int
    seq_len_kv: int

    def __init__(self, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> None:
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"variant must be a CausalVariant, got {type(variant).__name__}")
        self.variant, self.seq_len_q, self.seq_len_kv = variant, seq_len_q, seq_len_kv
        if seq_len_q > seq_len_kv and variant is CausalVariant.LOWER_RIGHT:
            warnings.warn("Lower right causal bias will produce NaNs in the output when seq_len_q > seq_len_kv!", stacklevel=2)

    def _materialize(self, device: torch.device | None = None) -> torch.Tensor:
        """Return the mask as a boolean tensor."""
        offset = self.seq_len_kv - self.seq_len_q if self.variant is CausalVariant.LOWER_RIGHT else 0
        return torch.ones(self.seq_len_q, self.seq_len_kv, device=device or "cpu", dtype=torch.bool).tril(offset)

    @staticmethod
    def _attend(
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        attn_mask: CausalBias,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> torch.Tensor:
        if is_causal:
            raise ValueError("CausalBias should not be used with causal=True")
        attend: Any = F.scaled_dot_product_attention
        rest: Any = {"dropout_p": dropout_p, "scale": scale, "enable_gqa": enable_gqa}
        if attn_mask.variant is CausalVariant.UPPER_LEFT or attn_mask.seq_len_q == attn_mask.seq_len_kv:
            found: torch.Tensor = attend(query, key, value, is_causal=True, **rest)
        else:
            found = attend(query, key, value, attn_mask._materialize(query.device), **rest)
        return found

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Route attention to `_attend`; to other functions the mask is a tensor with uninitialized elements."""
        if func is F.scaled_dot_product_attention:
            return cls._attend(*args, **(kwargs or {}))
        return super().__torch_function__(func, types, args, kwargs or {})

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return repr(self._materialize())


def _sizes(name: str, size: tuple[int, ...]) -> tuple[int, int]:
    if len(size) != 2:
        raise AssertionError(f"{name} only supports 2D tensors")
    return size[0], size[1]


def causal_upper_left(*size: int) -> CausalBias:
    """Return the causal mask whose diagonal starts in the upper left corner: query i attends to keys 0, ..., i.

    Args:
        size: the numbers of queries and of keys.

    Raises:
        AssertionError: `size` does not have two items.

    >>> from flambeau.nn.attention.bias import causal_upper_left
    >>> causal_upper_left(2, 3)
    tensor([[ True, False, False],
            [ True,  True, False]])
    """
    return CausalBias(CausalVariant.UPPER_LEFT, *_sizes("causal_upper_left", size))


def causal_lower_right(*size: int) -> CausalBias:
    """Return the causal mask whose diagonal ends in the lower right corner: the last query attends to all keys.

    Args:
        size: the numbers of queries and of keys.

    Raises:
        AssertionError: `size` does not have two items.

    >>> from flambeau.nn.attention.bias import causal_lower_right
    >>> causal_lower_right(2, 3)
    tensor([[ True,  True, False],
            [ True,  True,  True]])
    """
    return CausalBias(CausalVariant.LOWER_RIGHT, *_sizes("causal_lower_right", size))
