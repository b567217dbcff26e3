"""hydra_zen: configurations of PyTorch's classes and functions, converted to YAML and instantiated."""

import torch
from hydra_zen import builds, instantiate, just, to_yaml

optimizer = builds(torch.optim.Adam, lr=0.1, populate_full_signature=True, zen_partial=True)
print(to_yaml(optimizer))
print(instantiate(optimizer)(torch.nn.Linear(2, 1).parameters()).defaults["lr"])
network = builds(torch.nn.Sequential, builds(torch.nn.Linear, 2, 3), builds(torch.nn.ReLU))
print(to_yaml(network))
print(instantiate(network))
print(to_yaml(just(torch.relu)), instantiate(just(torch.relu)) is torch.relu)
