"""prodigyopt: an optimizer that estimates its learning rate."""

import torch
from prodigyopt import Prodigy

for options in (
    {},
    {"weight_decay": 0.1, "decouple": True},
    {"safeguard_warmup": True, "use_bias_correction": True},
    {"slice_p": 3},
):
    torch.manual_seed(0)
    net, x = torch.nn.Linear(5, 3), torch.randn(8, 5)
    optimizer = Prodigy(net.parameters(), **options)
    for _ in range(6):
        optimizer.zero_grad()
        net(x).square().mean().backward()
        optimizer.step()
    print(sorted(options), f"{net.weight.sum().item():.5f} {optimizer.param_groups[0]['d'] * 1e6:.4f}")
