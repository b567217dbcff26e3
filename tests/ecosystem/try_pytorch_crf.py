"""pytorch-crf: the likelihood of tags and the best tags."""

import torch
from torchcrf import CRF

torch.manual_seed(0)
crf = CRF(4, batch_first=True)
scores = torch.randn(3, 6, 4, requires_grad=True)
tags = torch.randint(0, 4, (3, 6))
mask = torch.arange(6) < torch.tensor([[6], [4], [2]])
for reduction in ("sum", "mean", "token_mean", "none"):
    print(reduction, [f"{value:.4f}" for value in crf(scores, tags, mask=mask, reduction=reduction).reshape(-1).tolist()])
(-crf(scores, tags, mask=mask)).backward()
print(f"{scores.grad.norm().item():.4f} {crf.transitions.grad.norm().item():.4f}", crf.decode(scores, mask=mask), crf)
