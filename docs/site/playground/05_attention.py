"""Attention, by hand and by function."""

import math

import flambeau as torch
import flambeau.nn.functional as F

torch.manual_seed(0)
query, key, value = torch.randn(3, 2, 4, 6, 8)  # 2 sequences, 4 heads, 6 positions, 8 features

mask = torch.ones(6, 6, dtype=torch.bool).tril()
scores = query @ key.transpose(-2, -1) / math.sqrt(8)
weights = scores.masked_fill(~mask, -torch.inf).softmax(-1)
by_hand = weights @ value

by_function = F.scaled_dot_product_attention(query, key, value, is_causal=True)
print(torch.allclose(by_hand, by_function, atol=1e-6))
print(weights[0, 0].round(decimals=2))
