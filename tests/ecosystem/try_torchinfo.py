"""torchinfo: a summary of a network."""

import torch
from torchinfo import summary

net = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(4 * 26 * 26, 10))
found = summary(net, input_size=(2, 1, 28, 28), verbose=0, col_names=("input_size", "output_size", "num_params", "mult_adds"))
print(found)
