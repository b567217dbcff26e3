"""pytorch-msssim: structural similarity, and its gradient."""

import torch
from pytorch_msssim import MS_SSIM, SSIM, ms_ssim, ssim

torch.manual_seed(0)
a, b = torch.rand(2, 3, 180, 180), torch.rand(2, 3, 180, 180)
x = (0.7 * a + 0.3 * b).requires_grad_()
for measure in (SSIM(data_range=1.0), MS_SSIM(data_range=1.0, win_size=11)):
    x.grad = None
    found = measure(x, a)
    found.backward()
    print(type(measure).__name__, f"{found.item():.6f} {x.grad.norm().item():.6f}")
print(ssim(a, b, data_range=1.0, size_average=False, nonnegative_ssim=True).shape, f"{ms_ssim(a, a, data_range=1.0).item():.4f}")
