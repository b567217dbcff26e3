"""A custom function, checked with gradcheck."""

import flambeau as torch


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * grad


x = torch.randn(4, dtype=torch.float64, requires_grad=True)
print(torch.autograd.gradcheck(Cube.apply, x))
