"""torch-kmeans: clusters by k-means, soft k-means and k-means with limited sizes."""

import torch
from torch_kmeans import ConstrainedKMeans, KMeans, SoftKMeans
from torch_kmeans.utils.distances import CosineSimilarity

torch.manual_seed(0)
centers = torch.tensor([[0.0, 0.0], [4.0, 4.0], [0.0, 5.0]])
x = (centers.repeat_interleave(20, 0) + 0.3 * torch.randn(60, 2))[None]
for init in ("rnd", "k-means++"):
    result = KMeans(n_clusters=3, init_method=init, verbose=False, seed=1)(x)
    print(init, result.labels.shape, sorted(result.labels[0].bincount().tolist()), result.inertia.sum().item())
    print(sorted([round(value, 3) for value in center] for center in result.centers[0].tolist()))
model = KMeans(n_clusters=3, verbose=False, seed=1).fit(x)
print(torch.equal(model.predict(x), result.labels) or sorted(model.predict(x)[0].bincount().tolist()))
soft = SoftKMeans(n_clusters=3, verbose=False, seed=1)(x)
print(soft.soft_assignment.shape, soft.soft_assignment.sum(-1).mean().item(), sorted(soft.labels[0].bincount().tolist()))
limited = ConstrainedKMeans(n_clusters=3, verbose=False, seed=1, raise_infeasible=False)
weights = torch.full((1, 60), 1 / 25)
print(sorted(limited(x, weights=weights).labels[0].bincount().tolist()))
print(KMeans(n_clusters=2, distance=CosineSimilarity, verbose=False, seed=1)(x + 1).inertia.shape)
