"""torchview: the graph of a network's layers and operations."""

import torch
from torchview import draw_graph

net = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(4 * 36, 10))
graph = draw_graph(net, input_size=(2, 1, 8, 8), device="meta", expand_nested=True)
source = graph.visual_graph.source
print(source.count("->"), [name for name in ("Conv2d", "ReLU", "Flatten", "Linear") if name in source])
print(source)
