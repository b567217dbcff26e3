"""perceiver-pytorch: a perceiver for images, and a language model."""

import torch
from perceiver_pytorch import Perceiver, PerceiverIO, PerceiverLM

torch.manual_seed(0)
common = {"depth": 2, "num_latents": 6, "latent_dim": 16, "cross_dim_head": 8, "latent_dim_head": 8, "latent_heads": 2}
image = Perceiver(input_channels=3, input_axis=2, num_freq_bands=3, max_freq=6.0, num_classes=4, cross_heads=1, **common)
scores = image(torch.randn(2, 5, 5, 3))
scores.square().sum().backward()
print(tuple(scores.shape), f"{scores.sum().item():.4f} {sum(p.grad.norm().item() for p in image.parameters()):.4f}")
io = PerceiverIO(dim=8, queries_dim=8, logits_dim=5, cross_heads=1, **common)
print(f"{io(torch.randn(1, 7, 8), queries=torch.randn(4, 8)).sum().item():.4f}")
text = PerceiverLM(num_tokens=20, dim=8, max_seq_len=16, cross_heads=1, **common)
print(f"{text(torch.randint(0, 20, (1, 9)), mask=torch.ones(1, 9).bool()).sum().item():.4f}")
