"""torch-runstats: running means, and scatter operations."""

import torch
from torch_runstats import Reduction, RunningStats
from torch_runstats.scatter import scatter, scatter_mean

torch.manual_seed(0)
for reduction in (Reduction.MEAN, Reduction.RMS):
    statistics = RunningStats(dim=(3,), reduction=reduction)
    for _ in range(3):
        statistics.accumulate_batch(torch.randn(5, 3))
    print(reduction, [f"{value:.4f}" for value in statistics.current_result().flatten().tolist()])
x = torch.randn(6, 2)
print(f"{scatter(x, torch.tensor([0, 1, 0, 2, 1, 1]), dim=0).abs().sum().item():.4f}")
print(f"{scatter_mean(x, torch.tensor([0, 1, 0, 2, 1, 1]), dim=0).abs().sum().item():.4f}")
