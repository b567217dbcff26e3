"""torch-dct: cosine transforms in one, two and three dimensions, their inverses and gradients."""

import torch
import torch_dct as dct

torch.manual_seed(0)
x = torch.randn(3, 8)
for norm in (None, "ortho"):
    print(dct.dct(x, norm=norm)[0].tolist())
    print(torch.allclose(dct.idct(dct.dct(x, norm=norm), norm=norm), x, atol=1e-5))
print(dct.dct1(x)[0, :3].tolist(), torch.allclose(dct.idct1(dct.dct1(x)), x, atol=1e-5))
images = torch.randn(2, 4, 6, 5)
print(dct.dct_2d(images).norm().item(), torch.allclose(dct.idct_2d(dct.dct_2d(images)), images, atol=1e-5))
print(dct.dct_3d(images, norm="ortho").norm().item(), torch.allclose(dct.idct_3d(dct.dct_3d(images)), images, atol=1e-5))
layer = dct.LinearDCT(8, "dct", norm="ortho")
print(torch.allclose(layer(x), dct.dct(x, norm="ortho"), atol=1e-5), layer.weight.requires_grad)
x.requires_grad_()
dct.dct(x).square().sum().backward()
print(x.grad[0].tolist())
print(torch.autograd.gradcheck(dct.dct, torch.randn(2, 5, dtype=torch.float64, requires_grad=True)))
