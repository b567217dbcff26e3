"""local-attention: attention in windows, and a language model of it."""

import torch
from local_attention import LocalAttention, LocalTransformer

torch.manual_seed(0)
q, k, v = (torch.randn(2, 2, 32, 8, requires_grad=True) for _ in range(3))
for options in ({"causal": True}, {"look_forward": 1}, {"exact_windowsize": True, "causal": True}, {"shared_qk": True}):
    layer = LocalAttention(dim=8, window_size=8, look_backward=1, autopad=True, **options)
    q.grad = None
    found = layer(q, k, v, mask=torch.ones(2, 32).bool())
    found.square().sum().backward()
    print(sorted(options), f"{found.sum().item():.4f} {q.grad.norm().item():.4f}")
model = LocalTransformer(num_tokens=20, dim=16, depth=2, max_seq_len=32, local_attn_window_size=8, heads=2, dim_head=8)
print(f"{model(torch.randint(0, 20, (1, 32)), return_loss=True).item():.5f}")
