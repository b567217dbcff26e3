"""In-place view operations such as `t_` and `squeeze_`: views, bases and gradients."""

from __future__ import annotations

import itertools

import pytest

import flambeau as torch

BECOMING = {
    "unsqueeze_": lambda x: x.unsqueeze_(0),
    "unsqueeze_ at the end": lambda x: x.unsqueeze_(-1),
    "squeeze_": lambda x: x.squeeze_(),
    "t_": lambda x: x.t_(),
    "transpose_": lambda x: x.transpose_(0, 1),
    "swapdims_": lambda x: x.swapdims_(0, 1),
    "as_strided_": lambda x: x.as_strided_((2, 2), (1, 2)),
    "twice": lambda x: x.t_().unsqueeze_(0),
}


def leaf():
    return torch.arange(6.0).reshape(2, 3).requires_grad_()


@pytest.mark.parametrize("how", BECOMING)
def test_views_and_their_base_stay_one_memory(how):
    base = torch.arange(6.0).reshape(2, 3).clone()
    row, flat = base[0], base.view(-1)
    address, become = base.data_ptr(), BECOMING[how]
    assert become(base) is base and base.data_ptr() == address
    assert not base._is_view() and base._base is None and row._is_view() and row._base is base
    assert base._version == row._version == (2 if how == "twice" else 1)
    row.mul_(10)
    assert flat.tolist() == [0, 10, 20, 3, 4, 5] and 10 in base.flatten().tolist()
    base.add_(1)
    assert row.tolist() == [1, 11, 21]


KEEPING_ALL = [each for each in BECOMING if each != "as_strided_"]


@pytest.mark.parametrize(("how", "before", "after"), list(itertools.product(KEEPING_ALL, (False, True), (False, True))))
def test_gradients_of_views_and_their_base(how, before, after):
    """Writes before and after an in-place view operation have the same gradients as without that operation."""

    def written(become):
        x = leaf()
        base = x * 1
        row = base[0]
        if before:
            row.mul_(2)
        become(base)
        if after:
            row.mul_(torch.tensor([3.0, 4.0, 5.0]))
        base.mul_(7)
        shape = base if become is BECOMING[how] else BECOMING[how](base.clone())
        ((shape.flatten() * torch.arange(1.0, 7.0)).sum() + (row * torch.tensor([100.0, 200.0, 300.0])).sum()).backward()
        return x.grad.tolist(), row.tolist()

    assert written(BECOMING[how]) == written(lambda base: base)


def test_a_strided_base():
    x = leaf()
    base = x * 1
    row = base[0]
    base.as_strided_((2, 2), (1, 2))
    row.mul_(2)
    base.sum().backward()
    assert x.grad.tolist() == [[2, 2, 2], [1, 0, 0]]


@pytest.mark.parametrize("how", BECOMING)
def test_views_that_become(how):
    x = leaf()
    base = x * 1
    view = base[:, :2] if how != "as_strided_" else base[:2]
    BECOMING[how](view)
    assert view._is_view() and view._base is base
    view.mul_(3)
    (base.sum() + view.sum()).backward()
    expected = [[6, 6, 1], [6, 6, 1]] if how != "as_strided_" else [[6, 6, 6], [6, 1, 1]]
    assert x.grad.tolist() == expected


@pytest.mark.parametrize("how", BECOMING)
def test_leaves(how):
    x = leaf()
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        BECOMING[how](x)
    with torch.no_grad():
        BECOMING[how](x)
    assert x.is_leaf and x.requires_grad and x._version
    (x * 2).sum().backward()
    assert x.grad.shape == x.shape and (x.grad == 2).all()


def test_what_was_saved_is_known_to_have_changed():
    x = leaf()
    y = x * 1
    z = y * y
    y.as_strided_((2, 2), (1, 2))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_set_():
    x = leaf()
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        x.set_(torch.ones(2))
    y, other = x * 1, torch.arange(4.0)
    y.set_(other)
    assert y.tolist() == other.tolist() and y._version == 1 and not other._version
    other[0] = 5
    assert y[0].item() == 5
    with pytest.raises(RuntimeError, match="derivative for set_ is not implemented"):
        y.sum().backward()


def test_views_of_a_tensor_that_was_set_keep_the_old_memory():
    base = torch.arange(6.0)
    view, other = base[:3], torch.zeros(4)
    base.set_(other)
    view.mul_(2)
    weight = torch.ones(3, requires_grad=True)
    view.mul_(weight)
    assert view.tolist() == [0, 2, 4] and base.tolist() == [0] * 4 and not base.requires_grad
    view.sum().backward()
    assert weight.grad.tolist() == [0, 2, 4]


def test_memory_that_grows_stays_shared():
    base = torch.arange(6.0)
    tail = base[2:]
    base.resize_(8)
    base[2] = 20
    assert tail.tolist() == [20, 3, 4, 5]
    tail.resize_(20)
    tail.fill_(7)
    assert base.tolist() == [0, 1, 7, 7, 7, 7, 7, 7] and tail.data_ptr() == base.data_ptr() + 2 * base.element_size()


PARTS = {
    "tensor_split": lambda x: torch.tensor_split(x, 2),
    "vsplit": lambda x: torch.vsplit(x, 2),
    "unsafe_split": lambda x: torch.unsafe_split(x, 2),
    "unsafe_chunk": lambda x: torch.unsafe_chunk(x, 2),
}


@pytest.mark.parametrize("name", PARTS)
def test_parts_that_may_be_written_to(name: str) -> None:
    leaf = torch.arange(8.0).reshape(4, 2).requires_grad_()
    part = PARTS[name](leaf * 1)[0]
    part.mul_(2)
    part.sum().backward()
    assert leaf.grad is not None and leaf.grad.tolist() == [[2, 2], [2, 2], [0, 0], [0, 0]]


@pytest.mark.parametrize(
    "write",
    [
        lambda x, index: x.index_add_(0, index, x[:3]),
        lambda x, index: x.index_copy_(0, index, x[:3]),
        lambda x, index: x.index_put_((index,), x[0]),
        lambda x, index: x.put_(index, x[:3]),
        lambda x, index: x.scatter_(0, index, x),
        lambda x, index: x[1:].copy_(x[:-1]),
        lambda x, index: index.index_fill_(0, index, 0),
        lambda x, index: index.put_(index, index.clone()),
        lambda x, index: (mask := x > 2)[1:].masked_fill_(mask[:-1], False),
        lambda x, index: x.__setitem__(slice(1, None), x[:-1]),
        lambda x, index: x.__setitem__(index, x[:3]),
        lambda x, index: x.__setitem__(x > 2, x[3:]),
        lambda x, index: x[1:].add_(x[:-1]),
        lambda x, index: x.mul_(x[1]),
        lambda x, index: x[1:].clamp_(x[:-1]),
        lambda x, index: x.view(2, 3).addr_(x[:2], x[:3]),
        lambda x, index: torch._foreach_add_([x[1:]], [x[:-1]]),
    ],
)
def test_in_place_writes_refuse_to_read_the_memory_that_they_change(write):
    x, index = torch.arange(6.0), torch.tensor([2, 1, 0])
    with pytest.raises(RuntimeError, match="unsupported operation"):
        write(x, index)
    assert x.tolist() == [0, 1, 2, 3, 4, 5] and index.tolist() == [2, 1, 0]


def test_in_place_writes_that_may_read_the_written_memory():
    x, index = torch.arange(6.0), torch.tensor([2, 1, 0])
    assert x.copy_(x) is x and x.add_(x).div_(2) is x
    assert x.put_(index, torch.tensor([7.0, 8.0, 9.0])).tolist() == [9, 8, 7, 3, 4, 5]
    assert x[:3].index_add_(0, index, x[3:]).tolist() == [14, 12, 10]
    x = torch.arange(6.0)
    assert x.index_fill_(0, index[:1], x[5]).masked_fill_(x == 0, x[4]).tolist() == [4, 1, 5, 3, 4, 5]
    assert x.masked_scatter_(x > 3, x[1:5]).tolist() == [1, 1, 5, 3, 3, 4]
    x[1:3] += 1
    x[x > 5] = x[0]
    x[:] = x[0]
    assert x.tolist() == [1] * 6
    square = torch.ones(2, 2)
    assert square.addmm_(square, square).tolist() == [[3, 3], [3, 3]]
    assert square[0].addmv_(square, square[1]).tolist() == [21, 21]
    y = torch.zeros(3, requires_grad=True)
    source = torch.ones(2, requires_grad=True)
    y.clone().put_(torch.tensor([0, 0]), source, accumulate=True).sum().backward()
    assert y.grad.tolist() == [1, 1, 1] and source.grad.tolist() == [1, 1]
