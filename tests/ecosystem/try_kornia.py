"""kornia: filters, colours, warps and their gradients."""

import kornia
import torch

torch.manual_seed(0)
x = torch.rand(2, 3, 16, 16, requires_grad=True)
blurred = kornia.filters.gaussian_blur2d(x, (3, 3), (1.5, 1.5))
blurred.square().sum().backward()
print(f"{blurred.sum().item():.4f} {x.grad.norm().item():.4f}")
print(f"{kornia.color.rgb_to_hsv(x).mean().item():.4f} {kornia.color.rgb_to_lab(x).mean().item():.4f}")
print(f"{kornia.filters.sobel(x).sum().item():.4f} {kornia.filters.median_blur(x, (3, 3)).sum().item():.4f}")
turned = kornia.geometry.transform.rotate(x, torch.tensor([30.0, -45.0]))
print(tuple(turned.shape), f"{turned.sum().item():.4f}")
print(f"{kornia.losses.ssim_loss(x, turned, 5).item():.4f} {kornia.losses.total_variation(x).sum().item():.3f}")
points = torch.tensor([[[0.0, 0], [1, 0], [1, 1], [0, 1]]])
H = kornia.geometry.transform.get_perspective_transform(points, 2 * points + 1)
print([round(value, 4) + 0.0 for value in H.flatten().tolist()])
corners = kornia.feature.harris_response(kornia.color.rgb_to_grayscale(x))
print(tuple(corners.shape), f"{corners.abs().sum().item():.4f}")
