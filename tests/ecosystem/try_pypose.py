"""pypose: Lie groups with gradients, and least squares on them."""

import pypose as pp
import torch

torch.manual_seed(0)
x = pp.randn_SO3(2)
print(type(x).__name__, x.lshape, [f"{value:.4f}" for value in x.Log().tensor().flatten().tolist()])
pose = pp.randn_SE3(2, requires_grad=True)
moved = pose.Act(torch.ones(2, 3))
moved.sum().backward()
print([f"{value:.4f}" for value in moved.flatten().tolist()], [f"{value:.4f}" for value in pose.grad[0].tolist()])
print([f"{value:.4f}" for value in (pose @ pose.Inv()).tensor().abs().flatten().tolist()])


class Inverse(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.pose = pp.Parameter(pp.randn_SE3(2))

    def forward(self, given):
        return (self.pose @ given).Log().tensor()


given = pp.randn_SE3(2)
net = Inverse()
optimizer = pp.optim.LM(net, strategy=pp.optim.strategy.Adaptive(damping=1e-6))
print([f"{optimizer.step(given) < limit}" for limit in (10.0, 1e-1, 1e-3)])
