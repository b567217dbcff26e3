"""Plot a loss curve with matplotlib."""

import matplotlib.pyplot as plt

import flambeau as torch

minimum = torch.tensor([1.0, 1.0])
for name, optimizer_class, lr in [("SGD", torch.optim.SGD, 1e-3), ("Adam", torch.optim.Adam, 5e-2)]:
    point = torch.tensor([-1.5, 1.0], requires_grad=True)
    optimizer = optimizer_class([point], lr=lr)
    distances = []
    for _ in range(400):
        x, y = point
        loss = (1 - x) ** 2 + 100 * (y - x**2) ** 2  # Rosenbrock's function
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        distances.append((point.detach() - minimum).norm().item())
    plt.semilogy(distances, label=name)
plt.xlabel("step")
plt.ylabel("distance to the minimum")
plt.legend()
plt.show()
