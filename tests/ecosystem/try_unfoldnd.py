"""unfoldnd: unfold and fold in one to three dimensions."""

import torch
import unfoldNd

torch.manual_seed(0)
for dims in (1, 2, 3):
    x = torch.randn(1, 2, *[5] * dims, requires_grad=True)
    found = unfoldNd.UnfoldNd(3, padding=1, stride=2)(x)
    found.square().sum().backward()
    print(dims, tuple(found.shape), f"{found.abs().sum().item():.4f} {x.grad.norm().item():.4f}")
    print(tuple(unfoldNd.FoldNd((5,) * dims, 3, padding=1, stride=2)(found).shape))
