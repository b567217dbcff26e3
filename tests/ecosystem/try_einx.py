"""einx: operations in a notation of named axes."""

import einx
import torch

torch.manual_seed(0)
x, weight = torch.randn(2, 6, 4), torch.randn(4, 3)
print(einx.id("a (b c) d -> a b (c d)", x, c=2).shape, f"{einx.mean('a [b] c', x).sum().item():.4f}")
print(f"{einx.dot('a b [c], [c] d -> a b d', x, weight).sum().item():.4f}", einx.add("a b c, b", x, torch.ones(6)).shape)
print(f"{einx.softmax('a b [c]', x)[0, 0, 0].item():.4f} {einx.max('a b [c]', x).sum().item():.4f}")
index = torch.randint(0, 6, (2, 5))
print(f"{einx.get_at('a [b] c, a i -> a i c', x, index).sum().item():.4f}", einx.flip("a [b] c", x).shape)
print(einx.where("a b c, a b c, ", x > 0, x, 0.0).min().item() >= 0, einx.id("a b c, a d c -> a (b + d) c", x, x).shape)
x.requires_grad_()
einx.logsumexp("a [b] c", x).sum().backward()
print(f"{x.grad.sum().item():.4f}", einx.solve_shapes("a b c", x) if hasattr(einx, "solve_shapes") else "")
