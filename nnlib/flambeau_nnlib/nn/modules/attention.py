"""`MultiheadAttention`, the attention layer of transformers."""

from __future__ import annotations

from typing import Any

import flambeau as torch
from flambeau import Tensor

from .. import functional as F
from .. import init
from ..functional.attention import attend_by_heads, multi_head_attention_forward
from ..parameter import Parameter
from .linear import NonDynamicallyQuantizableLinear
from .module import Module

__all__ = ["MultiheadAttention"]


class MultiheadAttention(Module):
    """Multi-head attention: each of `num_heads` heads returns, for each query, a mean of the values weighted by the keys.

    Query, key and value are each mapped linearly to `embed_dim` features, `embed_dim / num_heads` for each head. A
    head's weights are `softmax(q @ k.T / sqrt(embed_dim / num_heads))`; their outputs are concatenated and mapped
    linearly once more.

    Vaswani et al., *Attention is all you need*, 2017.

    Args:
        embed_dim: the number of features of query and output.
        num_heads: the number of heads; AssertionError unless it divides `embed_dim`.
        dropout: the probability that an attention weight is zeroed in training.
        bias: whether the linear maps have a learned bias.
        add_bias_kv: whether to append a learned key and value to keys and values.
        add_zero_attn: whether to append a key and a value of zeros to keys and values.
        kdim: the number of features of a key; None for `embed_dim`.
        vdim: the number of features of a value; None for `embed_dim`.
        batch_first: whether the batch is dimension 0 of inputs and output; False for dimension 1.
        device, dtype: device and dtype of the parameters.

    Shape:
        - Query: `(L, N, embed_dim)`, `(N, L, embed_dim)` with `batch_first`, or `(L, embed_dim)`.
        - Key and value: `(S, N, kdim)` and `(S, N, vdim)`, or as for the query.
        - `key_padding_mask`: `(N, S)` or `(S,)`, True for a key that no query attends to.
        - `attn_mask`: `(L, S)` or `(N * num_heads, L, S)`, True where a query must not attend to a key. A
          floating-point mask is added to the scores.
        - `is_causal`: a hint that `attn_mask` is the causal mask; it requires `attn_mask`.
        - Output: the shape of the query. The call returns `(output, weights)`.
        - Weights: `(N, L, S)` or `(L, S)`, the mean over the heads; `(N, num_heads, L, S)` or `(num_heads, L, S)` with
          `average_attn_weights=False`; None with `need_weights=False`, which is faster.

    Example:
        >>> attention = torch.nn.MultiheadAttention(8, num_heads=2, batch_first=True)
        >>> x = torch.randn(3, 5, 8)
        >>> output, weights = attention(x, x, x)
        >>> output.shape, weights.shape
        (torch.Size([3, 5, 8]), torch.Size([3, 5, 5]))
    """

    __constants__ = ("batch_first",)

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads} instead"
            )
        if embed_dim % num_heads != 0:
            raise AssertionError("embed_dim must be divisible by num_heads")
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        self.add_zero_attn = add_zero_attn

        def parameter_if(condition: bool, *shape: int) -> Parameter | None:
            return Parameter(torch.empty(shape, device=device, dtype=dtype)) if condition else None

        packed = self._qkv_same_embed_dim
        self.register_parameter("q_proj_weight", parameter_if(not packed, embed_dim, embed_dim))
        self.register_parameter("k_proj_weight", parameter_if(not packed, embed_dim, self.kdim))
        self.register_parameter("v_proj_weight", parameter_if(not packed, embed_dim, self.vdim))
        self.register_parameter("in_proj_weight", parameter_if(packed, 3 * embed_dim, embed_dim))
        self.register_parameter("in_proj_bias", parameter_if(bias, 3 * embed_dim))
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias, device, dtype)
        self.register_parameter("bias_k", parameter_if(add_bias_kv, 1, 1, embed_dim))
        self.register_parameter("bias_v", parameter_if(add_bias_kv, 1, 1, embed_dim))
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        if self._qkv_same_embed_dim:
            init.xavier_uniform_(self.in_proj_weight)
        else:
            init.xavier_uniform_(self.q_proj_weight)
            init.xavier_uniform_(self.k_proj_weight)
            init.xavier_uniform_(self.v_proj_weight)
        if self.in_proj_bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)
        if self.bias_k is not None:
            init.xavier_normal_(self.bias_k)
            init.xavier_normal_(self.bias_v)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        if query.is_nested or key.is_nested or value.is_nested:
            has_mask = key_padding_mask is not None or attn_mask is not None
            self._check_nested(query, query is key is value, has_mask)
            return self._attend_nested(query, need_weights, average_attn_weights)
        # `F.multi_head_attention_forward` takes sequences as `(L, N, E)`. Batch-first sequences are transposed to that shape in
        # two cases. If a program has replaced the function, it expects that shape. In training, a dropout layer that follows
        # draws random numbers in the memory order of its input, which is `(L, N, E)` in PyTorch.
        is_replaced = F.multi_head_attention_forward is not multi_head_attention_forward
        swap = (self.training or is_replaced) and self.batch_first and query.dim() == 3
        if swap:
            is_self_attention = query is key is value
            query = query.transpose(0, 1)
            key, value = (query, query) if is_self_attention else (key.transpose(0, 1), value.transpose(0, 1))
        attend: Any = F.multi_head_attention_forward
        options = {}
        if not is_replaced:
            attend, options = attend_by_heads, {"batch_first": self.batch_first and not swap}
        output, weights = attend(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
            **options,
        )
        return (output.transpose(0, 1) if swap else output), weights

    def _check_nested(self, input: Tensor, is_self_attention: bool, has_mask: bool) -> None:
        """Raise AssertionError for a nested tensor in training, and for other cases that PyTorch refuses."""
        requires_grad = input.requires_grad or any(parameter.requires_grad for parameter in self.parameters())
        obstacles = {
            "non-self attention was used (query, key, and value are not the same Tensor)": not is_self_attention,
            f"input not batched; expected query.dim() of 3 but got {input.dim()}": input.dim() != 3,
            "training is enabled": self.training,
            "batch_first was not True": not self.batch_first,
            "_qkv_same_embed_dim was not True": not self._qkv_same_embed_dim,
            "supplying masks is not supported with NestedTensor input": has_mask,
            "some Tensor argument has_torch_function": input.layout is not torch.strided,
            "grad is enabled and at least one of query or the input/output projection weights or biases "
            "requires_grad": torch.is_grad_enabled() and requires_grad,
        }
        obstacle = next((text for text, applies in obstacles.items() if applies), None)
        if obstacle is not None:
            raise AssertionError(
                "MultiheadAttention does not support NestedTensor outside of its fast path. The fast path was not hit because "
                f"{obstacle}"
            )

    def _attend_nested(self, input: Tensor, need_weights: bool, average_attn_weights: bool) -> tuple[Tensor, Tensor | None]:
        """Compute self-attention on the padded sequences; the weights of padding are 0."""
        lengths = [len(sequence) for sequence in input.unbind()]
        padded = torch.nested.to_padded_tensor(input, 0.0)
        is_padding = torch.arange(padded.size(1)) >= torch.tensor(lengths).unsqueeze(1)
        output, weights = self(
            padded, padded, padded, is_padding.to(padded.device), need_weights, average_attn_weights=average_attn_weights
        )
        if weights is not None:
            rows = is_padding.to(padded.device).unsqueeze(2)
            weights = weights.masked_fill(rows if weights.dim() == 3 else rows.unsqueeze(1), 0.0)
        return torch.nested.as_nested_tensor([row[:length] for row, length in zip(output, lengths, strict=True)]), weights
