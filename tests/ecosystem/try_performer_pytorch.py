"""performer-pytorch: linear attention in a language model, an encoder and a cross-attention layer."""

import torch
from performer_pytorch import CrossAttention, Performer, PerformerLM, SelfAttention

torch.manual_seed(0)
text = PerformerLM(num_tokens=30, dim=16, depth=2, heads=2, dim_head=8, max_seq_len=32, nb_features=12, rotary_position_emb=True)
tokens = torch.randint(0, 30, (2, 32))
scores = text(tokens)
scores.square().mean().backward()
print(tuple(scores.shape), f"{scores.sum().item():.3f} {text.token_emb.weight.grad.norm().item():.5f}")
x = torch.randn(1, 20, 16)
print(f"{Performer(dim=16, depth=1, heads=2, dim_head=8, reversible=True)(x).sum().item():.4f}")
print(f"{SelfAttention(dim=16, heads=2, dim_head=8, generalized_attention=True)(x).sum().item():.4f}")
print(f"{CrossAttention(dim=16, heads=2, dim_head=8)(x, context=torch.randn(1, 12, 16)).sum().item():.4f}")
