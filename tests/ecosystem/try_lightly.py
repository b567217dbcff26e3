"""lightly: losses and heads of self-supervised learning."""

import torch
from lightly.loss import BarlowTwinsLoss, DCLLoss, NegativeCosineSimilarity, NTXentLoss, SwaVLoss, VICRegLoss
from lightly.models.modules import BarlowTwinsProjectionHead, SimCLRProjectionHead, SwaVPrototypes
from lightly.models.utils import deactivate_requires_grad, update_momentum

torch.manual_seed(0)
a, b = torch.randn(8, 16, requires_grad=True), torch.randn(8, 16)
for loss in (NTXentLoss(0.5), DCLLoss(), NegativeCosineSimilarity(), BarlowTwinsLoss(), VICRegLoss()):
    a.grad = None
    found = loss(a, b)
    found.backward()
    print(type(loss).__name__, f"{found.item():.5f} {a.grad.norm().item():.5f}")
head, momentum = SimCLRProjectionHead(16, 12, 8), SimCLRProjectionHead(16, 12, 8)
deactivate_requires_grad(momentum)
update_momentum(head, momentum, m=0.9)
print(f"{momentum(b).sum().item():.4f}", f"{BarlowTwinsProjectionHead(16, 12, 8)(a).norm().item():.4f}")
scores = SwaVPrototypes(16, 5)(torch.nn.functional.normalize(a, dim=1))
print(f"{SwaVLoss()([scores[:4], scores[4:]], []).item():.5f}")
