"""efficientnet-pytorch: outputs and gradients of a small network."""

import torch
from efficientnet_pytorch import EfficientNet

torch.manual_seed(0)
net = EfficientNet.from_name("efficientnet-b0", num_classes=5, image_size=64)
net.eval()
scores = net(torch.rand(2, 3, 64, 64))
scores.square().sum().backward()
print(tuple(scores.shape), sum(p.numel() for p in net.parameters()), f"{scores.abs().sum().item():.3f}")
print(f"{net._fc.weight.grad.norm().item():.3f}", tuple(net.extract_features(torch.rand(1, 3, 64, 64)).shape))
