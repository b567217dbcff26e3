"""egnn-pytorch: equivariant graph networks."""

import torch
from egnn_pytorch import EGNN, EGNN_Network

torch.manual_seed(0)
features, places = torch.randn(1, 8, 16), torch.randn(1, 8, 3, requires_grad=True)
for options in ({}, {"num_nearest_neighbors": 3}, {"norm_coors": True, "soft_edges": True}, {"edge_dim": 4}):
    layer = EGNN(dim=16, **options)
    edges = {"edges": torch.randn(1, 8, 8, 4)} if "edge_dim" in options else {}
    found, moved = layer(features, places, **edges)
    places.grad = None
    moved.square().sum().backward()
    print(sorted(options), f"{found.sum().item():.4f} {moved.sum().item():.4f} {places.grad.norm().item():.4f}")
net = EGNN_Network(num_tokens=9, dim=16, depth=2, num_nearest_neighbors=4, num_positions=8)
found, moved = net(torch.randint(0, 9, (1, 8)), places, mask=torch.ones(1, 8).bool())
print(tuple(found.shape), f"{found.sum().item():.4f} {moved.sum().item():.4f}")
