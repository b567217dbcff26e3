"""pytorch-fid: the Frechet distance, and features of the inception network with random weights."""

import numpy as np
import torch
from pytorch_fid.fid_score import calculate_frechet_distance
from pytorch_fid.inception import FIDInceptionA, FIDInceptionC, FIDInceptionE_1

torch.manual_seed(0)
for block, channels in (
    (FIDInceptionA(192, pool_features=32), 192),
    (FIDInceptionC(768, channels_7x7=128), 768),
    (FIDInceptionE_1(1280), 1280),
):
    with torch.no_grad():
        found = block.eval()(torch.rand(1, channels, 6, 6))
    print(type(block).__name__, tuple(found.shape), f"{found.sum().item():.3f}")
x = np.random.RandomState(0).randn(50, 4)
print(f"{calculate_frechet_distance(x.mean(0), np.cov(x.T), x.mean(0) + 1, np.cov(x.T) * 2):.4f}")
