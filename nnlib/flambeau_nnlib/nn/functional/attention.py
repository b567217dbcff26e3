"""Attention (Vaswani et al. 2017, "Attention is all you need")."""

from __future__ import annotations

import math

import flambeau as torch
from flambeau import Tensor
from flambeau.extension import Autocast, Kind, as_float, declare, merge_nodes, require_flags, warn
from flambeau.extension.functions import (
    attention,
    can_use_attention,
    fused_attention,
    has_fused_attention,
    has_half_attention,
)

from .activation import softmax
from .dropout import dropout
from .padding import pad

__all__ = ["multi_head_attention_forward", "scaled_dot_product_attention"]


# --- scaled dot-product attention ---------------------------------------------------------------------------------


@declare(
    kind=Kind.ATTENTION,
    random=True,
    autocast=Autocast.FAST,
    schema=(
        "scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0., bool "
        "is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor",
    ),
    home="torch._C._nn",
)
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Compute `softmax(query @ key.T * scale + mask) @ value`: for each query, a mean of values weighted by the keys.

    Vaswani et al., *Attention is all you need*, 2017.

    Args:
        query: `(*, L, E)`, at least 2 dimensions; with heads, `(N, heads, L, E)`.
        key: `(*, S, E)`, of the same dtype.
        value: `(*, S, V)`, of the same dtype. The result has the shape `(*, L, V)`.
        attn_mask: of a shape that broadcasts to `(*, L, S)`: bool, True where a query may attend to a key, or floating
            point, added to the scores; None for no mask. A query whose keys are all masked gives zeros.
        dropout_p: the probability that a weight is zeroed. It also applies in evaluation, where 0 should be passed.
        is_causal: whether query i attends only to keys 0, ..., i. It can be combined with `attn_mask` only on the CPU, for
            heads of one size in a batch, without dropout; RuntimeError otherwise.
        scale: the factor of the scores; None for `1 / sqrt(E)`.
        enable_gqa: whether key and value may have fewer heads, in dimension -3, than the query: each of their
            heads then serves `query heads / key heads` heads of the query. RuntimeError unless the division is exact.

    Raises:
        RuntimeError: dimensions or dtypes do not fit.

    Example:
        >>> q = torch.ones(1, 2, 4)
        >>> F.scaled_dot_product_attention(q, q, q, is_causal=True).shape
        torch.Size([1, 2, 4])
        >>> identity = torch.eye(2).unsqueeze(0)
        >>> F.scaled_dot_product_attention(identity, identity, identity, is_causal=True)
        tensor([[[1.0000, 0.0000],
                 [0.3302, 0.6698]]])
    """
    require_flags("scaled_dot_product_attention", is_causal=is_causal, enable_gqa=enable_gqa)
    dropout_p = as_float("scaled_dot_product_attention", "dropout_p", dropout_p)
    _check_attention(query, key, value, attn_mask)
    if is_causal and attn_mask is not None and not (query.is_cpu and _is_one_operation(query, key, value, attn_mask, dropout_p)):
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    scale = 1 / math.sqrt(query.size(-1) or 1) if scale is None else scale
    fuses = torch.backends.cuda.cudnn_sdp_enabled() and has_fused_attention(query, key, value)
    if fuses and attn_mask is None and not dropout_p:
        return fused_attention(query, key, value, is_causal, scale)
    dtype, inputs, one_operation = query.dtype, (query, key, value), _is_one_operation(query, key, value, attn_mask, dropout_p)
    heads_and_length: tuple[int, ...] = ()  # those of the query, whose groups may be folded
    if enable_gqa:
        _check_groups(query, key, value)
        heads_and_length = tuple(query.shape)[-3:-1]
        query = _fold_groups(query, key, value, attn_mask, is_causal or dropout_p > 0)
    is_direct = False
    if dtype in (torch.float16, torch.bfloat16):
        is_direct = not dropout_p and has_half_attention(query, key, value, attn_mask)
        if not is_direct:  # half precision is too imprecise for the scores
            query, key, value = query.float(), key.float(), value.float()
            attn_mask = attn_mask if attn_mask is None or attn_mask.dtype is torch.bool else attn_mask.float()
    if enable_gqa and query.size(-3) != key.size(-3):
        key = key.repeat_interleave(query.shape[-3] // key.shape[-3], -3)
        value = value.repeat_interleave(query.shape[-3] // value.shape[-3], -3)
    is_direct = is_direct or (not dropout_p and can_use_attention(query, key, value, attn_mask, one_operation))
    if is_direct:
        output = attention(query, key, value, attn_mask, is_causal, scale)
    else:
        output = _attend_step_by_step(query, key, value, attn_mask, dropout_p, is_causal, scale)
    if heads_and_length and tuple(output.shape)[-3:-1] != heads_and_length:
        output, is_direct = output.reshape(*output.shape[:-3], *heads_and_length, output.shape[-1]), False
    if not one_operation or (is_direct and output.dtype is dtype):
        return output.to(dtype)
    return merge_nodes(output.to(dtype), "ScaledDotProductFlashAttentionForCpuBackward0", inputs)


def _fold_groups(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, depends_on_position: bool) -> Tensor:
    """Return the query `(N, heads, L, E)` as `(N, key heads, group * L, E)`, so that keys need not be repeated for each head.

    The query is returned unchanged if the mask or `depends_on_position` distinguishes its positions or heads.
    """
    *batch, heads, length, size = query.shape
    is_same_for_all = mask is None or (mask.dim() > 1 and mask.shape[-2] == 1 and (mask.dim() == 2 or mask.shape[-3] == 1))
    if depends_on_position or not is_same_for_all or tuple(key.shape)[:-2] != tuple(value.shape)[:-2]:
        return query
    key_heads = key.size(-3)
    return query.reshape(*batch, key_heads, heads // key_heads * length, size)


def _attend_step_by_step(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout_p: float, is_causal: bool, scale: float
) -> Tensor:
    scores = (query * scale) @ key.transpose(-2, -1)
    if is_causal:
        mask = _causal(mask, scores.new_ones(scores.shape[-2:], dtype=torch.bool).tril())
    weights = scores.softmax(-1) if mask is None else _masked_softmax(scores, mask)
    return (torch.dropout(weights, dropout_p, True) if dropout_p > 0 else weights) @ value


def _is_one_operation(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout_p: float) -> bool:
    """Whether PyTorch computes this attention in one operation, so that the autograd graph has one node for it."""
    if dropout_p or (mask is not None and mask.requires_grad):
        return False
    shapes = tuple(query.shape), tuple(key.shape), tuple(value.shape)
    one_size = shapes[0][-1] == shapes[1][-1] == shapes[2][-1]
    return len(shapes[0]) == len(shapes[1]) == len(shapes[2]) == 4 and one_size and 0 not in shapes[0] + shapes[1]


def _causal(mask: Tensor | None, past: Tensor) -> Tensor:
    """Combine `mask` with the causal mask `past`, which is True where a key does not come after the query."""
    if mask is None:
        return past
    return mask & past if mask.dtype is torch.bool else mask.masked_fill(~past, -math.inf)


def _masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Compute the softmax of masked scores; a fully masked row gives zeros."""
    scores = scores.masked_fill(~mask, -math.inf) if mask.dtype is torch.bool else scores + mask
    all_masked = (scores == -math.inf).all(-1, keepdim=True)
    return scores.softmax(-1).masked_fill(all_masked, 0.0)


def _check_attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> None:
    if min(query.dim(), key.dim(), value.dim()) < 2:
        raise RuntimeError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
            f"{query.dim()} key.dim: {key.dim()} and value.dim: {value.dim()} instead."
        )
    if not query.dtype is key.dtype is value.dtype:
        raise RuntimeError(
            f"Expected query, key, and value to have the same dtype, but got query.dtype: {query.dtype} "
            f"key.dtype: {key.dtype} and value.dtype: {value.dtype} instead."
        )
    if mask is not None and mask.dtype not in (torch.bool, torch.float32, query.dtype):
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
            f"{mask.dtype} and  query.dtype: {query.dtype} instead."
        )


def _check_groups(query: Tensor, key: Tensor, value: Tensor) -> None:
    heads = [tensor.size(-3) for tensor in (query, key, value)]  # raises PyTorch's IndexError for too few dimensions
    if not all(heads[1:]) or heads[0] % heads[1] or heads[0] % heads[2]:
        raise RuntimeError(
            "Number of heads in key and value must divide the number of heads in query, but got "
            f"{heads[1]} and {heads[2]} for {heads[0]}"
        )


# --- multi-head attention -----------------------------------------------------------------------------------------


def _self_projection(x: Tensor, weight: Tensor | None, bias: Tensor | None, num_heads: int, batch_first: bool) -> list[Tensor]:
    """Project `x` to queries, keys and values, each `(N, num_heads, L, E / num_heads)`, in one product with a packed weight."""
    if weight is None:
        raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
    packed = torch.nn.functional.linear(x, weight, bias).unflatten(-1, (3, num_heads, x.shape[-1] // num_heads))
    return list(packed.permute((2, 0, 3, 1, 4) if batch_first else (2, 1, 3, 0, 4)).unbind())


def _packed_projection(query: Tensor, key: Tensor, value: Tensor, weight: Tensor | None, bias: Tensor | None) -> list[Tensor]:
    """Project queries, keys and values by a packed weight. If key and value are the same tensor, one product projects both."""
    if key.shape != value.shape:
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
    if weight is None:
        raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
    size = query.shape[-1]
    if key is value:
        weights = weight.split([size, 2 * size])
        query_bias, key_value_bias = (None, None) if bias is None else bias.split([size, 2 * size])
        return [
            torch.nn.functional.linear(query, weights[0], query_bias),
            *torch.nn.functional.linear(key, weights[1], key_value_bias).chunk(2, -1),
        ]
    biases = (None,) * 3 if bias is None else bias.chunk(3)
    return [torch.nn.functional.linear(x, w, b) for x, w, b in zip((query, key, value), weight.chunk(3), biases, strict=True)]


def _canonical_mask(mask: Tensor | None, name: str, other: Tensor | None, other_name: str, dtype: torch.dtype) -> Tensor | None:
    """Return a mask to add to the scores: for a bool mask, minus infinity where it is True and 0 elsewhere."""
    if mask is None:
        return None
    if mask.dtype is not torch.bool and not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {name} are supported")
    if other is not None and other.dtype is not mask.dtype:
        warn(f"Support for mismatched {name} and {other_name} is deprecated. Use same type for both instead.")
    if mask.dtype is not torch.bool:
        return mask
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(mask, -math.inf)


def _check_heads(query: Tensor, key: Tensor, value: Tensor, padding: Tensor | None, mask: Tensor | None, heads: int) -> bool:
    """Return whether the inputs have a batch dimension; raise AssertionError if their dimensions do not fit."""
    if query.dim() not in (2, 3):
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {query.dim()}-D query tensor")
    batched = query.dim() == 3
    kind = "batched (3-D)" if batched else "unbatched (2-D)"
    if key.dim() != query.dim() or value.dim() != query.dim():
        raise AssertionError(
            f"For {kind} `query`, expected `key` and `value` to be {query.dim()}-D but found {key.dim()}-D and "
            f"{value.dim()}-D tensors respectively"
        )
    if padding is not None and padding.dim() != query.dim() - 1:
        raise AssertionError(
            f"For {kind} `query`, expected `key_padding_mask` to be `None` or {query.dim() - 1}-D but found "
            f"{padding.dim()}-D tensor instead"
        )
    if mask is not None and mask.dim() not in (2, 3):
        raise AssertionError(
            f"For {kind} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found {mask.dim()}-D tensor instead"
        )
    if mask is not None and mask.dim() == 3 and not batched:
        expected = (heads, query.shape[0], key.shape[0])
        if tuple(mask.shape) != expected:
            raise AssertionError(f"Expected `attn_mask` shape to be {expected} but got {mask.shape}")
    return batched


def _check_size(size: int, expected: int, heads: int) -> None:
    if size != expected:
        raise AssertionError(f"was expecting embedding dimension of {expected}, but got {size}")
    if size % heads:
        raise AssertionError(f"embed_dim {size} not divisible by num_heads {heads}")


def _mask_by_head(mask: Tensor | None, padding: Tensor | None, batch: int, heads: int, length: int, keys: int) -> Tensor | None:
    """Add up both masks, for scores of shape `(batch, heads, length, keys)`; return None if both are None."""
    if mask is not None:
        kind, expected = ("2D", (length, keys)) if mask.dim() == 2 else ("3D", (batch * heads, length, keys))
        if tuple(mask.shape) != expected:
            raise RuntimeError(f"The shape of the {kind} attn_mask is {mask.shape}, but should be {expected}.")
        mask = mask if mask.dim() == 2 else mask.unflatten(0, (batch, heads))
    if padding is None:
        return mask if mask is None or mask.dim() == 4 else mask.unsqueeze(0).unsqueeze(0)
    for dim, expected_size in enumerate((batch, keys)):
        if padding.shape[dim] != expected_size:
            raise AssertionError(f"Expected key_padded_mask.shape[{dim}] to be {expected_size}, but got {padding.shape[dim]}")
    padding = padding.unsqueeze(1).unsqueeze(1)
    return padding if mask is None else mask + padding


@declare(kind=Kind.ATTENTION, random=True, autocast=Autocast.FAST)
def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Compute multi-head attention: each head attends with its part of the projected features; see `nn.MultiheadAttention`.

    Args:
        query: `(L, N, E)` or `(L, E)`.
        key: `(S, N, *)` or without N.
        value: `(S, N, *)` or without N.
        embed_dim_to_check: the expected E; AssertionError if E differs.
        num_heads: the number of heads; AssertionError unless it divides E.
        in_proj_weight: the concatenated projections of query, key and value, `(3 * E, E)`.
        in_proj_bias: the concatenated biases of these projections, `(3 * E,)`, or None.
        bias_k, bias_v: an additional key and value, `(1, 1, E)`, or None for both.
        add_zero_attn: whether to add a key and a value of zeros.
        dropout_p: the probability that a weight is zeroed in training.
        out_proj_weight, out_proj_bias: the projection of the joined heads, `(E, E)`, and its bias, `(E,)` or None.
        training: whether to apply dropout.
        key_padding_mask: `(N, S)` or `(S,)`, True for a key that no query attends to, or added to the scores; or None.
        need_weights: whether to return the attention weights; otherwise None is returned for them.
        attn_mask: `(L, S)` or `(N * num_heads, L, S)`, True where a query must not attend to a key, or added to the
            scores; or None.
        use_separate_proj_weight: whether to project query, key and value by `q_proj_weight`, `k_proj_weight` and
            `v_proj_weight`, for keys and values of sizes other than E.
        q_proj_weight, k_proj_weight, v_proj_weight: separate projections, `(E, E)`, `(E, key features)` and
            `(E, value features)`, or None.
        static_k, static_v: projected keys and values, `(N * num_heads, S, E / num_heads)`, used instead of `key` and `value`.
        average_attn_weights: whether the weights are averaged over the heads.
        is_causal: a hint that `attn_mask` is the causal mask; RuntimeError without `attn_mask`.

    Returns:
        The output, in the shape of `query`, and the weights: `(N, L, S)`, `(N, num_heads, L, S)` unless averaged,
        without N as in `query`, or None.

    Example:
        >>> x, weight = torch.randn(5, 1, 4), torch.randn(12, 4)
        >>> output, weights = F.multi_head_attention_forward(
        ...     x, x, x, 4, 2, weight, None, None, None, False, 0.0, torch.eye(4), None
        ... )
        >>> output.shape, weights.shape
        (torch.Size([5, 1, 4]), torch.Size([1, 5, 5]))
    """
    return attend_by_heads(**locals())


def attend_by_heads(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool,
    key_padding_mask: Tensor | None,
    need_weights: bool,
    attn_mask: Tensor | None,
    use_separate_proj_weight: bool,
    q_proj_weight: Tensor | None,
    k_proj_weight: Tensor | None,
    v_proj_weight: Tensor | None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
    batch_first: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Compute `multi_head_attention_forward`, with the additional option `batch_first` of `nn.MultiheadAttention`."""
    batched = _check_heads(query, key, value, key_padding_mask, attn_mask, num_heads)
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask."
        )
    if not batched:
        one_sequence, batch_first = query is key is value, True
        query = query.unsqueeze(0)
        key, value = (query, query) if one_sequence else (key.unsqueeze(0), value.unsqueeze(0))
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    (batch, length) = query.shape[:2] if batch_first else query.shape[1::-1]
    _check_size(query.shape[2], embed_dim_to_check, num_heads)
    padding = _canonical_mask(key_padding_mask, "key_padding_mask", attn_mask, "attn_mask", query.dtype)
    if is_causal and padding is None and not need_weights:
        attn_mask = None  # passing `is_causal` on has the same effect and is faster
    else:
        attn_mask = _canonical_mask(attn_mask, "attn_mask", None, "", query.dtype)
        is_causal = is_causal and padding is None and attn_mask is None

    if use_separate_proj_weight:
        weights = (q_proj_weight, k_proj_weight, v_proj_weight)
        projections = _separate_projection(query, key, value, weights, in_proj_bias)
    elif query is key is value:
        projections = _self_projection(query, in_proj_weight, in_proj_bias, num_heads, batch_first)
    else:
        projections = _packed_projection(query, key, value, in_proj_weight, in_proj_bias)
    q, k, v = (x if x.dim() == 4 else _by_head(x, num_heads, batch_first) for x in projections)
    attn_mask = _mask_by_head(attn_mask, padding, batch, num_heads, length, key.shape[1 if batch_first else 0])
    if bias_k is not None and bias_v is not None:
        for name, static in (("key", static_k), ("value", static_v)):
            if static is not None:
                raise AssertionError(f"bias cannot be added to static {name}.")
    k = k if static_k is None else static_k.unflatten(0, (batch, num_heads))
    v = v if static_v is None else static_v.unflatten(0, (batch, num_heads))
    if (bias_k is None) is not (bias_v is None):
        present, missing = ("bias_k", "bias_v") if bias_v is None else ("bias_v", "bias_k")
        raise AssertionError(f"{present} is set but {missing} is None")
    if bias_k is not None and bias_v is not None:
        k, v = (torch.cat([x, _by_head(bias.expand(1, batch, -1), num_heads)], 2) for x, bias in ((k, bias_k), (v, bias_v)))
    if add_zero_attn:
        k, v = (torch.cat([x, torch.zeros_like(x[:, :, :1])], 2) for x in (k, v))
    extra = (bias_k is not None and bias_v is not None) + bool(add_zero_attn)
    if attn_mask is not None and extra:
        attn_mask = pad(attn_mask, (0, extra))  # the added keys are never masked

    dropout_p, attention_weights = dropout_p if training else 0.0, None
    if need_weights:
        output, attention_weights = _attention_with_weights(q, k, v, attn_mask, dropout_p)
        attention_weights = attention_weights.mean(1) if average_attn_weights else attention_weights
    else:
        output = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask, dropout_p, is_causal)
    joined = output.permute(0, 2, 1, 3) if batch_first else output.permute(2, 0, 1, 3)
    output = torch.nn.functional.linear(joined.reshape(query.shape), out_proj_weight, out_proj_bias)
    if batched:
        return output, attention_weights
    return output.squeeze(0), None if attention_weights is None else attention_weights.squeeze(0)


def _separate_projection(
    query: Tensor, key: Tensor, value: Tensor, weights: tuple[Tensor | None, ...], bias: Tensor | None
) -> list[Tensor]:
    if key.shape[:2] != value.shape[:2]:
        raise AssertionError(f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}")
    projections: list[Tensor] = []
    for name, projection in zip("qkv", weights, strict=True):
        if projection is None:
            raise AssertionError(f"use_separate_proj_weight is True but {name}_proj_weight is None")
        projections.append(projection)
    for name, x, weight in zip(("query", "key", "value"), (query, key, value), projections, strict=True):
        expected = (query.shape[-1], x.shape[-1])
        if weight.shape != expected:
            raise AssertionError(f"expecting {name} weights shape of {expected}, but got {weight.shape}")
    biases = (None,) * 3 if bias is None else bias.chunk(3)
    return [torch.nn.functional.linear(x, w, b) for x, w, b in zip((query, key, value), projections, biases, strict=True)]


def _by_head(x: Tensor, num_heads: int, batch_first: bool = False) -> Tensor:
    """Return a view of `(L, N, E)`, or `(N, L, E)` if `batch_first`, of shape `(N, num_heads, L, E / num_heads)`."""
    return x.unflatten(-1, (num_heads, x.shape[-1] // num_heads)).permute((0, 2, 1, 3) if batch_first else (1, 2, 0, 3))


def _attention_with_weights(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, dropout_p: float) -> tuple[Tensor, Tensor]:
    scaled = q * math.sqrt(1.0 / q.shape[-1])
    scores = scaled @ k.transpose(-2, -1)
    weights = softmax(scores if mask is None else scores + mask, dim=-1)
    weights = dropout(weights, dropout_p) if dropout_p > 0 else weights
    return weights @ v, weights
