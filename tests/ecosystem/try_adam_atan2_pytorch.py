"""adam-atan2-pytorch: steps of the optimizer."""

import torch
from adam_atan2_pytorch import AdamAtan2

torch.manual_seed(0)
net, x = torch.nn.Linear(5, 3), torch.randn(8, 5)
optimizer = AdamAtan2(net.parameters(), lr=1e-2)
for _ in range(5):
    optimizer.zero_grad()
    net(x).square().mean().backward()
    optimizer.step()
    print(f"{net.weight.abs().sum().item():.5f}")
