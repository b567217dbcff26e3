"""ema-pytorch: moving averages of weights."""

import torch
from ema_pytorch import EMA, PostHocEMA

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4))
ema = EMA(net, beta=0.9, update_after_step=2, update_every=1)
for _ in range(8):
    with torch.no_grad():
        net[0].weight += torch.randn(4, 4)
    net(torch.randn(5, 4))
    ema.update()
print(f"{ema.ema_model[0].weight.sum().item():.5f} {ema.get_current_decay():.5f} {ema(torch.ones(2, 4)).abs().max() < 9}")
print(ema.step.item(), sorted(ema.state_dict())[:3], ema.initted.item())
ema.copy_params_from_model_to_ema()
print(torch.equal(ema.ema_model[0].weight, net[0].weight), PostHocEMA.__name__)
