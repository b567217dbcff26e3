"""torchcam: class activation maps through hooks."""

import torch
from torchcam.methods import CAM, SSCAM, GradCAM, GradCAMpp, LayerCAM, ScoreCAM, SmoothGradCAMpp, XGradCAM

torch.manual_seed(0)
net = torch.nn.Sequential(
    torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Conv2d(8, 6, 3), torch.nn.ReLU(),
    torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(1), torch.nn.Linear(6, 4),
).eval()  # fmt: skip
for parameter in net.parameters():
    parameter.requires_grad_(False)
x = torch.rand(1, 3, 12, 12)
for method in (CAM, GradCAM, GradCAMpp, SmoothGradCAMpp, XGradCAM, LayerCAM, ScoreCAM, SSCAM):
    torch.manual_seed(1)
    options = {"fc_layer": "6"} if method is CAM else {}
    with method(net, "3", input_shape=(3, 12, 12), **options) as extract:
        scores = net(x.clone().requires_grad_())
        [found] = extract(1, scores)
    print(method.__name__, tuple(found.shape), f"{found.sum().item():.3f} {found.max().item():.3f}")
