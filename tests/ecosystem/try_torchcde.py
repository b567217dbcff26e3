"""torchcde: interpolation of paths and a controlled differential equation."""

import torch
import torchcde

torch.manual_seed(0)
times = torch.linspace(0, 1, 6)
path = torch.cat([times.expand(3, 6).unsqueeze(-1), torch.randn(3, 6, 2)], dim=-1)
path[0, 2, 1] = float("nan")


class Field(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 12)

    def forward(self, t, z):
        return self.linear(z).tanh().view(*z.shape[:-1], 4, 3)


field = Field()
for name in ("linear", "hermite_cubic", "natural_cubic"):
    if name == "hermite_cubic":
        coefficients = torchcde.hermite_cubic_coefficients_with_backward_differences(path)
    else:
        coefficients = torchcde.linear_interpolation_coeffs(path) if name == "linear" else torchcde.natural_cubic_coeffs(path)
    spline = torchcde.LinearInterpolation(coefficients) if name == "linear" else torchcde.CubicSpline(coefficients)
    z = torchcde.cdeint(X=spline, func=field, z0=torch.ones(3, 4), t=spline.interval, method="rk4", options={"step_size": 0.1})
    field.zero_grad()
    z[:, -1].sum().backward()
    print(name, tuple(coefficients.shape), f"{spline.derivative(0.5).sum().item():.4f} {z[:, -1].sum().item():.4f}")
    print(f"{field.linear.weight.grad.norm().item():.4f}")
