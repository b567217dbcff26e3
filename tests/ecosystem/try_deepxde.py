"""deepxde: a network that solves Poisson's equation on an interval, trained by Adam and L-BFGS."""

import os

os.environ["DDE_BACKEND"] = "pytorch"

import deepxde
import numpy
import torch


def residual(x, y):
    return -deepxde.grad.hessian(y, x) - numpy.pi**2 * torch.sin(numpy.pi * x)


def solution(x):
    return numpy.sin(numpy.pi * x)


deepxde.config.set_default_float("float64")
deepxde.config.set_random_seed(0)
line = deepxde.geometry.Interval(-1, 1)
walls = deepxde.icbc.DirichletBC(line, solution, lambda _, on_boundary: on_boundary)
data = deepxde.data.PDE(line, residual, walls, 16, 2, solution=solution, num_test=50)
model = deepxde.Model(data, deepxde.nn.FNN([1, 20, 20, 1], "tanh", "Glorot uniform"))
model.compile("adam", lr=1e-3, metrics=["l2 relative error"], verbose=0)
history, _ = model.train(iterations=30, verbose=0)
print(*(f"{loss:.4f}" for loss in history.loss_train[-1]), f"{history.metrics_test[-1][0]:.4f}")
deepxde.optimizers.set_LBFGS_options(maxiter=10)
model.compile("L-BFGS", metrics=["l2 relative error"], verbose=0)
history, _ = model.train(verbose=0)
print(*(f"{loss:.4f}" for loss in history.loss_train[-1]), f"{history.metrics_test[-1][0]:.4f}")
