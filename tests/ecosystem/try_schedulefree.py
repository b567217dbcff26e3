"""schedulefree: optimizers that need no schedule."""

import schedulefree
import torch

for name in ("AdamWScheduleFree", "SGDScheduleFree", "RAdamScheduleFree"):
    torch.manual_seed(0)
    net, x = torch.nn.Linear(5, 3), torch.randn(8, 5)
    optimizer = getattr(schedulefree, name)(net.parameters(), lr=0.05)
    optimizer.train()
    for _ in range(5):
        optimizer.zero_grad()
        net(x).square().mean().backward()
        optimizer.step()
    trained = net.weight.sum().item()
    optimizer.eval()
    print(name, f"{trained:.5f} {net.weight.sum().item():.5f}", sorted(optimizer.state[net.weight]))
