"""geotorch: parameters on manifolds."""

import geotorch
import torch

torch.manual_seed(0)
for name in ("orthogonal", "skew", "symmetric", "low_rank", "positive_definite", "sphere"):
    layer = torch.nn.Linear(4, 4)
    options = {"rank": 2} if name == "low_rank" else {}
    getattr(geotorch, name)(layer, "weight", **options)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    layer(torch.ones(2, 4)).square().sum().backward()
    optimizer.step()
    weight = layer.weight
    print(
        name,
        tuple(weight.shape),
        int(torch.linalg.matrix_rank(weight)),
        torch.allclose(weight @ weight.T, torch.eye(4), atol=1e-4),
    )
