"""torchprofile: multiplications of a traced network."""

import torch
from torchprofile import profile_macs
from torchvision.models import resnet18

torch.manual_seed(0)
for net, shape in (
    (
        torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(4 * 36, 5)),
        (1, 3, 8, 8),
    ),
    (resnet18(), (1, 3, 64, 64)),
):
    print(type(net).__name__, int(profile_macs(net, torch.randn(shape))))
