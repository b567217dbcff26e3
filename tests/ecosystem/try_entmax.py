"""entmax: sparse alternatives to softmax, and their losses."""

import entmax
import torch

torch.manual_seed(0)
x = torch.randn(4, 7, dtype=torch.float64, requires_grad=True)
targets = torch.tensor([0, 3, 6, 2])
alpha = torch.tensor(1.3, dtype=torch.float64, requires_grad=True)
for name in ("sparsemax", "entmax15", "sparsemax_loss", "entmax15_loss", "entmax_bisect", "budget_bisect"):
    function = getattr(entmax, name)
    result = function(x, targets) if "loss" in name else function(x, alpha) if name == "entmax_bisect" else function(x)
    (gradient,) = torch.autograd.grad((result * torch.arange(1.0, 1 + result.shape[-1]).double()).sum(), x, retain_graph=True)
    print(name, [f"{value:.4f}" for value in result.flatten()[:4].tolist()], f"{gradient.norm().item():.4f}")
entmax.entmax_bisect(x, alpha).square().sum().backward()
print(f"{alpha.grad.item():.4f}", int((entmax.sparsemax(x) == 0).sum()))
