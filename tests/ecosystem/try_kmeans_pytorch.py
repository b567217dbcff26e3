"""kmeans-pytorch: clusters."""

import numpy as np
import torch
from kmeans_pytorch import kmeans, kmeans_predict

np.random.seed(0)
x = torch.tensor(np.concatenate([np.random.randn(20, 2) + shift for shift in (-5, 0, 5)]), dtype=torch.float32)
ids, centers = kmeans(X=x, num_clusters=3, device=torch.device("cpu"))
print(sorted(torch.bincount(ids).tolist()), f"{centers.abs().sum().item():.2f}")
print(kmeans_predict(x[::20], centers, device=torch.device("cpu")).unique().numel())
