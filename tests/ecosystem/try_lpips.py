"""lpips: the perceptual distance between images and its gradient, with random network weights."""

import lpips
import torch

torch.manual_seed(0)
a, b = torch.rand(2, 3, 64, 64) * 2 - 1, torch.rand(2, 3, 64, 64) * 2 - 1
for net in ("alex", "squeeze", "vgg"):
    distance = lpips.LPIPS(net=net, pnet_rand=True, verbose=False)
    x = a.clone().requires_grad_()
    found, layers = distance(x, b, retPerLayer=True)
    found.sum().backward()
    print(net, tuple(found.shape), f"{found.sum().item():.6f} {x.grad.norm().item():.6f}", len(layers))
spatial = lpips.LPIPS(net="alex", pnet_rand=True, spatial=True, lpips=False, verbose=False)(a, b)
print(tuple(spatial.shape), f"{spatial.mean().item():.6f}")
print(f"{lpips.L2(use_gpu=False, colorspace='RGB')(a[:1], b[:1]).item():.6f}", lpips.tensor2im(a).shape)
