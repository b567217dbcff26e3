"""torchlens: the operations of a model, and their results."""

import torch
import torchlens
from torch import nn

torch.manual_seed(0)


class Model(nn.Module):
    """A model with a loop and a branch."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 8)

    def forward(self, x):
        x = torch.relu(self.first(x))
        for _ in range(2):
            x = torch.tanh(self.second(x)) + x
        return x.mean(1) if x.sum() > 0 else x.sum(1)


model, x = Model(), torch.randn(3, 4)
trace = torchlens.trace(model, x)
for label in trace.layer_labels:
    layer = trace[label]
    print(label, tuple(layer.out.shape), layer.out.sum().item())
print(trace.num_ops if hasattr(trace, "num_ops") else len(trace.layer_labels), torch.allclose(trace["output_1"].out, model(x)))
