"""torchquad: two-dimensional integrals by quadrature rules and Monte Carlo, and gradients with respect to the limits."""

import torch
import torchquad

torchquad.set_log_level("ERROR")


def integrand(x):
    return torch.sin(x[:, 0]) + torch.exp(x[:, 1])


rules = ("Trapezoid", "Simpson", "Boole", "GaussLegendre", "MonteCarlo", "VEGAS")
for name in rules:
    chance = {"seed": 3} if name in ("MonteCarlo", "VEGAS") else {}
    rule = getattr(torchquad, name)()
    value = rule.integrate(integrand, dim=2, N=2001, integration_domain=[[0, 1], [-1, 1]], backend="torch", **chance)
    print(name, f"{value.item():.5f}")

limits = torch.tensor([[0.0, 1.0], [-1.0, 1.0]], requires_grad=True)
torchquad.Simpson().integrate(integrand, dim=2, N=999, integration_domain=limits).backward()
print([[f"{bound:.4f}" for bound in pair] for pair in limits.grad.tolist()])
compiled = torchquad.Simpson().get_jit_compiled_integrate(dim=2, N=999, backend="torch")
print(f"{compiled(integrand, limits.detach()).item():.5f}")
