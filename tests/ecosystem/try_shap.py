"""shap: attributions of a network's outputs to its inputs."""

import numpy as np
import shap
import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3), torch.nn.Sigmoid()).eval()
background, x = torch.randn(12, 4), torch.randn(2, 4)
deep = shap.DeepExplainer(net, background)
values = deep.shap_values(x)
print(values.shape, [f"{value:.4f}" for value in values[0, :, 1]], [f"{value:.4f}" for value in deep.expected_value])
complete = values.sum(1) + deep.expected_value - net(x).detach().numpy()
print(bool(np.abs(complete).max() < 1e-4))
image = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.MaxPool2d(2), torch.nn.Flatten(), torch.nn.Linear(8, 2)).eval()
values = shap.DeepExplainer(image, torch.randn(5, 1, 6, 6)).shap_values(torch.randn(1, 1, 6, 6))
print(values.shape, f"{np.abs(values).sum():.4f}")
gradients, ranks = shap.GradientExplainer(net, background).shap_values(x, nsamples=20, ranked_outputs=1, rseed=0)
print(np.shape(gradients), ranks.tolist())
