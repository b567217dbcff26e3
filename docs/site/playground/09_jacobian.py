"""Jacobians and per-sample gradients with torch.func."""

import flambeau as torch
from flambeau.func import grad, jacrev, vmap


def polar(point):
    x, y = point
    return torch.stack([torch.sqrt(x**2 + y**2), torch.atan2(y, x)])


print(jacrev(polar)(torch.tensor([3.0, 4.0])))

weights = torch.tensor([1.0, -2.0])
samples = torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0]])
print(vmap(grad(lambda weights, sample: (weights @ sample) ** 2), in_dims=(None, 0))(weights, samples))
