"""Causal attention biases, and the registry of attention implementations."""

from __future__ import annotations

import numpy as np
import pytest
from flambeau.nn.attention import bias

import flambeau as torch
from flambeau.nn import attention


def expected(q, k, mask):
    """Compute attention with a boolean mask in NumPy."""
    scores = np.where(mask, q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]), -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ k


@pytest.mark.parametrize(("make", "offset"), [(bias.causal_upper_left, 0), (bias.causal_lower_right, 2)])
def test_attention_with_a_mask_that_is_not_stored(make, offset):
    random = np.random.default_rng(0)
    q, k = random.normal(size=(1, 3, 4)).astype("float32"), random.normal(size=(1, 5, 4)).astype("float32")
    mask = np.tril(np.ones((3, 5), dtype=bool), offset)
    described = make(3, 5)
    assert repr(described) == repr(torch.tensor(mask))
    found = torch.nn.functional.scaled_dot_product_attention(torch.tensor(q), torch.tensor(k), torch.tensor(k), described)
    np.testing.assert_allclose(np.asarray(found.cpu()), expected(q, k, mask), rtol=1e-5, atol=1e-6)


def test_masks_that_make_no_sense():
    q = torch.ones(1, 2, 4)
    with pytest.raises(ValueError, match="causal=True"):
        torch.nn.functional.scaled_dot_product_attention(q, q, q, bias.causal_upper_left(2, 2), is_causal=True)
    with pytest.raises(AssertionError, match="2D"):
        bias.causal_upper_left(2)
    with pytest.raises(AssertionError, match="CausalVariant"):
        bias.CausalBias(3, 2, 2)
    with pytest.warns(UserWarning, match="NaNs"):
        bias.causal_lower_right(3, 2)


def test_implementations_by_name(caplog):
    calls = []

    class Handle:
        def remove(self):
            calls.append("removed")

    def put_in_place():
        calls.append("put")
        return Handle()

    attention.register_flash_attention_impl("of_a_test", register_fn=put_in_place)
    assert "of_a_test" in attention.list_flash_attention_impls() and attention.current_flash_attention_impl() is None
    attention.activate_flash_attention_impl("of_a_test")
    assert attention.current_flash_attention_impl() == "of_a_test"
    attention.restore_flash_attention_impl()
    assert calls == ["put", "removed"] and attention.current_flash_attention_impl() is None
    attention.restore_flash_attention_impl()
    assert "no custom impl" in caplog.text
    with pytest.raises(ValueError, match="'other'"):
        attention.activate_flash_attention_impl("other")
