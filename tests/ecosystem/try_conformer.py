"""conformer: the blocks of a model for speech, in training and evaluation."""

import torch
from conformer import Conformer, ConformerBlock, ConformerConvModule

torch.manual_seed(0)
x = torch.randn(2, 20, 32)
block = ConformerBlock(dim=32, dim_head=8, heads=4, ff_mult=2, conv_expansion_factor=2, conv_kernel_size=7, attn_dropout=0.0,
                       ff_dropout=0.0, conv_dropout=0.0)  # fmt: skip
y = block(x)
print(y.shape, y.mean().item(), y.std().item())
y.square().sum().backward()
print(len(list(block.parameters())), sum(p.grad.norm().item() for p in block.parameters()))
model = Conformer(dim=32, depth=2, dim_head=8, heads=4, ff_mult=2, conv_expansion_factor=2, conv_kernel_size=7)
print(model.eval()(x).std().item(), sum(p.numel() for p in model.parameters()))
causal = ConformerConvModule(dim=32, causal=True, expansion_factor=2, kernel_size=5, dropout=0.0).eval()
changed = x.clone()
changed[:, 10:] = 0
print(torch.allclose(causal(x)[:, :10], causal(changed)[:, :10], atol=1e-6), causal(x).sum().item())
mask = torch.arange(20)[None] < torch.tensor([20, 12])[:, None]
print(block(x, mask=mask).norm().item())
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for _ in range(3):
    optimizer.zero_grad()
    loss = (model(x) - x.roll(1, 1)).square().mean()
    loss.backward()
    optimizer.step()
    print(loss.item())
