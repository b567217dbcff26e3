"""`FlopCounterMode` counts the same in flambeau and PyTorch."""

from __future__ import annotations

import importlib

import pytest

theirs = pytest.importorskip("torch")

import flambeau as ours  # noqa: E402


def leaf(torch, *shape):
    return torch.rand(*shape, requires_grad=True)


CASES = {
    "mm": lambda torch: (leaf(torch, 2, 3) @ leaf(torch, 3, 4)).sum().backward(),
    "bmm": lambda torch: (leaf(torch, 5, 2, 3) @ leaf(torch, 5, 3, 4)).sum().backward(),
    "folded": lambda torch: (leaf(torch, 5, 2, 3) @ leaf(torch, 3, 4)).sum().backward(),
    "mlp": lambda torch: (
        torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))(torch.rand(7, 3)).sum().backward()
    ),
    "conv": lambda torch: torch.nn.Conv2d(3, 6, 3, padding=1, stride=2)(leaf(torch, 2, 3, 8, 9)).sum().backward(),
    "first conv": lambda torch: torch.nn.Conv2d(3, 6, 3)(torch.rand(2, 3, 8, 9)).sum().backward(),
    "groups": lambda torch: torch.nn.Conv2d(4, 8, 3, groups=2)(leaf(torch, 2, 4, 8, 9)).sum().backward(),
    "conv1d": lambda torch: torch.nn.Conv1d(4, 8, 3)(leaf(torch, 4, 8)).sum().backward(),
    "conv3d": lambda torch: torch.nn.Conv3d(2, 3, 3)(leaf(torch, 2, 2, 5, 5, 5)).sum().backward(),
    "transposed": lambda torch: torch.nn.ConvTranspose2d(4, 8, 3, stride=2, groups=2)(leaf(torch, 2, 4, 5, 6)).sum().backward(),
    "attention": lambda torch: torch.nn.MultiheadAttention(8, 2)(*[leaf(torch, 2, 5, 8)] * 3)[0].sum().backward(),
    "dropped attention": lambda torch: (
        torch.nn.functional.scaled_dot_product_attention(*[leaf(torch, 2, 3, 5, 8) for _ in range(3)], dropout_p=0.5)
        .sum()
        .backward()
    ),
    "gru": lambda torch: torch.nn.GRU(3, 4, num_layers=2, bidirectional=True)(leaf(torch, 5, 2, 3))[0].sum().backward(),
    "rnn": lambda torch: torch.nn.RNN(3, 4)(torch.rand(5, 2, 3))[0].sum().backward(),
}


@pytest.mark.parametrize("case", CASES)
def test_counts(case):
    totals = []
    for torch in (theirs, ours):
        counter = importlib.import_module(f"{torch.__name__}.utils.flop_counter").FlopCounterMode(display=False)
        with counter:
            CASES[case](torch)
        totals.append({module: sum(counts.values()) for module, counts in counter.get_flop_counts().items()})
    assert totals[0] == totals[1]
