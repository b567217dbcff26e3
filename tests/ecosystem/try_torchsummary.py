"""torchsummary: the table of a network's layers."""

import torch
from torchsummary import summary

summary(
    torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(144, 5)),
    (3, 8, 8),
    device="cpu",
)
