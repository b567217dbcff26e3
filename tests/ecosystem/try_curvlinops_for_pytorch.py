"""curvlinops: curvature matrices as linear operators."""

import numpy as np
import torch
from curvlinops import EFLinearOperator, GGNLinearOperator, HessianLinearOperator

torch.manual_seed(0)
net, loss = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2)), torch.nn.MSELoss()
data = [(torch.randn(5, 3), torch.randn(5, 2))]
params = list(net.parameters())
for kind in (HessianLinearOperator, GGNLinearOperator, EFLinearOperator):
    operator = kind(net, loss, params, data, check_deterministic=False)
    found = operator @ torch.ones(operator.shape[1])
    print(kind.__name__, tuple(operator.shape), f"{float(np.abs(np.asarray(found)).sum()):.4f}")
