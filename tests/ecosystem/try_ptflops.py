"""ptflops: operations and parameters of networks."""

import io

import torch
from ptflops import get_model_complexity_info
from torchvision.models import resnet18

for net, shape in (
    (
        torch.nn.Sequential(
            torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(144, 5)
        ),
        (3, 8, 8),
    ),
    (resnet18(), (3, 64, 64)),
):
    report = io.StringIO()
    print(*get_model_complexity_info(net, shape, as_strings=False, print_per_layer_stat=False, ost=report, backend="pytorch"))
