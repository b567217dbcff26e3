"""piq: measures of image quality."""

import piq
import torch

torch.manual_seed(0)
a = torch.rand(2, 3, 96, 96)
b = (0.8 * a + 0.2 * torch.rand(2, 3, 96, 96)).requires_grad_()
measures = ("ssim", "psnr", "vif_p", "fsim", "gmsd", "multi_scale_gmsd", "vsi", "haarpsi", "mdsi", "dss", "srsim")
for name in measures:
    b.grad = None
    found = getattr(piq, name)(b, a, data_range=1.0)
    found.backward()
    print(name, f"{found.item():.5f} {b.grad.norm().item():.5f}")
print(f"{piq.total_variation(a).item():.3f} {piq.SSIMLoss()(a, b).item():.5f}")
print(
    f"{piq.FID()(torch.randn(20, 8), torch.randn(20, 8)).item():.4f} {piq.KID()(torch.randn(20, 8), torch.randn(20, 8)).item():.4f}"
)
