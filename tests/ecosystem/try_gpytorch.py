"""gpytorch: a Gaussian process fitted to a sine, and its predictions."""

import gpytorch
import torch

torch.manual_seed(0)
inputs = torch.linspace(0, 1, 20)
targets = torch.sin(6 * inputs)


class Model(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood):
        super().__init__(x, y, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


likelihood = gpytorch.likelihoods.GaussianLikelihood()
model = Model(inputs, targets, likelihood)
loss_of = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
for step in range(15):
    optimizer.zero_grad()
    loss = -loss_of(model(inputs), targets)
    loss.backward()
    optimizer.step()
    if step % 7 == 0:
        print(step, f"{loss.item():.4f}")
print(f"{model.covar_module.base_kernel.lengthscale.item():.4f} {likelihood.noise.item():.4f}")
model.eval(), likelihood.eval()
with torch.no_grad(), gpytorch.settings.fast_pred_var():
    found = likelihood(model(torch.linspace(0, 1, 5)))
print([round(value, 4) for value in found.mean.tolist()])
print([round(value, 3) for value in found.variance.tolist()])
