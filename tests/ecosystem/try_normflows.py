"""normflows: densities, samples and the loss of three kinds of normalizing flows."""

import normflows as nf
import torch

for name in ("planar", "spline", "affine"):
    torch.manual_seed(0)
    base = nf.distributions.DiagGaussian(2)
    flows = []
    for _ in range(3):
        if name == "planar":
            flows.append(nf.flows.Planar((2,)))
        elif name == "spline":
            flows += [nf.flows.AutoregressiveRationalQuadraticSpline(2, 1, 8), nf.flows.LULinearPermute(2)]
        else:
            flows += [nf.flows.AffineCouplingBlock(nf.nets.MLP([1, 8, 2], init_zeros=False)), nf.flows.Permute(2, mode="swap")]
    model = nf.NormalizingFlow(base, flows)
    sample, density = model.sample(5)
    print(name, tuple(sample.shape), f"{density.sum().item():.4f}")
    if name != "planar":  # the inverse of a planar flow has no formula
        loss = model.forward_kld(torch.randn(6, 2))
        loss.backward()
        print(f"{loss.item():.4f} {sum(p.grad.norm().item() for p in model.parameters() if p.grad is not None):.4f}")
