"""pytorch-minimize: minima of Rosenbrock's function by several methods, with constraints, and least squares."""

import torch
from torchmin import least_squares, minimize, minimize_constr
from torchmin.benchmarks import rosen

x0 = torch.tensor([1.3, 0.7, 0.8, 1.9, 1.2], dtype=torch.float64)
for method in ("bfgs", "l-bfgs", "cg", "newton-cg", "newton-exact", "trust-ncg", "trust-exact"):
    found = minimize(rosen, x0, method=method)
    print(method, found.success, [round(value, 3) for value in found.x.tolist()], f"{found.fun.item() + 1:.4f}")
result = minimize_constr(rosen, x0[:2], constr={"fun": lambda x: x.square().sum(), "ub": 1.0}, tol=1e-8)
print([round(value, 2) for value in result.x.tolist()], round(result.fun.item(), 3))
times = torch.linspace(0, 2, 20, dtype=torch.float64)
data = 2.5 * torch.exp(-1.3 * times) + 0.5
fit = least_squares(lambda p: p[0] * torch.exp(p[1] * times) + p[2] - data, torch.tensor([1.0, -1.0, 0.0], dtype=torch.float64))
print(fit.success, [round(value, 3) for value in fit.x.tolist()])
