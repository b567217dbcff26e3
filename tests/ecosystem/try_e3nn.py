"""e3nn: rotation-equivariant networks, whose operations are generated with `torch.fx`."""

import torch
from e3nn import nn, o3
from e3nn.util.jit import compile_mode, script
from e3nn.util.test import equivariance_error

torch.manual_seed(0)
irreps = o3.Irreps("4x0e + 3x1o + 2x2e")
print(irreps, irreps.dim, irreps.lmax)
x, y = irreps.randn(5, -1), o3.Irreps("1x0e + 1x1o").randn(5, -1)
print([f"{value:.4f}" for value in o3.spherical_harmonics([0, 1, 2, 3], torch.tensor([1.0, 2.0, -0.5]), normalize=True).tolist()])
print(f"{o3.wigner_3j(1, 2, 3).abs().sum().item():.5f} {irreps.D_from_angles(*torch.tensor([0.3, 0.2, 0.1])).sum().item():.5f}")

product = o3.FullyConnectedTensorProduct(irreps, "1x0e + 1x1o", "3x0e + 2x1o + 1x1e")
out = product(x, y)
out.square().sum().backward()
print(product.weight_numel, f"{out.sum().item():.5f} {product.weight.grad.norm().item():.5f}")
print(equivariance_error(product, args_in=[x, y], irreps_in=[irreps, "1x0e + 1x1o"], irreps_out=product.irreps_out) and True)
linear = o3.Linear(irreps, "2x0e + 2x1o")
print(linear, f"{linear(x).sum().item():.5f}")
print(f"{script(linear)(x).sum().item():.5f}")
gate = nn.Gate("2x0e", [torch.tanh], "2x0e", [torch.sigmoid], "2x1o")
print(f"{gate(gate.irreps_in.randn(5, -1)).sum().item():.5f}")
norm = nn.BatchNorm(irreps)
print(f"{norm(x).sum().item():.5f} {norm.running_mean.sum().item():.5f}")
basis = o3.ReducedTensorProducts("ij=-ji", i="1x1o")
print(basis.irreps_out, f"{basis(torch.tensor([1.0, 0.0, 0.0]), torch.tensor([0.0, 1.0, 0.0])).abs().sum().item():.5f}")


@compile_mode("script")
class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.product = o3.FullTensorProduct("1x1o", "1x1o")
        self.net = nn.FullyConnectedNet([9, 16, 1], torch.relu)

    def forward(self, a, b):
        return self.net(self.product(a, b))


layer = Layer()
a, b = torch.randn(4, 3, requires_grad=True), torch.randn(4, 3)
layer(a, b).sum().backward()
print(f"{layer(a, b).sum().item():.5f} {a.grad.sum().item():.5f} {script(layer)(a, b).sum().item():.5f}")
