"""higher: steps of an inner optimizer that gradients pass through."""

import higher
import torch

for name in ("SGD", "Adam"):
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    options = {"momentum": 0.9} if name == "SGD" else {"betas": (0.8, 0.9)}
    optimizer = getattr(torch.optim, name)(net.parameters(), lr=0.1, **options)
    x, y = torch.randn(6, 3), torch.randn(6, 1)
    with higher.innerloop_ctx(net, optimizer, copy_initial_weights=False, override={"lr": [0.05]}) as (inner, steps):
        for _ in range(3):
            steps.step(((inner(x) - y) ** 2).mean())
        loss = ((inner(x + 1) - y) ** 2).mean()
        loss.backward()
        print(
            name,
            f"{loss.item():.5f}",
            [f"{p.grad.norm().item():.5f}" for p in net.parameters()],
            len(list(inner.parameters(time=1))),
        )
