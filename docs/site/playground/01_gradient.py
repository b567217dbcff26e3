"""A gradient."""

import flambeau as torch

x = torch.linspace(-2, 2, 9, requires_grad=True)
y = (x**3 - x).sum()
y.backward()

print(x.grad)
print(3 * x.detach() ** 2 - 1)
