"""tensorly-torch: factorized tensors, layers and convolutions, and their training."""

import tensorly as tl
import tltorch
import torch
from tltorch import FactorizedConv, FactorizedLinear, FactorizedTensor

tl.set_backend("pytorch")
torch.manual_seed(0)
for kind in ("cp", "tucker", "tt"):
    weight = FactorizedTensor.new((4, 5, 6), rank=0.5, factorization=kind)
    weight.normal_(0, 0.1)
    print(kind, tuple(weight.shape), weight.rank, sum(p.numel() for p in weight.parameters()), weight.to_tensor().std().item())
    print(tuple(weight[2].shape), tuple(weight[:, 1:3].shape))
x = torch.randn(8, 16)
for kind in ("cp", "tucker", "blocktt"):
    layer = FactorizedLinear((4, 4), (2, 5), factorization=kind, rank=0.8, bias=True)
    for parameter in layer.parameters():
        torch.nn.init.normal_(parameter, 0, 0.5)
    layer(x).square().mean().backward()
    print(kind, tuple(layer(x).shape), layer(x).norm().item(), sum(p.grad.norm().item() for p in layer.parameters()))
convolution = torch.nn.Conv2d(3, 8, 3, padding=1)
image = torch.randn(1, 3, 6, 6)
factorized = FactorizedConv.from_conv(convolution, rank=1.0, factorization="tucker", implementation="reconstructed")
print(tuple(factorized(image).shape), factorized(image).norm().item())
layer = tltorch.TRL((4, 4), (3,), rank="same", factorization="tucker")
print(tuple(layer(torch.randn(2, 4, 4)).shape), tltorch.TCL((4, 4), (2, 3))(torch.randn(2, 4, 4)).shape)
