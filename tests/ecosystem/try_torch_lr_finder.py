"""torch-lr-finder: the range test of learning rates."""

import os

os.environ["MPLBACKEND"] = "Agg"

import torch
from torch.utils.data import DataLoader, TensorDataset
from torch_lr_finder import LRFinder

torch.manual_seed(0)
x = torch.randn(64, 4)
loader = DataLoader(TensorDataset(x, (x[:, 0] > 0).long()), batch_size=16, shuffle=True)
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
finder = LRFinder(net, torch.optim.SGD(net.parameters(), lr=1e-3), torch.nn.CrossEntropyLoss(), device="cpu")
before = net[0].weight.clone()
for mode in ("exp", "linear"):
    finder.range_test(loader, val_loader=loader if mode == "linear" else None, end_lr=10, num_iter=12, step_mode=mode)
    print([f"{rate:.5f}" for rate in finder.history["lr"]], [f"{loss:.4f}" for loss in finder.history["loss"]])
    finder.reset()
    print(torch.equal(net[0].weight, before))
