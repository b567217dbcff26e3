"""torch-ema: moving averages of parameters."""

import torch
from torch_ema import ExponentialMovingAverage

torch.manual_seed(0)
net = torch.nn.Linear(3, 2)
ema = ExponentialMovingAverage(net.parameters(), decay=0.9)
for _ in range(5):
    with torch.no_grad():
        net.weight += torch.randn(2, 3)
    ema.update()
own = net.weight.norm().item()
with ema.average_parameters():
    print(f"{own:.4f} {net.weight.norm().item():.4f}")
print(f"{net.weight.norm().item():.4f}", sorted(ema.state_dict()), ema.num_updates)
