"""dctorch: discrete cosine transforms."""

import dctorch.functional as dct
import torch

torch.manual_seed(0)
x = torch.randn(3, 8, 8, requires_grad=True)
for name in ("dct", "dct2"):
    x.grad = None
    found = getattr(dct, name)(x)
    found.square().sum().backward()
    print(name, f"{found.abs().sum().item():.4f} {x.grad.norm().item():.4f}")
    print(torch.allclose(getattr(dct, "i" + name)(found), x, atol=1e-5))
