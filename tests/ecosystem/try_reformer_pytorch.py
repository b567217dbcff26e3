"""reformer-pytorch: a language model with hashed attention."""

import torch
from reformer_pytorch import ReformerLM

torch.manual_seed(0)
net = ReformerLM(num_tokens=50, dim=32, depth=2, max_seq_len=64, heads=2, bucket_size=8, n_hashes=2, ff_chunks=2, causal=True)
tokens = torch.randint(0, 50, (1, 64))
scores = net(tokens)
scores.logsumexp(-1).sum().backward()
print(scores.shape, f"{scores.sum():.3f}", sum(p.numel() for p in net.parameters()))
print(f"{sum(p.grad.abs().sum() for p in net.parameters() if p.grad is not None):.2f}")
