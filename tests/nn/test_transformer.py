"""Attention compared with its formula in NumPy, and properties of transformer layers."""

import math

import numpy as np
import pytest

import flambeau as torch
from flambeau import nn

rng = np.random.default_rng(0)
CLOSE = {"rtol": 1e-4, "atol": 1e-5}


def floats(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def array(tensor):
    return tensor.detach().numpy()


def softmax(x):
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def projections(layer):
    if layer.in_proj_weight is not None:
        return np.split(array(layer.in_proj_weight), 3)
    return [array(getattr(layer, f"{name}_proj_weight")) for name in "qkv"]


def reference_attention(layer, query, key, value, scores_to_add=0.0):
    """Compute the attention of one sequence from `(L, E)`, `(S, kdim)` and `(S, vdim)`. Return the output and the weights
    `(heads, L, S)`.
    """
    biases = np.zeros((3, layer.embed_dim)) if layer.in_proj_bias is None else np.split(array(layer.in_proj_bias), 3)
    q, k, v = (
        (x @ weight.T + bias).reshape(len(x), layer.num_heads, -1).swapaxes(0, 1)
        for x, weight, bias in zip((query, key, value), projections(layer), biases, strict=True)
    )
    weights = softmax(q @ k.swapaxes(1, 2) / math.sqrt(layer.head_dim) + scores_to_add)
    mixed = (weights @ v).swapaxes(0, 1).reshape(len(query), -1)
    return mixed @ array(layer.out_proj.weight).T + (0 if layer.out_proj.bias is None else array(layer.out_proj.bias)), weights


@pytest.mark.parametrize("settings", [{}, {"bias": False}, {"kdim": 3, "vdim": 5}, {"num_heads": 1}])
def test_attention(settings):
    settings = {"num_heads": 2, **settings}
    layer = nn.MultiheadAttention(6, **settings)
    if layer.in_proj_bias is not None:
        nn.init.normal_(layer.in_proj_bias), nn.init.normal_(layer.out_proj.bias)
    query, key, value = floats(4, 2, 6), floats(5, 2, layer.kdim), floats(5, 2, layer.vdim)
    inputs = [torch.tensor(x) for x in (query, key, value)]
    output, weights = layer(*inputs)
    _, per_head = layer(*inputs, average_attn_weights=False)
    for sequence in range(2):
        expected, expected_weights = reference_attention(layer, *(x[:, sequence] for x in (query, key, value)))
        np.testing.assert_allclose(array(output)[:, sequence], expected, **CLOSE)
        np.testing.assert_allclose(array(weights)[sequence], expected_weights.mean(0), **CLOSE)
        np.testing.assert_allclose(array(per_head)[sequence], expected_weights, **CLOSE)
    unbatched, _ = layer(*(x[:, 0] for x in inputs))
    np.testing.assert_allclose(array(unbatched), array(output)[:, 0], **CLOSE)
    alone, none = layer(*inputs, need_weights=False)
    assert none is None
    np.testing.assert_allclose(array(alone), array(output), **CLOSE)


@pytest.mark.parametrize("need_weights", [True, False])
def test_masks(need_weights):
    layer = nn.MultiheadAttention(6, 2, batch_first=True)
    x = floats(2, 4, 6)
    causal = np.triu(np.ones((4, 4), bool), 1)
    padding = np.array([[False, False, False, True], [False, False, False, False]])
    hidden = np.where(causal | padding[:, None], -np.inf, 0)
    inputs = (torch.tensor(x),) * 3
    as_scores = lambda mask: np.where(mask, -np.inf, 0).astype(np.float32)  # noqa: E731
    for masks in [
        (causal, padding),
        (as_scores(causal), as_scores(padding)),
        (np.repeat(causal[None], 4, 0), padding),
    ]:
        attn_mask, key_padding_mask = map(torch.tensor, masks)
        output, _ = layer(*inputs, attn_mask=attn_mask, key_padding_mask=key_padding_mask, need_weights=need_weights)
        for sequence in range(2):
            expected, _ = reference_attention(layer, *(x[sequence],) * 3, hidden[sequence])
            np.testing.assert_allclose(array(output)[sequence], expected, **CLOSE)


def test_extra_keys():
    layer = nn.MultiheadAttention(6, 2, add_bias_kv=True, add_zero_attn=True)
    x = torch.tensor(floats(4, 2, 6))
    _, weights = layer(x, x, x)
    assert weights.shape == (2, 4, 6)
    assert [name for name, _ in layer.named_parameters()][:4] == ["in_proj_weight", "in_proj_bias", "bias_k", "bias_v"]


def test_attention_settings_are_checked():
    with pytest.raises(AssertionError, match="embed_dim must be divisible by num_heads"):
        nn.MultiheadAttention(5, 2)
    with pytest.raises(ValueError, match="got embed_dim=4 and num_heads=0 instead"):
        nn.MultiheadAttention(4, 0)


def layer_norm(x):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


def feed_forward(layer, x):
    hidden = np.maximum(x @ array(layer.linear1.weight).T + array(layer.linear1.bias), 0)
    return hidden @ array(layer.linear2.weight).T + array(layer.linear2.bias)


@pytest.mark.parametrize("norm_first", [False, True])
def test_encoder_layer(norm_first):
    layer, x = nn.TransformerEncoderLayer(6, 2, 8, dropout=0.0, norm_first=norm_first), floats(4, 6)

    def attend(x):
        return reference_attention(layer.self_attn, x, x, x)[0]

    if norm_first:
        middle = x + attend(layer_norm(x))
        expected = middle + feed_forward(layer, layer_norm(middle))
    else:
        middle = layer_norm(x + attend(x))
        expected = layer_norm(middle + feed_forward(layer, middle))
    for mode in (True, False):
        np.testing.assert_allclose(array(layer.train(mode)(torch.tensor(x))), expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("norm_first", [False, True])
def test_decoder_layer(norm_first):
    layer = nn.TransformerDecoderLayer(6, 2, 8, dropout=0.0, norm_first=norm_first)
    x, memory = floats(4, 6), floats(5, 6)
    attend = lambda x: reference_attention(layer.self_attn, x, x, x)[0]  # noqa: E731
    look = lambda x: reference_attention(layer.multihead_attn, x, memory, memory)[0]  # noqa: E731
    if norm_first:
        first = x + attend(layer_norm(x))
        second = first + look(layer_norm(first))
        expected = second + feed_forward(layer, layer_norm(second))
    else:
        first = layer_norm(x + attend(x))
        second = layer_norm(first + look(first))
        expected = layer_norm(second + feed_forward(layer, second))
    output = layer(torch.tensor(x), torch.tensor(memory))
    np.testing.assert_allclose(array(output), expected, rtol=1e-3, atol=1e-4)


def small(**settings):
    return {"d_model": 8, "nhead": 2, "dim_feedforward": 16, "dropout": 0.0, **settings}


@pytest.mark.parametrize("mask_dtype", [torch.float32, torch.bool])
def test_causal_masks_hide_the_future(mask_dtype):
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(**small()), 2)
    mask = nn.Transformer.generate_square_subsequent_mask(5)
    mask = mask if mask_dtype == torch.float32 else mask != 0
    x = torch.tensor(floats(5, 1, 8))
    changed = x.clone()
    changed[3:] = 7.0
    before, after = encoder(x, mask=mask), encoder(changed, mask=mask)
    np.testing.assert_allclose(array(before)[:3], array(after)[:3], **CLOSE)
    assert not np.allclose(array(before)[3:], array(after)[3:])
    hinted = encoder(x, mask=mask, is_causal=True)
    np.testing.assert_allclose(array(hinted), array(before), **CLOSE)


def test_padding_does_not_matter():
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(**small(batch_first=True)), 2, nn.LayerNorm(8))
    x = torch.tensor(floats(2, 5, 8))
    padding = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
    changed = x.clone()
    changed[1, 3:] = 7.0
    for mode in (True, False):
        encoder.train(mode)
        before = encoder(x, src_key_padding_mask=padding)
        after = encoder(changed, src_key_padding_mask=padding)
        np.testing.assert_allclose(array(before)[1, :3], array(after)[1, :3], **CLOSE)
    with torch.no_grad():  # the fast path without gradients skips padding
        skipped = encoder(x, src_key_padding_mask=padding)
    np.testing.assert_allclose(skipped.numpy()[1, :3], array(before)[1, :3], **CLOSE)
    np.testing.assert_array_equal(skipped.numpy()[1, 3:], np.zeros((2, 8)))


@pytest.mark.parametrize("batch_first", [False, True])
def test_transformer_shapes(batch_first):
    net = nn.Transformer(num_encoder_layers=2, num_decoder_layers=1, batch_first=batch_first, **small())
    source, target = ((2, 5, 8), (2, 3, 8)) if batch_first else ((5, 2, 8), (3, 2, 8))
    output = net(torch.tensor(floats(*source)), torch.tensor(floats(*target)))
    assert output.shape == target
    output.sum().backward()
    assert all(param.grad is not None for param in net.parameters())
    assert net(torch.tensor(floats(5, 8)), torch.tensor(floats(3, 8))).shape == (3, 8)


def test_batch_first_only_changes_the_order():
    torch.manual_seed(0)
    one = nn.TransformerEncoderLayer(**small())
    torch.manual_seed(0)
    other = nn.TransformerEncoderLayer(**small(batch_first=True))
    x = torch.tensor(floats(5, 2, 8))
    np.testing.assert_allclose(array(one(x)), array(other(x.transpose(0, 1)).transpose(0, 1)), **CLOSE)


def test_encoder_says_why_it_works_on_padding():
    with pytest.warns(UserWarning, match=r"use_nested_tensor is False because encoder_layer.self_attn.batch_first was not True"):
        nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2), 1)


def test_layers_are_independent_copies():
    layer = nn.TransformerEncoderLayer(**small())
    encoder = nn.TransformerEncoder(layer, 2)
    first, second = encoder.layers
    assert first.linear1.weight is not second.linear1.weight and torch.equal(first.linear1.weight, layer.linear1.weight)


def test_activations():
    x = torch.tensor(floats(4, 8))
    torch.manual_seed(0)
    named = nn.TransformerEncoderLayer(**small(activation="gelu"))
    torch.manual_seed(0)
    module = nn.TransformerEncoderLayer(**small(activation=nn.GELU()))
    np.testing.assert_allclose(array(named(x)), array(module(x)), **CLOSE)
    with pytest.raises(RuntimeError, match="activation should be relu/gelu, not tanh"):
        nn.TransformerDecoderLayer(**small(activation="tanh"))


def test_sizes_are_checked():
    net = nn.Transformer(num_encoder_layers=1, num_decoder_layers=1, **small())
    with pytest.raises(RuntimeError, match="the batch number of src and tgt must be equal"):
        net(torch.ones(5, 2, 8), torch.ones(3, 1, 8))
    with pytest.raises(RuntimeError, match="the feature number of src and tgt must be equal to d_model"):
        net(torch.ones(5, 2, 8), torch.ones(3, 2, 7))


def test_custom_parts():
    class Double(nn.Module):
        def forward(self, src, **masks):
            return 2 * src

    net = nn.Transformer(custom_encoder=Double(), num_decoder_layers=1, **small())
    assert net.encoder(torch.ones(1)).tolist() == [2.0] and net(torch.ones(5, 2, 8), torch.ones(3, 2, 8)).shape == (3, 2, 8)


def test_ways_of_attention_can_be_chosen():
    from flambeau.nn.attention import SDPBackend, sdpa_kernel

    switches = torch.backends.cuda
    with sdpa_kernel([SDPBackend.MATH, SDPBackend.EFFICIENT_ATTENTION]):
        assert switches.math_sdp_enabled() and switches.mem_efficient_sdp_enabled() and not switches.flash_sdp_enabled()
        q = torch.tensor(floats(2, 3, 4))
        np.testing.assert_allclose(
            array(nn.functional.scaled_dot_product_attention(q, q, q)), softmax(array(q @ q.mT) / 2) @ array(q), **CLOSE
        )
    assert switches.flash_sdp_enabled() and switches.cudnn_sdp_enabled()
    with pytest.raises(RuntimeError, match="within"), sdpa_kernel(SDPBackend.MATH):
        raise RuntimeError("within")
    assert switches.flash_sdp_enabled()
    with pytest.raises(AssertionError, match="got tuple"), sdpa_kernel((SDPBackend.MATH,)):
        pass


@pytest.mark.parametrize("mask", [floats(3, 3), floats(3, 3) > -1, floats(2, 1, 3, 3)])
def test_a_batch_of_heads_may_have_a_mask_and_be_causal(mask):
    q, k, v = (torch.tensor(floats(2, 2, 3, 4), requires_grad=True) for _ in range(3))
    attend = nn.functional.scaled_dot_product_attention
    future = ~np.tri(3, dtype=bool)
    added = np.where(mask, 0, -np.inf) if mask.dtype == bool else mask
    scores = array(q @ k.mT) / 2 + np.where(future, -np.inf, added)
    scores[..., 0, 0] = np.where(np.isinf(scores[..., 0, 0]), 0, scores[..., 0, 0])  # its row has no other: avoid NaN
    expected = softmax(scores) @ array(v)
    first_takes_part = np.isfinite(np.broadcast_to(added, scores.shape)[..., 0, 0])
    made = array(attend(q, k, v, torch.tensor(mask), is_causal=True))
    np.testing.assert_allclose(made[..., 1:, :], expected[..., 1:, :], **CLOSE)
    np.testing.assert_allclose(made[..., 0, :], np.where(first_takes_part[..., None], expected[..., 0, :], 0), **CLOSE)


def test_where_a_mask_and_being_causal_exclude_each_other():
    q, mask = torch.ones(1, 2, 3, 4), torch.zeros(3, 3)
    attend = nn.functional.scaled_dot_product_attention
    for call in (
        lambda: attend(q[0], q[0], q[0], mask, is_causal=True),
        lambda: attend(q, q, q, mask, dropout_p=0.5, is_causal=True),
        lambda: attend(q, q, q, mask.requires_grad_(), is_causal=True),
        lambda: attend(q, q, torch.ones(1, 2, 3, 5), mask.detach(), is_causal=True),
    ):
        with pytest.raises(RuntimeError, match="Explicit attn_mask should not be set when is_causal=True"):
            call()


def test_attention_of_nested_tensors():
    """The values are PyTorch's."""
    torch.manual_seed(0)
    attention = nn.MultiheadAttention(4, 2, batch_first=True).eval()
    sequences = [torch.randn(4, 4), torch.randn(2, 4)]
    nested = torch.nested.nested_tensor(sequences)
    with torch.no_grad():
        output, weights = attention(nested, nested, nested)
        by_head = attention(nested, nested, nested, average_attn_weights=False)[1]
        assert attention(nested, nested, nested, need_weights=False)[1] is None
    for sequence, row, weight in zip(sequences, output.unbind(), weights, strict=True):
        length = len(sequence)
        expected, expected_weight = attention(sequence, sequence, sequence)
        torch.testing.assert_close(row, expected)
        torch.testing.assert_close(weight[:length, :length], expected_weight)
        assert not weight[length:].any() and not weight[:, length:].any()
    torch.testing.assert_close(
        output[1], torch.tensor([[0.2558, 0.0596, 0.1024, -0.0352], [0.0910, 0.0235, 0.0378, -0.1267]]), atol=1e-4, rtol=0
    )
    assert by_head.shape == (2, 2, 4, 4) and not by_head[1, :, 2:].any()
    layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True).eval()
    with torch.no_grad():
        encoded = nn.TransformerEncoder(layer, 2)(nested)
        torch.testing.assert_close(encoded[1], nn.TransformerEncoder(layer, 2)(sequences[1][None])[0])


@pytest.mark.parametrize(
    ("options", "reason"), [({}, "training is enabled"), ({"batch_first": False}, "batch_first was not True")]
)
def test_attention_refuses_nested_tensors(options, reason):
    attention = nn.MultiheadAttention(4, 2, **{"batch_first": True, **options}).train(not options)
    nested = torch.nested.nested_tensor([torch.randn(3, 4)])
    with pytest.raises(AssertionError, match=reason), torch.no_grad():
        attention(nested, nested, nested)
    with pytest.raises(AssertionError, match="grad is enabled|training is enabled|batch_first"):
        attention.eval()(nested, nested, nested)
    empty = torch.nested.nested_tensor([])
    with pytest.raises(AssertionError, match="input not batched"):
        attention(empty, empty, empty)
