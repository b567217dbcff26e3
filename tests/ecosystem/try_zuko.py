"""zuko: conditional normalizing flows, their densities, gradients and samples, and weights as random variables."""

import torch
import zuko
import zuko.bayesian

for name in ("MAF", "NSF", "NICE", "GMM", "SOSPF", "BPF", "GF"):
    torch.manual_seed(0)
    flow = getattr(zuko.flows, name)(2, 3)
    given = flow(torch.randn(5, 3))
    density = given.log_prob(torch.randn(5, 2))
    density.sum().backward()
    norm = torch.stack([p.grad.norm() for p in flow.parameters() if p.grad is not None]).norm()
    print(name, f"{density.sum().item():.4f} {norm.item():.4f}", tuple(given.sample((2,)).shape))

torch.manual_seed(0)
bayesian = zuko.bayesian.BayesianModel(zuko.nn.MLP(3, 2, hidden_features=(8,)), init_logvar=-9.0)
print(f"{bayesian.kl_divergence().item():.3f}")
with bayesian.reparameterize() as drawn:
    drawn(torch.randn(4, 3)).sum().backward()
print(len(list(bayesian.parameters())), all(p.grad is not None for p in bayesian.parameters()))
