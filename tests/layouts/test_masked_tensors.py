"""`torch.masked.MaskedTensor`: masks of results, gradients, views, and errors."""

from __future__ import annotations

import pytest

import flambeau as torch
from flambeau.masked import MaskedTensor, as_masked_tensor, masked_tensor

nan = float("nan")
DATA = torch.arange(6.0).reshape(2, 3)
MASK = torch.tensor([[True, False, True], [False, False, True]])


def table():
    return masked_tensor(DATA, MASK)


def assert_masked(found, data, mask):
    """Check the mask, and the data where the mask is True."""
    assert isinstance(found, MaskedTensor)
    assert found.get_mask().tolist() == mask
    torch.testing.assert_close(found.to_tensor(-1.0).float(), torch.tensor(data).float())


def test_elementwise_functions_keep_the_mask():
    assert_masked(table() * 2 + table(), [[0, -1, 6], [-1, -1, 15]], MASK.tolist())
    assert_masked(2 / (table() + 1), [[2, -1, 2 / 3], [-1, -1, 1 / 3]], MASK.tolist())
    assert_masked(table().clone().mul_(3), [[0, -1, 6], [-1, -1, 15]], MASK.tolist())
    with pytest.raises(ValueError, match="Input masks must match"):
        table() + masked_tensor(DATA, ~MASK)


@pytest.mark.parametrize(
    "arrange",
    [
        lambda t: t[1],
        lambda t: t[:, 1:],
        lambda t: t[0, 2],
        lambda t: t[MASK],
        lambda t: t.reshape(3, 2),
        lambda t: t.flatten(),
        lambda t: t.t(),
        lambda t: t.unsqueeze(0).expand(2, 2, 3),
        lambda t: torch.cat([t, t]),
        lambda t: torch.stack([t, t]),
        lambda t: t.chunk(2, 1)[1],
        lambda t: t.clone(),
    ],
)
def test_elements_move_with_their_mask(arrange):
    found = arrange(table())
    assert torch.equal(found.get_data(), arrange(DATA)) and torch.equal(found.get_mask(), arrange(MASK))


def test_reductions_ignore_masked_elements():
    assert_masked(table().sum(1), [2, 5], [True, True])
    assert_masked(table().mean(0), [0, -1, 3.5], [True, False, True])
    assert_masked(table().amax(), 5, True)
    assert_masked(table().bool().all(0), [0, 1, 1], [True, False, True])
    assert_masked(torch.masked.norm(table(), 2, 1), [2, 5], [True, True])  # the first number is not a dimension
    assert_masked(torch.masked.norm(table(), 1.0, 0, keepdim=True), [[0, -1, 7]], [[True, False, True]])
    assert_masked(torch.masked.median(table()), [0, 5], [True, True])  # `dim` is -1 by default
    assert table().sum().item() == 7 and bool(table().prod() == 0)


def test_where_chooses_data_and_mask():
    found = torch.where(DATA > 2, table(), masked_tensor(DATA * 10, ~MASK))
    assert_masked(found, [[-1, 10, -1], [-1, -1, 5]], [[False, True, False], [False, False, True]])


def test_masked_elements_do_not_spoil_gradients():
    x = torch.ones(2, requires_grad=True)
    divisor = torch.tensor([0.0, 2.0])
    as_masked_tensor(x / divisor, divisor != 0).sum().backward()
    assert_masked(x.grad, [-1, 0.5], [False, True])


def test_gradients_of_leaves_are_masked():
    leaf = masked_tensor(torch.tensor([4.0, 5, 6]), torch.tensor([True, False, True]), requires_grad=True)
    (leaf * leaf).sum().backward()
    assert_masked(leaf.grad, [8, -1, 12], [True, False, True])
    x = torch.tensor([-10.0, -5, 0, 5, 100], requires_grad=True)
    small = x < 0
    exponent, ones = masked_tensor(x, small, requires_grad=True), masked_tensor(torch.ones(5), ~small, requires_grad=True)
    torch.where(small, exponent.exp(), ones).sum().backward()
    assert_masked(exponent.grad, [*x[:2].exp().tolist(), -1, -1, -1], small.tolist())


@pytest.mark.parametrize("layout", ["to_sparse_coo", "to_sparse_csr"])
def test_sparse_masked_tensors(layout):
    data = torch.tensor([[0, 0, 3.0], [4, 0, 5]])
    specified = getattr(data, layout)()
    mask = getattr(data != 0, layout)()
    mask.values()[1] = False
    tensor = masked_tensor(specified, mask)
    assert tensor.layout is specified.layout and tensor.is_sparse is specified.is_sparse
    assert repr(tensor) == "MaskedTensor(\n  [\n    [      --,       --,   3.0000],\n    [      --,       --,   5.0000]\n  ]\n)"
    assert_masked((tensor * tensor).to_dense(), [[-1, -1, 9], [-1, -1, 25]], [[False, False, True]] * 2)
    assert_masked(tensor.sum(), 8, True)


def test_errors_and_text():
    with pytest.raises(TypeError, match="mask must have dtype bool"):
        masked_tensor(DATA, MASK.float())
    with pytest.raises(ValueError, match=r"data.dim\(\) must equal mask.dim\(\)"):
        masked_tensor(DATA, MASK[0])
    with pytest.raises(TypeError):
        torch.mm(table(), table().t())
    with pytest.raises(RuntimeError, match=".tolist"):
        table().tolist()
    assert repr(table() > 1) == "MaskedTensor(\n  [\n    [False,       --, True],\n    [      --,       --, True]\n  ]\n)"
