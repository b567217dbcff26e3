"""nflows: a masked autoregressive flow and a spline coupling flow."""

import torch
from nflows.distributions import StandardNormal
from nflows.flows import Flow
from nflows.nn.nets import ResidualNet
from nflows.transforms import (
    CompositeTransform,
    MaskedAffineAutoregressiveTransform,
    PiecewiseRationalQuadraticCouplingTransform,
    RandomPermutation,
    ReversePermutation,
)

torch.manual_seed(0)
affine = [ReversePermutation(3), MaskedAffineAutoregressiveTransform(3, 8, context_features=2)]
splines = [
    RandomPermutation(3),
    PiecewiseRationalQuadraticCouplingTransform(
        [1, -1, 1], lambda i, o: ResidualNet(i, o, hidden_features=8, context_features=2), tails="linear", num_bins=4
    ),
]
x, context = torch.randn(5, 3), torch.randn(5, 2)
for layers in (affine, splines, affine + splines):
    flow = Flow(CompositeTransform(layers), StandardNormal([3]))
    flow.zero_grad()
    density = flow.log_prob(x, context)
    density.sum().backward()
    print(f"{density.sum().item():.4f} {sum(p.grad.norm().item() for p in flow.parameters() if p.grad is not None):.4f}")
    print(tuple(flow.sample(4, context).shape), f"{flow.transform_to_noise(x, context).sum().item():.4f}")
