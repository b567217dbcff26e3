"""einops: rearrange, reduce and repeat patterns, layers, einsum."""

import einops
import torch
from einops.layers.torch import Rearrange, Reduce

x = torch.arange(2 * 3 * 4 * 4.0).reshape(2, 3, 4, 4).requires_grad_()
print(einops.rearrange(x, "b c (h a) (w d) -> b (c a d) h w", a=2, d=2).sum((2, 3))[0, :3].tolist())
print(einops.reduce(x, "b c h w -> b c", "mean").tolist(), einops.repeat(x[0, 0], "h w -> h (r w)", r=2).shape)
net = torch.nn.Sequential(Rearrange("b c h w -> b (c h w)"), torch.nn.Identity(), Reduce("b (c n) -> b c", "max", c=3))
net(x).sum().backward()
print(x.grad.sum().item(), einops.einsum(x, x, "b c h w, b c h w -> b").tolist())
packed, shapes = einops.pack([x[0], x[1, 0]], "* h w")
print(packed.shape, [list(shape) for shape in shapes], [part.shape for part in einops.unpack(packed, shapes, "* h w")])
