"""thop: operations and parameters of networks."""

import torch
from thop import clever_format, profile
from torchvision.models import resnet18

for net, shape in ((torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.PReLU()), (1, 3, 8, 8)), (resnet18(), (1, 3, 64, 64))):
    found = profile(net, inputs=(torch.randn(shape),), verbose=False)
    print(*found, clever_format(found, "%.3f"))
