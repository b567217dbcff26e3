"""pydssp: secondary structure from coordinates."""

import pydssp
import torch

torch.manual_seed(0)
coordinates = torch.randn(1, 30, 4, 3).cumsum(1).requires_grad_()
found = pydssp.get_hbond_map(coordinates)
found.sum().backward()
print(tuple(found.shape), f"{found.sum().item():.4f} {coordinates.grad.norm().item():.4f}")
print("".join(pydssp.assign(coordinates.detach(), out_type="c3")[0]))
