"""Fit a distribution by maximum likelihood."""

import flambeau as torch
from flambeau.distributions import Gamma

torch.manual_seed(0)
data = Gamma(3.0, 0.5).sample((500,))
parameters = torch.zeros(2, requires_grad=True)  # logarithms of concentration and rate
optimizer = torch.optim.LBFGS([parameters], max_iter=50, line_search_fn="strong_wolfe")


def closure():
    optimizer.zero_grad()
    loss = -Gamma(*parameters.exp()).log_prob(data).mean()
    loss.backward()
    return loss


optimizer.step(closure)
print(Gamma(*parameters.detach().exp()))
