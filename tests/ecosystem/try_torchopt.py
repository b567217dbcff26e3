"""torchopt: functional optimizers, and steps that gradients pass through."""

import torch
import torchopt

torch.manual_seed(0)
params = {"w": torch.randn(3, requires_grad=True)}
for name in ("sgd", "adam", "rmsprop", "adagrad"):
    optimizer = getattr(torchopt, name)(lr=0.1)
    state, current = optimizer.init(params), params
    for _ in range(3):
        gradients = {"w": torch.autograd.grad((current["w"] ** 2).sum(), current["w"], create_graph=True)[0]}
        updates, state = optimizer.update(gradients, state, inplace=False)
        current = torchopt.apply_updates(current, updates, inplace=False)
    (outer,) = torch.autograd.grad(current["w"].sum(), params["w"])
    print(name, f"{current['w'].abs().sum().item():.4f} {outer.norm().item():.4f}")
