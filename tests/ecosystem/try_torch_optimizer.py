"""torch-optimizer: steps of its optimizers."""

import torch
import torch_optimizer

for name in [
    "A2GradExp",
    "AccSGD",
    "AdaBelief",
    "AdaBound",
    "AdaMod",
    "AdamP",
    "AggMo",
    "Apollo",
    "DiffGrad",
    "Lamb",
    "MADGRAD",
    "NovoGrad",
    "PID",
    "QHM",
    "QHAdam",
    "RAdam",
    "Ranger",
    "SGDP",
    "SGDW",
    "SWATS",
    "Yogi",
]:
    torch.manual_seed(0)
    net, x = torch.nn.Linear(5, 3), torch.randn(8, 5)
    optimizer = getattr(torch_optimizer, name)(net.parameters())
    for _ in range(4):
        optimizer.zero_grad()
        net(x).square().mean().backward()
        optimizer.step()
    print(name, f"{net.weight.sum().item():.5f} {net.bias.sum().item():.5f}")
