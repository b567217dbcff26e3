"""tomesd: merging of similar tokens."""

import torch
from tomesd.merge import bipartite_soft_matching_random2d

torch.manual_seed(0)
tokens = torch.randn(1, 64, 8)
merge, unmerge = bipartite_soft_matching_random2d(tokens, 8, 8, 2, 2, 20, no_rand=True)
merged = merge(tokens)
print(
    tuple(merged.shape), tuple(unmerge(merged).shape), f"{merged.abs().sum().item():.3f} {unmerge(merged).abs().sum().item():.3f}"
)
