"""mup: networks and optimizers whose learning rates and initial values scale with the width."""

import mup
import torch
from torch import nn


def network(width):
    return nn.Sequential(nn.Linear(4, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), mup.MuReadout(width, 2))


torch.manual_seed(0)
model = network(32)
mup.set_base_shapes(model, network(8), delta=network(16))
for parameter in model.parameters():
    if parameter.ndim == 2:
        mup.init.kaiming_uniform_(parameter)
    print(parameter.infshape)
for make in (mup.MuAdam, mup.MuSGD, mup.MuAdamW):
    optimizer = make(model.parameters(), lr=0.01)
    loss = model(torch.randn(8, 4)).pow(2).mean()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.5f}", [group["lr"] for group in optimizer.param_groups])
