"""A network that learns XOR."""

import flambeau as torch
from flambeau import nn

torch.manual_seed(1)
inputs = torch.tensor([[0.0, 0], [0, 1], [1, 0], [1, 1]])
targets = torch.tensor([[0.0], [1], [1], [0]])

net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
for _ in range(300):
    loss = nn.functional.binary_cross_entropy_with_logits(net(inputs), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

print(f"loss {loss.item():.4f}")
print(net(inputs).sigmoid().round(decimals=2))
