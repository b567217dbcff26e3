"""In-place operations on expanded tensors, whose elements share memory."""

from __future__ import annotations

import pytest

import flambeau as torch

ROW, ROWS = torch.tensor([[True, False, True]]), torch.tensor([[True, False, False], [False, False, True]])
FIRST = torch.tensor([0])


@pytest.mark.filterwarnings("ignore:Use of .* on expanded tensors is deprecated")
@pytest.mark.parametrize(
    ("name", "arguments", "row"),
    [
        ("fill_", (7.0,), [7, 7, 7]),
        ("fill_", (torch.tensor(7.0),), [7, 7, 7]),
        ("zero_", (), [0, 0, 0]),
        ("masked_fill_", (ROW, 2.0), [2, 1, 2]),
        ("masked_fill_", (ROWS, 2.0), [2, 1, 2]),
        ("index_fill_", (1, FIRST, 3.0), [3, 1, 1]),
        ("index_fill_", (0, FIRST, 3.0), [3, 3, 3]),
        ("fill_diagonal_", (2.0,), [2, 2, 1]),
        ("index_put_", ((FIRST,), torch.tensor(3.0)), [3, 3, 3]),
        ("triu_", (1,), [0, 0, 1]),
        ("__setitem__", (ROW.expand(2, 3), 5.0), [5, 1, 5]),
        ("__setitem__", ((0, slice(1, None)), 5.0), [1, 5, 5]),
        ("__setitem__", (FIRST, torch.tensor([4.0])), [4, 4, 4]),
    ],
)
def test_fills(name, arguments, row):
    """A filled element is filled wherever it is seen."""
    base = torch.ones(1, 3)
    expanded = base.expand(2, 3)
    getattr(expanded, name)(*arguments)
    assert expanded.tolist() == [row, row] and base.tolist() == [row] and base._version == 1


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("masked_fill_", lambda x: x.masked_fill_(ROW, 2.0)),
        ("masked_fill_", lambda x: x.__setitem__(ROWS, 2.0)),
        ("index_fill_", lambda x: x.index_fill_(0, FIRST, 2.0)),
        ("index_put_", lambda x: x.__setitem__(FIRST, 2.0)),
    ],
)
def test_deprecated_fills(name, write):
    with pytest.warns(UserWarning, match=f"Use of {name} on expanded tensors is deprecated"):
        write(torch.ones(1, 3).expand(2, 3))


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("copy_", (torch.zeros(2, 3),)),
        ("add_", (1,)),
        ("uniform_", ()),
        ("masked_scatter_", (ROW, torch.zeros(6))),
        ("__setitem__", (slice(None), torch.zeros(2, 3))),
    ],
)
def test_results_that_might_differ(name, arguments):
    """Operations that compute a value for each element are refused."""
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor refers to a single memory"):
        getattr(torch.ones(1, 3).expand(2, 3), name)(*arguments)
