"""Linear regression."""

import flambeau as torch
from flambeau import nn

torch.manual_seed(0)
x = torch.rand(200, 1) * 4 - 2
y = 3 * x - 1 + 0.3 * torch.randn_like(x)

model = nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(101):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 25 == 0:
        print(f"step {step:3}: loss {loss.item():.4f}")

print(f"y = {model.weight.item():.2f} x + {model.bias.item():.2f}")
