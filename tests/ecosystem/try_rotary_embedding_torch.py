"""rotary-embedding-torch: rotations of queries and keys, with scaling, for text and images."""

import torch
from rotary_embedding_torch import RotaryEmbedding, apply_rotary_emb

torch.manual_seed(0)
q, k = torch.randn(1, 2, 10, 16, requires_grad=True), torch.randn(1, 2, 10, 16)
rotary = RotaryEmbedding(dim=8)
rotated = rotary.rotate_queries_or_keys(q)
rotated.square().sum().backward()
print(f"{rotated.sum().item():.4f} {q.grad.norm().item():.4f} {(rotated @ rotary.rotate_queries_or_keys(k).mT).sum().item():.4f}")
scaled = RotaryEmbedding(dim=8, use_xpos=True)
print([f"{part.sum().item():.4f}" for part in scaled.rotate_queries_and_keys(q, k)])
images = RotaryEmbedding(dim=4, freqs_for="pixel", max_freq=16)
frequencies = images.get_axial_freqs(4, 5)
print(tuple(frequencies.shape), f"{apply_rotary_emb(frequencies, torch.randn(1, 4, 5, 16)).sum().item():.4f}")
print(f"{RotaryEmbedding(dim=8, learned_freq=True).freqs.sum().item():.4f}")
