"""pytorch-revgrad: a layer that reverses gradients, in a network that adapts to another domain."""

import torch
from pytorch_revgrad import RevGrad
from torch import nn

torch.manual_seed(0)
features, domain = nn.Linear(4, 8), nn.Sequential(RevGrad(alpha=0.5), nn.Linear(8, 1))
x = torch.randn(16, 4, requires_grad=True)
loss = nn.functional.binary_cross_entropy_with_logits(domain(features(x).relu()), (x[:, :1] > 0).float())
loss.backward()
print(loss.item(), x.grad.norm().item(), features.weight.grad.norm().item())
plain = nn.Linear(8, 1)
plain.load_state_dict(domain[1].state_dict())
(gradient,) = torch.autograd.grad(
    nn.functional.binary_cross_entropy_with_logits(plain(features(x).relu()), (x[:, :1] > 0).float()), features.weight
)
print(torch.allclose(features.weight.grad, -0.5 * gradient), domain[0](x).equal(x), domain)
optimizer = torch.optim.SGD([*features.parameters(), *domain.parameters()], lr=0.1)
for _ in range(5):
    optimizer.zero_grad()
    loss = nn.functional.binary_cross_entropy_with_logits(domain(features(x).relu()), (x[:, :1] > 0).float())
    loss.backward()
    optimizer.step()
    print(loss.item())
