"""The transformer: layers of attention and feed-forward networks.

Masks are those of `MultiheadAttention`: a `mask` `(L, S)` or `(N * nhead, L, S)` is True where a query must not attend to a
key, a `key_padding_mask` `(N, S)` or `(S,)` is True for padding.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import flambeau as torch
from flambeau import Tensor
from flambeau.extension import private_names

from .. import functional as F
from .. import init
from .activation import GELU, ReLU
from .attention import MultiheadAttention
from .container import ModuleList
from .dropout import Dropout
from .linear import Linear
from .module import Module
from .normalization import LayerNorm

__all__ = [
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]

Activation = str | Callable[[Tensor], Tensor]
__getattr__ = private_names(__name__)


class Transformer(Module):
    """An encoder of the source sequence, and a decoder of the target that attends to the encoder's output.

    It does not include the embedding of tokens or the map from the output to tokens. In training, prevent target positions
    from attending to later ones with `tgt_mask=Transformer.generate_square_subsequent_mask(T)`.

    Vaswani et al., *Attention is all you need*, 2017.

    Args:
        d_model: the number of features of source, target and output.
        nhead: the number of heads of each attention; has to divide `d_model`.
        num_encoder_layers: the number of layers of the encoder.
        num_decoder_layers: the number of layers of the decoder.
        dim_feedforward: the number of hidden features of the feed-forward networks.
        dropout: the probability that an element is zeroed in training.
        activation: the activation of the feed-forward networks: "relu", "gelu" or a function of a tensor.
        custom_encoder: the encoder, instead of a `TransformerEncoder`.
        custom_decoder: the decoder, instead of a `TransformerDecoder`.
        layer_norm_eps: the `eps` of each `LayerNorm`.
        batch_first: whether the batch is dimension 0 of inputs and output; False for dimension 1.
        norm_first: whether to normalize the input of attention and feed-forward networks instead of the sum of their
            input and output.
        bias: whether linear maps and normalizations have a learned bias.
        device, dtype: device and dtype of the parameters.

    Shape:
        - `src`: `(S, N, d_model)`, `(N, S, d_model)` with `batch_first`, or `(S, d_model)`.
        - `tgt`: `(T, N, d_model)`, `(N, T, d_model)` with `batch_first`, or `(T, d_model)`. RuntimeError if batches
          of `src` and `tgt` differ in size, or features are not `d_model`.
        - Masks: `src_mask` `(S, S)`, `tgt_mask` `(T, T)` and `memory_mask` `(T, S)`, or with `N * nhead` in front, True
          where a query must not attend to a key; `src_key_padding_mask` `(N, S)`, `tgt_key_padding_mask` `(N, T)` and
          `memory_key_padding_mask` `(N, S)`, or without N, True for padding. Floating-point masks are added to the
          scores.
        - `src_is_causal`, `tgt_is_causal`, `memory_is_causal`: whether the mask is the causal mask; None to detect it.
        - Output: the shape of `tgt`.

    Example:
        >>> net = torch.nn.Transformer(16, nhead=4, num_encoder_layers=2, num_decoder_layers=2, dim_feedforward=32)
        >>> net(torch.rand(10, 3, 16), torch.rand(20, 3, 16)).shape
        torch.Size([20, 3, 16])
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        custom_encoder: Module | None = None,
        custom_decoder: Module | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        sizes = (d_model, nhead, dim_feedforward)
        settings = (*sizes, dropout, activation, layer_norm_eps, batch_first, norm_first, bias, device, dtype)
        norm = partial(LayerNorm, d_model, eps=layer_norm_eps, bias=bias, device=device, dtype=dtype)
        if custom_encoder is None:
            encoder_layer = TransformerEncoderLayer(*settings)
            custom_encoder = TransformerEncoder(encoder_layer, num_encoder_layers, norm())
        self.encoder = custom_encoder
        if custom_decoder is None:
            decoder_layer = TransformerDecoderLayer(*settings)
            custom_decoder = TransformerDecoder(decoder_layer, num_decoder_layers, norm())
        self.decoder = custom_decoder
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def _reset_parameters(self) -> None:
        for param in self.parameters():
            if param.dim() > 1:
                init.xavier_uniform_(param)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        batch_dim = 0 if self.batch_first else 1
        if src.dim() == 3 and src.size(batch_dim) != tgt.size(batch_dim):
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        output: Tensor = self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )
        return output

    @staticmethod
    def generate_square_subsequent_mask(
        sz: int, device: torch.device | str | None = None, dtype: torch.dtype | None = None
    ) -> Tensor:
        """Return the causal mask `(sz, sz)`: -inf for keys after the query, 0 elsewhere.

        >>> torch.nn.Transformer.generate_square_subsequent_mask(2)
        tensor([[0., -inf],
                [0., 0.]])
        """
        return torch.triu(torch.full((sz, sz), float("-inf"), device=device, dtype=dtype), diagonal=1)


class TransformerEncoder(Module):
    """A stack of `num_layers` copies of an encoder layer.

    All copies start from the values of the given layer, which itself is not used.

    Args:
        encoder_layer: the layer to copy, such as a `TransformerEncoderLayer`.
        num_layers: the number of copies.
        norm: a module that is applied to the output, such as a `LayerNorm`, or None.
        enable_nested_tensor: whether the output is zero at padded positions at the end of sequences, in evaluation
            without gradients. It has no effect, with a warning, for layers that do not meet PyTorch's
            conditions, such as `batch_first=True`.
        mask_check: accepted for compatibility; the layer always checks whether padding is at the end of sequences.

    Shape:
        - `src`: `(S, N, d_model)`, `(N, S, d_model)` with `batch_first`, or `(S, d_model)`.
        - Masks: `mask` `(S, S)` or `(N * nhead, S, S)`, True where a query must not attend to a key;
          `src_key_padding_mask` `(N, S)` or `(S,)`, True for padding. Floating-point masks are added to the scores.
        - `is_causal`: whether `mask` is the causal mask; None to detect it.
        - Output: the shape of `src`.

    Example:
        >>> layer = torch.nn.TransformerEncoderLayer(d_model=16, nhead=4, dim_feedforward=32, batch_first=True)
        >>> torch.nn.TransformerEncoder(layer, num_layers=3)(torch.rand(2, 10, 16)).shape
        torch.Size([2, 10, 16])
    """

    __constants__ = ("norm",)

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = make_copies(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        obstacle = nested_tensor_obstacle(encoder_layer)
        self.use_nested_tensor = enable_nested_tensor and not obstacle
        if enable_nested_tensor and obstacle:
            message = f"enable_nested_tensor is True, but self.use_nested_tensor is False because {obstacle}"
            warnings.warn(message, stacklevel=2)
        self.mask_check = mask_check

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        output = src
        is_causal = is_causal_mask(mask, is_causal, sequence_length(src, self.layers))
        for layer in self.layers:
            output = layer(output, src_mask=mask, is_causal=is_causal, src_key_padding_mask=src_key_padding_mask)
        if src_key_padding_mask is not None and self._skips_padding(src, mask, src_key_padding_mask):
            output = output.masked_fill(as_bool(src_key_padding_mask).unsqueeze(-1), 0.0)
        return output if self.norm is None else self.norm(output)

    def _skips_padding(self, src: Tensor, mask: Tensor | None, padding: Tensor) -> bool:
        layer = self.layers[0]
        if not self.use_nested_tensor or layer.training or src.dim() != 3 or mask is not None:
            return False
        if torch.is_grad_enabled() and (src.requires_grad or any(p.requires_grad for p in layer.parameters())):
            return False
        padding = as_bool(padding)
        return not bool((padding[:, :-1] & ~padding[:, 1:]).any())


class TransformerDecoder(Module):
    """A stack of `num_layers` copies of a decoder layer.

    All copies start from the values of the given layer, which itself is not used.

    Args:
        decoder_layer: the layer to copy, such as a `TransformerDecoderLayer`.
        num_layers: the number of copies.
        norm: a module that is applied to the output, such as a `LayerNorm`, or None.

    Shape:
        - `tgt`: `(T, N, d_model)`, `(N, T, d_model)` with `batch_first`, or `(T, d_model)`.
        - `memory`: the encoder's output, `(S, N, d_model)`, or as for `tgt`.
        - Masks: `tgt_mask` `(T, T)` and `memory_mask` `(T, S)`, or with `N * nhead` in front, True where a query must
          not attend to a key; `tgt_key_padding_mask` `(N, T)` and `memory_key_padding_mask` `(N, S)`, or without N,
          True for padding. Floating-point masks are added to the scores.
        - `tgt_is_causal`, `memory_is_causal`: whether the mask is the causal mask; `tgt_is_causal=None` detects it.
        - Output: the shape of `tgt`.

    Example:
        >>> layer = torch.nn.TransformerDecoderLayer(d_model=16, nhead=4, dim_feedforward=32)
        >>> torch.nn.TransformerDecoder(layer, num_layers=3)(torch.rand(20, 2, 16), torch.rand(10, 2, 16)).shape
        torch.Size([20, 2, 16])
    """

    __constants__ = ("norm",)

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = make_copies(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        output = tgt
        tgt_is_causal = is_causal_mask(tgt_mask, tgt_is_causal, sequence_length(tgt, self.layers))
        for layer in self.layers:
            output = layer(
                output,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=tgt_is_causal,
                memory_is_causal=memory_is_causal,
            )
        return output if self.norm is None else self.norm(output)


class TransformerEncoderLayer(Module):
    """Self-attention, then a feed-forward network with one hidden layer, each with a residual connection and a `LayerNorm`.

    Vaswani et al., *Attention is all you need*, 2017.

    Args:
        d_model: the number of features of input and output.
        nhead: the number of heads of the attention; AssertionError unless it divides `d_model`.
        dim_feedforward: the number of hidden features of the feed-forward network.
        dropout: the probability that an element is zeroed in training.
        activation: the activation of the feed-forward network: "relu", "gelu" or a function of a tensor; RuntimeError for
            another string.
        layer_norm_eps: the `eps` of each `LayerNorm`.
        batch_first: whether the batch is dimension 0 of input and output; False for dimension 1.
        norm_first: whether attention and feed-forward network compute `x + f(norm(x))` instead of `norm(x + f(x))`.
        bias: whether linear maps and normalizations have a learned bias.
        device, dtype: device and dtype of the parameters.

    Shape:
        - `src`: `(S, N, d_model)`, `(N, S, d_model)` with `batch_first`, or `(S, d_model)`.
        - Masks: `src_mask` `(S, S)` or `(N * nhead, S, S)`, True where a query must not attend to a key;
          `src_key_padding_mask` `(N, S)` or `(S,)`, True for padding. Floating-point masks are added to the scores.
        - `is_causal`: a hint that `src_mask` is the causal mask; it requires `src_mask`.
        - Output: the shape of `src`.

    Example:
        >>> layer = torch.nn.TransformerEncoderLayer(d_model=16, nhead=4, dim_feedforward=32)
        >>> layer(torch.rand(10, 2, 16)).shape
        torch.Size([10, 2, 16])
    """

    __constants__ = ("norm_first",)

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        attention = partial(
            MultiheadAttention, d_model, nhead, dropout, bias, batch_first=batch_first, device=device, dtype=dtype
        )
        linear = partial(Linear, bias=bias, device=device, dtype=dtype)
        norm = partial(LayerNorm, d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)
        self.self_attn = attention()
        self.linear1 = linear(d_model, dim_feedforward)
        self.dropout = Dropout(dropout)
        self.linear2 = linear(dim_feedforward, d_model)
        self.norm_first = norm_first
        self.norm1 = norm()
        self.norm2 = norm()
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.activation = as_activation(activation)
        # 1 for ReLU, 2 for GELU, 0 for others; PyTorch requires this attribute in saved modules
        self.activation_relu_or_gelu = (
            1 if _is_activation(self.activation, F.relu, ReLU) else 2 if _is_activation(self.activation, F.gelu, GELU) else 0
        )

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        x = src
        masks = (src_mask, src_key_padding_mask, is_causal)
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), *masks)
            return x + self._ff_block(self.norm2(x))
        x = self.norm1(x + self._sa_block(x, *masks))
        output: Tensor = self.norm2(x + self._ff_block(x))
        return output

    def _sa_block(self, x: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None, is_causal: bool = False) -> Tensor:
        x, _ = self.self_attn(
            x,
            x,
            x,
            attn_mask=attn_mask,
            key_padding_mask=key_padding_mask,
            need_weights=False,
            is_causal=is_causal,
        )
        output: Tensor = self.dropout1(x)
        return output

    def _ff_block(self, x: Tensor) -> Tensor:
        output: Tensor = self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))
        return output


class TransformerDecoderLayer(Module):
    """Self-attention, attention to `memory`, then a feed-forward network, each with a residual connection and a `LayerNorm`.

    Vaswani et al., *Attention is all you need*, 2017.

    Args:
        d_model: the number of features of inputs and output.
        nhead: the number of heads of each attention; AssertionError unless it divides `d_model`.
        dim_feedforward: the number of hidden features of the feed-forward network.
        dropout: the probability that an element is zeroed in training.
        activation: the activation of the feed-forward network: "relu", "gelu" or a function of a tensor; RuntimeError for
            another string.
        layer_norm_eps: the `eps` of each `LayerNorm`.
        batch_first: whether the batch is dimension 0 of inputs and output; False for dimension 1.
        norm_first: whether attentions and feed-forward network compute `x + f(norm(x))` instead of `norm(x + f(x))`.
        bias: whether linear maps and normalizations have a learned bias.
        device, dtype: device and dtype of the parameters.

    Shape:
        - `tgt`: `(T, N, d_model)`, `(N, T, d_model)` with `batch_first`, or `(T, d_model)`.
        - `memory`: the encoder's output, `(S, N, d_model)`, or as for `tgt`.
        - Masks: `tgt_mask` `(T, T)` and `memory_mask` `(T, S)`, or with `N * nhead` in front, True where a query must
          not attend to a key; `tgt_key_padding_mask` `(N, T)` and `memory_key_padding_mask` `(N, S)`, or without N,
          True for padding. Floating-point masks are added to the scores.
        - `tgt_is_causal`, `memory_is_causal`: hints that the mask is the causal mask; they require the masks.
        - Output: the shape of `tgt`.

    Example:
        >>> layer = torch.nn.TransformerDecoderLayer(d_model=16, nhead=4, dim_feedforward=32)
        >>> layer(torch.rand(20, 2, 16), torch.rand(10, 2, 16)).shape
        torch.Size([20, 2, 16])
    """

    __constants__ = ("norm_first",)

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        attention = partial(
            MultiheadAttention, d_model, nhead, dropout, bias, batch_first=batch_first, device=device, dtype=dtype
        )
        linear = partial(Linear, bias=bias, device=device, dtype=dtype)
        norm = partial(LayerNorm, d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)
        self.self_attn = attention()
        self.multihead_attn = attention()
        self.linear1 = linear(d_model, dim_feedforward)
        self.dropout = Dropout(dropout)
        self.linear2 = linear(dim_feedforward, d_model)
        self.norm_first = norm_first
        self.norm1 = norm()
        self.norm2 = norm()
        self.norm3 = norm()
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.dropout3 = Dropout(dropout)
        self.activation = as_activation(activation)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        x = tgt
        tgt_masks = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        memory_masks = (memory_mask, memory_key_padding_mask, memory_is_causal)
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), *tgt_masks)
            x = x + self._mha_block(self.norm2(x), memory, *memory_masks)
            return x + self._ff_block(self.norm3(x))
        x = self.norm1(x + self._sa_block(x, *tgt_masks))
        x = self.norm2(x + self._mha_block(x, memory, *memory_masks))
        output: Tensor = self.norm3(x + self._ff_block(x))
        return output

    def _sa_block(self, x: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None, is_causal: bool = False) -> Tensor:
        x, _ = self.self_attn(
            x,
            x,
            x,
            attn_mask=attn_mask,
            key_padding_mask=key_padding_mask,
            need_weights=False,
            is_causal=is_causal,
        )
        output: Tensor = self.dropout1(x)
        return output

    def _mha_block(
        self,
        x: Tensor,
        memory: Tensor,
        attn_mask: Tensor | None,
        key_padding_mask: Tensor | None,
        is_causal: bool = False,
    ) -> Tensor:
        x, _ = self.multihead_attn(
            x,
            memory,
            memory,
            attn_mask=attn_mask,
            key_padding_mask=key_padding_mask,
            need_weights=False,
            is_causal=is_causal,
        )
        output: Tensor = self.dropout2(x)
        return output

    def _ff_block(self, x: Tensor) -> Tensor:
        output: Tensor = self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x)))))
        return output


def make_copies(module: Module, count: int) -> ModuleList:
    return ModuleList([copy.deepcopy(module) for _ in range(count)])


def _is_activation(activation: Callable[[Tensor], Tensor], function: Callable[..., Any], layer: type) -> bool:
    return activation is function or isinstance(activation, layer)


def as_activation(activation: Activation) -> Callable[[Tensor], Tensor]:
    if not isinstance(activation, str):
        return activation
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return F.relu if activation == "relu" else F.gelu


def as_bool(mask: Tensor) -> Tensor:
    """Convert a padding mask to bool: True where a floating-point mask is -inf."""
    return mask if mask.dtype == torch.bool else mask == float("-inf")


def sequence_length(input: Tensor, layers: ModuleList) -> int | None:
    """Return the length of the sequences, or None if they are nested and may differ."""
    if input.is_nested:
        return None
    attention = getattr(layers[0], "self_attn", None) if len(layers) else None
    length: int = input.shape[1 if input.dim() == 3 and getattr(attention, "batch_first", False) else 0]
    return length


def is_causal_mask(mask: Tensor | None, is_causal: bool | None, size: int | None) -> bool:
    """Return `is_causal` if it is a bool; for None, return whether `mask` is exactly the causal mask of `size` positions."""
    if is_causal is not None or mask is None:
        return bool(is_causal)
    size = mask.size(-2) if size is None else size
    causal = Transformer.generate_square_subsequent_mask(size, device=mask.device)
    if mask.dtype == torch.bool:
        causal = causal != 0
    return mask.size() == causal.size() and bool((mask == causal).all())


def nested_tensor_obstacle(layer: Module) -> str:
    """Return why this encoder layer does not support nested tensors (which skip padding); an empty string if it does."""
    if not isinstance(layer, TransformerEncoderLayer):
        return "encoder_layer was not TransformerEncoderLayer"
    attention, activation = layer.self_attn, layer.activation
    obstacles = {
        "norm_first was True": layer.norm_first,
        "self_attn.batch_first was not True(use batch_first for better inference performance)": not attention.batch_first,
        "self_attn._qkv_same_embed_dim was not True": not attention._qkv_same_embed_dim,
        "self_attn was passed bias=False": attention.in_proj_bias is None,
        "activation_relu_or_gelu was not True": activation not in (F.relu, F.gelu) and not isinstance(activation, (ReLU, GELU)),
        "norm1.eps was not equal to encoder_layer.norm2.eps": layer.norm1.eps != layer.norm2.eps,
        "self_attn.num_heads is odd": attention.num_heads % 2 == 1,
    }
    return next((f"encoder_layer.{text}" for text, applies in obstacles.items() if applies), "")
