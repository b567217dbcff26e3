"""optimum-quanto: weights of 8 bits."""

import torch
from optimum.quanto import freeze, qint8, quantize

torch.manual_seed(0)
net, x = torch.nn.Sequential(torch.nn.Linear(16, 8), torch.nn.ReLU(), torch.nn.Linear(8, 4)), torch.randn(3, 16)
exact = net(x)
quantize(net, weights=qint8)
found = net(x)
freeze(net)
print(type(net[0]).__name__, f"{(found - exact).abs().max().item() < 0.05}", torch.allclose(net(x), found, atol=1e-5))
print(f"{found.abs().sum().item():.4f}", type(net[0].weight).__name__, net[0].weight.dtype)
