"""A compiled decoding step of a language model is replayed for all positions, which are tensors."""

from __future__ import annotations

import pytest

import flambeau as torch
from flambeau import nn
from flambeau.nn import functional as F

LENGTH, WORDS, WIDTH, HEADS, SIZE = 12, 20, 16, 2, 8


class Decoder(nn.Module):
    """One layer with rotary embeddings and a cache of `LENGTH` keys and values."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(WORDS, WIDTH)
        self.q, self.k, self.v, self.out = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))
        self.head = nn.Linear(WIDTH, WORDS)
        self.register_buffer("keys", torch.zeros(1, HEADS, LENGTH, SIZE))
        self.register_buffer("values", torch.zeros(1, HEADS, LENGTH, SIZE))
        self.register_buffer("frequencies", 100.0 ** -(torch.arange(0, SIZE, 2) / SIZE))

    def rotate(self, x, position):
        angles = (position * self.frequencies).repeat(2)
        first, second = x.chunk(2, -1)
        return x * angles.cos() + torch.cat([-second, first], -1) * angles.sin()

    def forward(self, token, position):
        x = self.embed(token)
        q, k, v = (project(x).view(1, 1, HEADS, SIZE).transpose(1, 2) for project in (self.q, self.k, self.v))
        self.keys.index_copy_(2, position, self.rotate(k, position))
        self.values.index_copy_(2, position, v)
        mask = (torch.arange(LENGTH) <= position)[None]
        attended = F.scaled_dot_product_attention(self.rotate(q, position), self.keys, self.values, attn_mask=mask)
        return self.head(x + self.out(attended.transpose(1, 2).reshape(1, 1, WIDTH)))[0, 0]

    def without_cache(self, tokens):
        """Return the logits `(L, WORDS)` for all tokens `(L,)`."""
        positions = torch.arange(len(tokens))[:, None, None, None]
        x = self.embed(tokens)
        q, k, v = (project(x).view(-1, 1, HEADS, SIZE).transpose(1, 2) for project in (self.q, self.k, self.v))
        q, k = (torch.cat([self.rotate(part[i : i + 1], positions[i, 0, 0]) for i in range(len(tokens))], 2) for part in (q, k))
        attended = F.scaled_dot_product_attention(q, k, v.transpose(0, 2), is_causal=True)
        return self.head(x + self.out(attended[0].transpose(0, 1).flatten(1)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_positions(dtype):
    torch.manual_seed(0)
    model = Decoder().to(dtype).eval()
    tokens = torch.randint(0, WORDS, (LENGTH,))
    compiled = torch.compile(model)
    with torch.no_grad():
        expected = model.without_cache(tokens)
        for number in range(LENGTH):
            logits = compiled(tokens[None, number : number + 1], torch.tensor([number]))
            tolerance = 1e-5 if dtype is torch.float32 else 0.05
            torch.testing.assert_close(logits, expected[number], rtol=tolerance, atol=tolerance)
    call = compiled.__dict__["_compiled_call"]
    assert call.reason is None, call.reason
    (entries,) = call.entries.values()  # one set of argument shapes
    assert len(entries) == 1 and entries[0].verified
