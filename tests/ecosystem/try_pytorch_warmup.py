"""pytorch-warmup: learning rates that rise, multiplied by a schedule."""

import pytorch_warmup as warmup
import torch

for kind in (
    lambda optimizer: warmup.LinearWarmup(optimizer, warmup_period=4),
    lambda optimizer: warmup.ExponentialWarmup(optimizer, warmup_period=4),
    warmup.UntunedLinearWarmup,
    warmup.RAdamWarmup,
):
    torch.manual_seed(0)
    net = torch.nn.Linear(3, 1)
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=6)
    rising = kind(optimizer)
    rates = []
    for _ in range(6):
        optimizer.zero_grad()
        loss = net(torch.ones(2, 3)).square().mean()
        loss.backward()
        optimizer.step()
        rates.append(f"{optimizer.param_groups[0]['lr']:.6f}")
        with rising.dampening():
            schedule.step()
    print(type(rising).__name__, rates, f"{loss:.5f}", rising.state_dict()["last_step"])
