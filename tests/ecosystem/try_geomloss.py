"""geomloss: distances between point clouds and their gradients, Sinkhorn potentials, a barycenter of two images."""

import geomloss
import torch

torch.manual_seed(0)
x, y = torch.rand(30, 3, requires_grad=True), torch.rand(40, 3)
for name in ("sinkhorn", "energy", "gaussian", "laplacian"):
    for power in (1, 2):
        distance = geomloss.SamplesLoss(name, p=power, blur=0.1, backend="tensorized")(x, y)
        (gradient,) = torch.autograd.grad(distance, x)
        print(name, power, f"{distance.item():.5f} {gradient.norm().item():.5f}")
loss = geomloss.SamplesLoss("sinkhorn", p=2, blur=0.05, debias=False, potentials=True, backend="tensorized")
print(*(f"{potential.sum().item():.4f}" for potential in loss(x, y)))
pictures = torch.rand(1, 2, 16, 16)
mean = geomloss.ImagesBarycenter(pictures / pictures.sum((2, 3), keepdim=True), torch.tensor([[0.5, 0.5]]))
print(tuple(mean.shape), f"{mean.max().item():.5f}")
