"""lion-pytorch: steps of the Lion optimizer."""

import torch
from lion_pytorch import Lion

for options in ({"lr": 1e-2}, {"lr": 1e-2, "weight_decay": 0.1}):
    torch.manual_seed(0)
    net, x = torch.nn.Linear(5, 3), torch.randn(8, 5)
    optimizer = Lion(net.parameters(), **options)
    for _ in range(5):
        optimizer.zero_grad()
        net(x).square().mean().backward()
        optimizer.step()
    print(sorted(options), f"{net.weight.sum().item():.5f} {optimizer.state[net.weight]['exp_avg'].norm().item():.5f}")
