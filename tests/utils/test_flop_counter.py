"""`FlopCounterMode` counts the operations of matrix products and convolutions, forward and backward, for each module."""

from __future__ import annotations

import pytest

import flambeau as torch
import flambeau.nn.functional as F
from flambeau import nn
from flambeau.utils.flop_counter import FlopCounterMode, register_flop_formula

aten = torch.ops.aten


def counted(function):
    counter = FlopCounterMode(display=False)
    with counter:
        function()
    return counter


def leaf(*shape):
    return torch.rand(*shape, requires_grad=True)


@pytest.mark.parametrize(
    ("function", "count"),
    [
        (lambda: torch.rand(2, 3) @ torch.rand(3, 4), 2 * 2 * 3 * 4),
        (lambda: torch.rand(5, 2, 3) @ torch.rand(5, 3, 4), 5 * 2 * 2 * 3 * 4),
        (lambda: torch.rand(5, 1, 2, 3) @ torch.rand(2, 3, 4), 10 * 2 * 2 * 3 * 4),
        (lambda: torch.einsum("bij,bjk->bik", torch.rand(5, 2, 3), torch.rand(5, 3, 4)), 5 * 2 * 2 * 3 * 4),
        (lambda: torch.baddbmm(torch.rand(5, 2, 4), torch.rand(5, 2, 3), torch.rand(5, 3, 4)), 5 * 2 * 2 * 3 * 4),
        (lambda: F.linear(torch.rand(5, 2, 3), torch.rand(4, 3)), 10 * 2 * 3 * 4),
        (lambda: (leaf(2, 3) @ leaf(3, 4)).sum().backward(), 3 * 48),
        (lambda: (leaf(2, 3) @ torch.rand(3, 4)).sum().backward(), 2 * 48),
        (lambda: nn.Linear(3, 4)(torch.rand(2, 3)).sum().backward(), 2 * 48),
        (lambda: nn.Conv2d(3, 6, 3, padding=1)(torch.rand(2, 3, 8, 9)), 2 * 2 * 6 * 72 * 3 * 9),
        (lambda: nn.Conv2d(3, 6, 3, padding=1)(leaf(2, 3, 8, 9)).sum().backward(), 3 * 2 * 2 * 6 * 72 * 3 * 9),
        (lambda: nn.Conv1d(4, 8, 3)(torch.rand(4, 8)), 2 * 8 * 6 * 4 * 3),
        (lambda: nn.ConvTranspose2d(4, 8, 3, stride=2)(torch.rand(2, 4, 5, 6)), 2 * 2 * 4 * 30 * 8 * 9),
        (lambda: F.scaled_dot_product_attention(*[torch.rand(2, 3, 5, 8)] * 3), 2 * 6 * 2 * 5 * 5 * 8),
        (lambda: F.scaled_dot_product_attention(*[leaf(2, 3, 5, 8)] * 3).sum().backward(), 3 * 2 * 6 * 2 * 5 * 5 * 8),
        (
            lambda: F.scaled_dot_product_attention(leaf(2, 3, 5, 8), *[torch.rand(2, 3, 5, 8)] * 2).sum().backward(),
            4 * 6 * 2 * 5 * 5 * 8,
        ),
        (lambda: nn.GRU(3, 4)(torch.rand(5, 2, 3)), 10 * 2 * 12 * (3 + 4)),
        (lambda: nn.LSTM(3, 4)(torch.rand(5, 2, 3)), 10 * 2 * 16 * (3 + 4)),
        (lambda: torch.rand(3).exp().sum(), 0),
    ],
)
def test_counts(function, count):
    assert counted(function).get_total_flops() == count


def test_recorded_backward_passes_count_once():
    x, w = torch.rand(2, 3), leaf(3, 4)
    assert counted(lambda: torch.autograd.grad((x @ w).sum(), w, create_graph=True)).get_total_flops() == 2 * 48


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Conv2d(1, 4, 3)
        self.f = nn.Sequential(nn.Linear(144, 8), nn.ReLU(), nn.Linear(8, 3))

    def forward(self, x):
        return self.f(self.c(x).relu().flatten(1))


def test_modules():
    net = Net()
    counts = counted(lambda: net(torch.rand(2, 1, 8, 8)).sum().backward()).get_flop_counts()
    assert counts["Net.c"] == {aten.convolution: 5184, next(k for k in counts["Net.c"] if "backward" in str(k)): 5184}
    assert counts["Net.f"] == {aten.addmm: 4704, aten.mm: 9408}
    assert counts["Net.f.2"] == {aten.addmm: 96, aten.mm: 192}
    assert sum(counts["Net"].values()) == sum(counts["Global"].values()) == 24480


def test_the_table(capsys):
    net = Net()
    with FlopCounterMode() as counter:
        net(torch.rand(200, 1, 8, 8))
    assert capsys.readouterr().out.splitlines()[:6] == [
        "Module                    FLOP    % Total",
        "--------------------  --------  ---------",
        "Net                   988.800K    100.00%",
        " - aten.convolution   518.400K     52.43%",
        " - aten.addmm         470.400K     47.57%",
        " Net.c                518.400K     52.43%",
    ]
    assert "Net.f.0" in counter.get_table(depth=3) and "Net.f.0" not in counter.get_table(depth=2)
    empty = FlopCounterMode(display=False)
    with empty:
        torch.ones(2)
    assert empty.get_total_flops() == 0 and empty.get_table().splitlines()[2].split() == ["Global", "0", "0%"]


def test_formulas_of_ones_own():
    counter = FlopCounterMode(display=False, custom_mapping={aten.relu: lambda x, *args, out_shape=None, **kwargs: 1000 * x[0]})
    with counter:
        torch.relu(torch.ones(3))
        torch.ones(2, 3) @ torch.ones(3, 4)
    assert counter.get_flop_counts()["Global"] == {aten.relu: 3000, aten.mm: 48}

    @torch.library.custom_op("flop_counter_test::twice", mutates_args=())
    def twice(x: torch.Tensor) -> torch.Tensor:
        return 2 * x

    packet = torch.ops.flop_counter_test.twice
    register_flop_formula(packet)(lambda x, out_shape=None, **kwargs: 7 * out_shape[0])
    assert counted(lambda: twice(torch.ones(3))).get_total_flops() == 21
    with pytest.raises(RuntimeError, match="duplicate registrations"):
        register_flop_formula(packet)(lambda x: 0)
    with pytest.raises(ValueError, match="OpOverloadPacket"):
        register_flop_formula("mm")(lambda x: 0)


def test_nothing_counts_outside():
    loss = None
    counter = FlopCounterMode(display=False)
    with counter:
        loss = (leaf(2, 3) @ leaf(3, 4)).sum()
    loss.backward()
    assert counter.get_total_flops() == 48
