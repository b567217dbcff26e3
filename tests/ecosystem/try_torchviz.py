"""torchviz: the graph of a gradient."""

import torch
from torchviz import make_dot

net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
x = torch.ones(2, 3)
dot = make_dot(net(x).mean(), params=dict(net.named_parameters()))
labels = sorted(line.partition("label=")[2].split(" ")[0].strip('"[]') for line in dot.body if "label=" in line)
print(len(dot.body) > 15, any("TanhBackward0" in line for line in dot.body), any("0.weight" in line for line in dot.body))
print([name for name in ("AddmmBackward0", "MeanBackward0", "AccumulateGrad") if any(name in label for label in labels)])
