"""Multi-head attention and `scaled_dot_product_attention`, against a loop over heads in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau as torch
import flambeau.nn.functional as F


def normal(*shape, seed=0, dtype=np.float64):
    return torch.tensor(np.random.default_rng(seed).standard_normal(shape).astype(dtype))


def assert_close(got, wanted, tolerance=1e-9):
    np.testing.assert_allclose(got.detach().numpy(), np.asarray(wanted), rtol=tolerance, atol=tolerance)


def attend(q, k, v, heads, w_in, b_in, w_out, b_out, mask=None):
    """Reference multi-head attention with a loop over heads, for inputs of shape `(L, E)`."""
    size = q.shape[-1]
    q, k, v = (x @ w.T + b for x, w, b in zip((q, k, v), np.split(w_in, 3), np.split(b_in, 3), strict=True))
    outputs, weights = [], []
    for part in np.split(np.arange(size), heads):
        scores = q[:, part] @ k[:, part].T / np.sqrt(size / heads)
        scores = scores if mask is None else scores + mask
        shares = np.exp(scores - scores.max(1, keepdims=True))
        shares /= shares.sum(1, keepdims=True)
        outputs.append(shares @ v[:, part])
        weights.append(shares)
    return np.concatenate(outputs, 1) @ w_out.T + b_out, np.stack(weights)


@pytest.fixture
def heads():
    weights = dict(
        zip(
            ("w_in", "b_in", "w_out", "b_out"),
            (normal(*s, seed=i) for i, s in enumerate(((24, 8), (24,), (8, 8), (8,)))),
            strict=True,
        )
    )

    def run(q, k, v, **options):
        return F.multi_head_attention_forward(
            q, k, v, 8, 2, weights["w_in"], weights["b_in"], None, None, False, 0.0, weights["w_out"], weights["b_out"], **options
        )

    def expected(*qkv, mask=None):
        return attend(*(t.numpy() for t in qkv), 2, **{name: t.numpy() for name, t in weights.items()}, mask=mask)

    return run, expected


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("shared", ["all", "key and value", "none"])
def test_multi_head_attention(heads, shared, need_weights):
    run, expected = heads
    q, k, v = normal(3, 8), normal(4, 8, seed=1), normal(4, 8, seed=2)
    q, k, v = {"all": (q, q, q), "key and value": (q, k, k), "none": (q, k, v)}[shared]
    wanted, shares = expected(q, k, v)
    result, weights = run(q, k, v, need_weights=need_weights)
    assert_close(result, wanted)
    if need_weights:
        assert_close(weights, shares.mean(0))
    else:
        assert weights is None
    batch = [t.unsqueeze(1).expand(-1, 2, -1) for t in (q, k, v)]
    batch = [batch[0]] * 3 if shared == "all" else [batch[0], batch[1], batch[1]] if shared == "key and value" else batch
    result, _ = run(*batch, need_weights=need_weights)
    assert_close(result, np.stack([wanted, wanted], 1))


@pytest.mark.parametrize("need_weights", [False, True])
def test_masks_of_attention(heads, need_weights):
    run, expected = heads
    x = normal(4, 8)
    causal = np.triu(np.full((4, 4), -np.inf), 1)
    wanted, _ = expected(x, x, x, mask=causal)
    for mask in (torch.tensor(causal), torch.tensor(causal < 0)):
        assert_close(run(x, x, x, attn_mask=mask, need_weights=need_weights)[0], wanted)
        assert_close(run(x, x, x, attn_mask=mask, need_weights=need_weights, is_causal=True)[0], wanted)
    padding = torch.tensor([False, False, False, True])
    wanted, _ = expected(x, x, x, mask=np.where(padding.numpy(), -np.inf, 0) + causal)
    assert_close(run(x, x, x, attn_mask=torch.tensor(causal < 0), key_padding_mask=padding, need_weights=need_weights)[0], wanted)


def test_attention_weights_of_each_head(heads):
    run, expected = heads
    x = normal(3, 8)
    assert_close(run(x, x, x, average_attn_weights=False)[1], expected(x, x, x)[1])


def test_bad_masks_of_attention(heads):
    run, _ = heads
    x = normal(3, 8)
    with pytest.raises(RuntimeError, match=r"shape of the 2D attn_mask is torch.Size\(\[3, 4\]\), but should be \(3, 3\)"):
        run(x, x, x, attn_mask=torch.zeros(3, 4))
    with pytest.raises(AssertionError, match="only bool and floating types"):
        run(x, x, x, attn_mask=torch.zeros(3, 3, dtype=torch.int64))
    with pytest.raises(RuntimeError, match="Need attn_mask"):
        run(x, x, x, is_causal=True)


def test_grouped_queries_share_keys_and_values():
    q, k, v = normal(2, 6, 3, 4), normal(2, 3, 5, 4, seed=1), normal(2, 3, 5, 4, seed=2)
    result = F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
    assert_close(result, F.scaled_dot_product_attention(q, k.repeat_interleave(2, 1), v.repeat_interleave(2, 1)).numpy())


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize(("batch", "groups"), [((), 1), ((6,), 1), ((1, 6), 1), ((1, 6), 3)], ids=str)
def test_batches_of_attention_broadcast(batch, groups, is_causal):
    q, k, v = normal(*batch, 3, 4), normal(2, 6 // groups, 5, 4, seed=1), normal(2, 6 // groups, 5, 4, seed=2)
    result = F.scaled_dot_product_attention(q, k, v, is_causal=is_causal, enable_gqa=groups > 1)
    k, v = (x.repeat_interleave(groups, 1) for x in (k, v))
    assert_close(result, F.scaled_dot_product_attention(q.expand(2, 6, 3, 4), k, v, is_causal=is_causal).numpy())


def test_what_attention_refuses():
    q = normal(2, 6, 3, 4)
    with pytest.raises(RuntimeError, match="Explicit attn_mask should not be set when is_causal=True"):
        F.scaled_dot_product_attention(q[0], q[0], q[0], torch.ones(3, 3, dtype=torch.bool), is_causal=True)
    with pytest.raises(RuntimeError, match="same dtype, but got query.dtype: torch.float64 key.dtype: torch.float32"):
        F.scaled_dot_product_attention(q, q.float(), q)
    with pytest.raises(RuntimeError, match="must divide the number of heads in query, but got 4 and 4 for 6"):
        F.scaled_dot_product_attention(q, q[:, :4], q[:, :4], enable_gqa=True)
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        F.scaled_dot_product_attention(q, normal(2, 6, 3, 5), q)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize(("length", "masked"), [(1, None), (1, (1, 1, 1, 9)), (1, (2, 4, 1, 9)), (3, None), (3, (3, 9))], ids=str)
def test_attention_of_grouped_heads_equals_attention_of_repeated_heads(length, masked, dtype):
    torch.manual_seed(0)
    q, k, v = (torch.randn(2, heads, n, 8).to(dtype) for heads, n in ((4, length), (2, 9), (2, 9)))
    mask = None if masked is None else (torch.rand(masked) > 0.3).logical_or(torch.arange(9) == 0)
    result = F.scaled_dot_product_attention(q, k, v, mask, enable_gqa=True)
    expected = F.scaled_dot_product_attention(q, *(x.repeat_interleave(2, 1) for x in (k, v)), mask)
    assert result.shape == expected.shape and result.dtype is dtype
    torch.testing.assert_close(result, expected)
    q.requires_grad_()
    F.scaled_dot_product_attention(q, k, v, mask, enable_gqa=True).sum().backward()
    grouped, q.grad = q.grad, None
    F.scaled_dot_product_attention(q, *(x.repeat_interleave(2, 1) for x in (k, v)), mask).sum().backward()
    torch.testing.assert_close(grouped, q.grad)
