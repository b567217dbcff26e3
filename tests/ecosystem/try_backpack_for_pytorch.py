"""backpack: quantities beyond gradients, computed in the backward pass."""

import torch
from backpack import backpack, extend
from backpack.extensions import KFLR, BatchGrad, BatchL2Grad, DiagGGNExact, DiagHessian, Variance

torch.manual_seed(0)
net = extend(torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Sigmoid(), torch.nn.Linear(3, 2)))
loss = extend(torch.nn.CrossEntropyLoss())(net(torch.randn(6, 4)), torch.randint(0, 2, (6,)))
with backpack(BatchGrad(), BatchL2Grad(), DiagGGNExact(), DiagHessian(), Variance(), KFLR()):
    loss.backward()
for name, p in net.named_parameters():
    print(
        name,
        tuple(p.grad_batch.shape),
        f"{p.batch_l2.sum().item():.5f} {p.diag_ggn_exact.sum().item():.5f} {p.diag_h.sum().item():.5f}",
    )
    print(f"{p.variance.sum().item():.6f}", [tuple(factor.shape) for factor in p.kflr])
