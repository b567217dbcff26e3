"""torchsde: solve stochastic differential equations by several methods, and compute gradients by the adjoint method."""

import torch
import torchsde


class Drifting(torch.nn.Module):
    noise_type, sde_type = "diagonal", "ito"

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def f(self, t, y):
        return self.linear(y)

    def g(self, t, y):
        return torch.sigmoid(y)


torch.manual_seed(0)
sde, start, times = Drifting(), torch.randn(4, 3, requires_grad=True), torch.linspace(0, 1, 5)
motion = torchsde.BrownianInterval(0.0, 1.0, size=(4, 3), entropy=3, levy_area_approximation="space-time")
for method in ("euler", "milstein", "srk"):
    path = torchsde.sdeint(sde, start, times, bm=motion, method=method, dt=0.1)
    print(method, tuple(path.shape), f"{path.abs().sum().item():.4f}")
path = torchsde.sdeint_adjoint(sde, start, times, bm=motion, dt=0.1)
path.sum().backward()
print(f"{start.grad.norm().item():.4f} {sde.linear.weight.grad.norm().item():.4f} {sde.linear.bias.grad.norm().item():.4f}")
tree = torchsde.BrownianTree(t0=0.0, w0=torch.zeros(2, 2), t1=1.0, entropy=5)
print(f"{tree(0.0, 0.5).sum().item():.5f} {tree(0.25, 0.75).sum().item():.5f}")
