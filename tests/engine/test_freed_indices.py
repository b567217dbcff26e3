"""A backward frees the indices of a call, like its saved tensors."""

from __future__ import annotations

import pytest

import flambeau as torch

TWICE = "Trying to backward through the graph a second time"
INDEX = [0, 2]
FREED = {
    "index": lambda x: x[torch.tensor(INDEX)],
    "mask": lambda x: x[x > 0],
    "index_select": lambda x: x.index_select(0, torch.tensor(INDEX)),
    "take": lambda x: x.take(torch.tensor(INDEX)),
    "masked_select": lambda x: x.masked_select(x > 0),
    "index_put": lambda x: x.index_put((torch.tensor(INDEX),), torch.zeros(2)),
    "index_copy": lambda x: x.index_copy(0, torch.tensor(INDEX), torch.zeros(2)),
    "index_fill": lambda x: x.index_fill(0, torch.tensor(INDEX), 1.0),
    "repeat_interleave": lambda x: x.repeat_interleave(torch.tensor([1, 0, 2])),
    "values added by index": lambda x: torch.zeros(3).index_add(0, torch.tensor([0, 1, 2]), x),
    "assigned slice": lambda x: _written(lambda y: y.__setitem__(slice(1, 3), x[:2])),
    "assigned index": lambda x: _written(lambda y: y.__setitem__(torch.tensor(INDEX), x[:2])),
    "write to a view": lambda x: _written(lambda y: y[1:].add_(x[1:])),
}
KEPT = {
    "slice": lambda x: x[1:],
    "number": lambda x: x[1],
    "select_scatter": lambda x: x.select_scatter(torch.tensor(0.0), 0, 0),
    "slice_scatter": lambda x: x.slice_scatter(torch.zeros(1), 0, 0, 1),
    "index_add": lambda x: x.index_add(0, torch.tensor(INDEX), torch.ones(2)),
}


def _written(write):
    y = torch.zeros(3)
    write(y)
    return y


@pytest.mark.parametrize("name", FREED)
def test_a_backward_frees_the_indices(name):
    y = FREED[name](torch.tensor([1.0, 2.0, 3.0], requires_grad=True)).sum()
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(RuntimeError, match=TWICE):
        y.backward()


@pytest.mark.parametrize("name", KEPT)
def test_calls_without_saved_values_can_be_differentiated_again(name):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = KEPT[name](x).sum()
    y.backward()
    first = x.grad.clone()
    y.backward()
    assert x.grad.tolist() == (2 * first).tolist()
