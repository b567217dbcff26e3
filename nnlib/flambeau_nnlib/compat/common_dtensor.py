"""The model that PyTorch's tests of `DTensor` train."""

from __future__ import annotations

from dataclasses import dataclass

import flambeau as torch

from ..nn import GELU, Dropout, Embedding, LayerNorm, Linear, Module, ModuleList
from ..nn import functional as F

__all__ = ["ModelArgs", "Transformer"]


@dataclass
class ModelArgs:
    """The sizes and options of a `Transformer`."""

    n_layers: int = 2
    vocab_size: int = 8
    max_seq_len: int = 16
    dim: int = 16
    n_heads: int = 4
    dropout_p: float = 0.1
    use_attn_mask: bool = True
    weight_tying: bool = True
    checkpoint_activations: bool = False


class _Attention(Module):
    def __init__(self, args: ModelArgs) -> None:
        super().__init__()
        self.n_heads, self.dropout_p, self.use_attn_mask = args.n_heads, args.dropout_p, args.use_attn_mask
        self.resid_dropout = Dropout(args.dropout_p)
        self.wq, self.wk, self.wv, self.wo = (Linear(args.dim, args.dim, bias=False) for _ in range(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        queries, keys, values = (
            layer(x).unflatten(-1, (self.n_heads, -1)).transpose(1, 2) for layer in (self.wq, self.wk, self.wv)
        )
        dropout = self.dropout_p if self.training else 0.0
        heads = F.scaled_dot_product_attention(queries, keys, values, None, dropout, self.use_attn_mask)
        result: torch.Tensor = self.resid_dropout(self.wo(heads.transpose(1, 2).flatten(-2)))
        return result


class _FeedForward(Module):
    def __init__(self, args: ModelArgs) -> None:
        super().__init__()
        self.w1, self.gelu, self.w2 = Linear(args.dim, 4 * args.dim), GELU(), Linear(4 * args.dim, args.dim)
        self.resid_dropout = Dropout(args.dropout_p)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.resid_dropout(self.w2(self.gelu(self.w1(x))))
        return result


class _TransformerBlock(Module):
    def __init__(self, args: ModelArgs) -> None:
        super().__init__()
        self.attention_norm, self.attention = LayerNorm(args.dim), _Attention(args)
        self.ffn_norm, self.feed_forward = LayerNorm(args.dim), _FeedForward(args)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.attention_norm(x))
        result: torch.Tensor = x + self.feed_forward(self.ffn_norm(x))
        return result


class Transformer(Module):
    """A small transformer that maps `(N, L)` tokens to `(N, L, vocab_size)` scores."""

    def __init__(self, args: ModelArgs) -> None:
        super().__init__()
        self.model_args, self.max_seq_len = args, args.max_seq_len
        self.tok_embeddings = Embedding(args.vocab_size, args.dim)
        self.pos_embeddings = Embedding(args.max_seq_len, args.dim)
        self.dropout = Dropout(args.dropout_p)
        self.layers = ModuleList(_TransformerBlock(args) for _ in range(args.n_layers))
        self.norm = LayerNorm(args.dim)
        self.output = Linear(args.dim, args.vocab_size, bias=False)
        if args.weight_tying:
            self.output.weight = self.tok_embeddings.weight
        self.checkpoint_activations = args.checkpoint_activations

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        length = tokens.size(1)
        if length > self.max_seq_len:
            raise AssertionError(f"Expected seq_len <= max_seq_len, got {length} > {self.max_seq_len}")
        x = self.dropout(self.tok_embeddings(tokens) + self.pos_embeddings(torch.arange(length, device=tokens.device)))
        for layer in self.layers:
            x = torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=False) if self.checkpoint_activations else layer(x)
        scores: torch.Tensor = self.output(self.norm(x))
        return scores.float()
