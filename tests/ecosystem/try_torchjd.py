"""torchjd: Jacobian descent: several losses, whose gradients are aggregated."""

import torch
from torchjd import aggregation
from torchjd.autojac import backward, jac_to_grad, mtl_backward

torch.manual_seed(0)
trunk = torch.nn.Sequential(torch.nn.Linear(5, 4), torch.nn.ReLU())
heads = [torch.nn.Linear(4, 1) for _ in range(2)]
x, y = torch.randn(7, 5), torch.randn(7, 2)
for name in ("UPGrad", "MGDA", "Mean", "Sum", "PCGrad", "AlignedMTL", "IMTLG", "DualProj", "GradDrop", "Random", "ConFIG"):
    torch.manual_seed(1)
    aggregator = getattr(aggregation, name)()
    features = trunk(x)
    losses = [(head(features).squeeze(1) - y[:, i]).square().mean() for i, head in enumerate(heads)]
    mtl_backward(losses, features=features)
    jac_to_grad(trunk.parameters(), aggregator)
    print(name, [f"{p.grad.norm().item():.4f}" for p in trunk.parameters()], f"{heads[0].weight.grad.norm().item():.4f}")
    trunk.zero_grad()
    for head in heads:
        head.zero_grad()
w = torch.tensor([1.0, 2.0], requires_grad=True)
backward([w @ torch.tensor([-4.0, 1.0]), (w**2).sum()])
print(w.jac.tolist())
jac_to_grad([w], aggregation.UPGrad())
print([f"{value:.4f}" for value in w.grad.tolist()])
