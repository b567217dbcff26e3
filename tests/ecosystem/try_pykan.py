"""pykan: Kolmogorov-Arnold networks, fitted, pruned and made symbolic."""

import contextlib
import io
import tempfile

import torch
from kan import KAN, create_dataset

torch.set_default_dtype(torch.float64)
with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as text:
    model = KAN(width=[2, 3, 1], grid=3, k=3, seed=1, ckpt_path=folder, auto_save=False)
    data = create_dataset(lambda x: torch.sin(torch.pi * x[:, [0]]) + x[:, [1]] ** 2, n_var=2, train_num=60, test_num=20)
    first = model.fit(data, opt="Adam", steps=6, lr=0.01, lamb=0.001)
    second = model.fit(data, opt="LBFGS", steps=3)
    model.fix_symbolic(0, 1, 0, "x^2", verbose=False)
    outputs = model(data["test_input"])
    model = model.refine(5)
print({key: [f"{value:.3f}" for value in values[:3]] for key, values in first.items()})
print({key: [f"{value:.3f}" for value in values[:2]] for key, values in second.items()})
print(f"{outputs.abs().mean().item():.4f}", model.grid, sum(p.numel() for p in model.parameters()))
