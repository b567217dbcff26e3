"""Types that editors show for common calls, checked by pyright: `tox -e types`.

A call of a module has the parameters and the result of its `forward`, also for a user-defined one without annotations.
"""

from __future__ import annotations

from typing import Any, assert_type

import numpy

import flambeau as torch
import flambeau.nn.functional as F
from flambeau import Tensor, nn
from flambeau.nn.utils.rnn import pad_sequence
from flambeau.optim.lr_scheduler import StepLR
from flambeau.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
        self.head = nn.Linear(4, 2)

    def forward(self, x: Tensor):  # type: ignore[no-untyped-def]
        return self.head(self.body(x))


def double(x: Tensor) -> Tensor:
    return x * 2


x, net, layer = torch.ones(2, 3), Net(), nn.Linear(3, 2)
assert_type(net(x), Tensor)
assert_type(net(x).sum().backward(), None)
assert_type(layer.weight, nn.Parameter)
assert_type(x.max(), Tensor)
assert_type(x.max(dim=1).values, Tensor)
assert_type(x.topk(2).indices, Tensor)
assert_type(torch.sort(x).values, Tensor)
assert_type(torch.var_mean(x), tuple[Tensor, Tensor])
assert_type(x.chunk(2), tuple[Tensor, ...])
assert_type(x.item(), int | float | bool)
assert_type(x.tolist(), list[Any])
assert_type(x.numpy(), numpy.ndarray[Any, Any])
assert_type(x.size(0), int)
assert_type(x.size(), torch.Size)
assert_type(x.stride(), tuple[int, ...])
assert_type(x.grad, Tensor | None)
assert_type(torch.autograd.grad(x.sum(), x), tuple[Tensor, ...])
assert_type(torch.no_grad(), torch.no_grad)
assert_type(torch.no_grad()(double)(x), Tensor)
assert_type(torch.compile(net), Net)
assert_type(torch.compile(double)(x), Tensor)
assert_type(DataLoader(TensorDataset(x)), DataLoader[tuple[Tensor, ...]])
assert_type(F.softmax(x, dim=1), Tensor)
assert_type(pad_sequence([x, x]), Tensor)
assert_type(StepLR(torch.optim.SGD(net.parameters(), lr=0.1), 2), StepLR)
