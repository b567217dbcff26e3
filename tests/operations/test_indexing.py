"""`x[index]` and `x[index] = value`, compared with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flambeau as torch

SHAPE = (3, 4, 2)


@st.composite
def indices(draw: Any) -> tuple[Any, ...]:
    """Draw an index of a (3, 4, 2) tensor that mixes integers, slices, None, ellipsis, integer and boolean arrays."""
    items: list[Any] = []
    used, ellipsis = 0, False
    length = draw(st.integers(0, 3))
    common = draw(st.sampled_from([(2,), (2, 2), (1,)]))
    while used < length:
        size = SHAPE[used]
        kind = draw(st.sampled_from(["int", "slice", "none", "array", "mask", "all"]))
        if kind == "none":
            items.append(None)
            continue
        if kind == "int":
            items.append(draw(st.integers(-size, size - 1)))
        elif kind == "slice":
            bound = st.one_of(st.none(), st.integers(-size - 1, size + 1))
            items.append(slice(draw(bound), draw(bound), draw(st.sampled_from([None, 1, 2]))))
        elif kind == "array":
            items.append(
                np.array(
                    draw(st.lists(st.integers(-size, size - 1), min_size=int(np.prod(common)), max_size=int(np.prod(common))))
                ).reshape(common)
            )
        elif kind == "mask" and not any(isinstance(item, np.ndarray) for item in items):
            items.append(np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size))))
            common = (int(items[-1].sum()),)
        else:
            items.append(slice(None))
        used += 1
    if not ellipsis and draw(st.booleans()):
        items.append(Ellipsis)
    return tuple(items)


def as_tensors(index: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(torch.tensor(item) if isinstance(item, np.ndarray) else item for item in index)


def integers_first(array: np.ndarray, index: tuple[Any, ...]) -> tuple[np.ndarray, tuple[Any, ...]]:
    """Apply an index's integers, which NumPy would treat as arrays next to arrays. Return the view and the remaining index."""
    first = tuple(item if isinstance(item, int) or item is ... else slice(None) for item in index if item is not None)
    dots = () if any(item is ... for item in index) else (...,)
    return array[first + dots], tuple(item for item in index if not isinstance(item, int))


@settings(max_examples=200, deadline=None)
@given(indices())
def test_reading(index: tuple[Any, ...]) -> None:
    array = np.arange(24.0).reshape(SHAPE)
    try:
        view, rest = integers_first(array, index)
        expected = view[rest]
    except IndexError:
        with pytest.raises(IndexError):
            torch.tensor(array)[as_tensors(index)]
        return
    found = torch.tensor(array)[as_tensors(index)]
    assert np.array_equal(found.numpy(), expected) and found.shape == expected.shape


@settings(max_examples=200, deadline=None)
@given(indices())
def test_writing(index: tuple[Any, ...]) -> None:
    array = np.zeros(SHAPE)
    try:
        view, rest = integers_first(array, index)
        value = np.arange(1.0, 1 + view[rest].size).reshape(view[rest].shape)
    except IndexError:
        return
    x = torch.tensor(array)
    view[rest] = value
    x[as_tensors(index)] = torch.tensor(value)
    # with integer arrays, the order of writes to repeated indices is undefined
    if not any(isinstance(item, np.ndarray) and item.dtype != bool for item in index):
        assert np.array_equal(x.numpy(), array)
    y = torch.zeros(SHAPE)
    y[as_tensors(index)] = 5
    assert np.array_equal(y.numpy() != 0, array != 0)


@settings(max_examples=100, deadline=None)
@given(indices())
def test_gradient(index: tuple[Any, ...]) -> None:
    """The gradient of each element is the number of times it is indexed."""
    array = np.arange(24.0).reshape(SHAPE)
    try:
        array[index]
    except IndexError:
        return
    x = torch.tensor(array, requires_grad=True)
    x[as_tensors(index)].sum().backward()
    expected = np.zeros(SHAPE)
    np.add.at(expected, index, 1.0)
    assert np.array_equal(x.grad.numpy(), expected)


def test_basic_indices_give_views() -> None:
    x = torch.zeros(3, 4)
    for part in (x[1], x[:, 1:3], x[None], x[..., 0], x[1:, ::2]):
        part.fill_(part[(0,) * part.ndim].item() + 1)
    assert x.sum().item() > 0 and x[1]._base is x
    assert x[torch.tensor([0])]._base is None


def test_byte_masks_and_lists() -> None:
    x = torch.arange(4)
    assert x[torch.ByteTensor([1, 0, 0, 1])].tolist() == [0, 3]
    assert x[[0, 2]].tolist() == [0, 2] and x[[True, False, True, False]].tolist() == [0, 2]
    assert x[torch.tensor(2)].item() == 2 and x[x > 1].tolist() == [2, 3]
    assert x[True].shape == (1, 4) and x[False].shape == (0, 4)
    x[x > 1] = 0
    assert x.tolist() == [0, 1, 0, 0]


@pytest.mark.filterwarnings("ignore:Using a non-tuple sequence")
def test_a_list_of_indices_stands_for_a_tuple() -> None:
    x = torch.arange(9.0).reshape(3, 3)
    assert x[[[0, 1], [1, 2]]].tolist() == x[[0, 1], [1, 2]].tolist() == [1.0, 5.0]
    assert x[[0, slice(1, None)]].tolist() == [1.0, 2.0] and x[[..., 0]].tolist() == [0.0, 3.0, 6.0]
    assert x[[0, 1]].shape == (2, 3)
    x[[[0, 1], [1, 2]]] = 0
    assert x.sum() == 30


def test_assignment_is_recorded() -> None:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    x = torch.zeros(2, 3)
    x[:, 1] = w * 3
    x[0, 0] = w[1]
    x[x == 0] += w.sum()
    x.sum().backward()
    assert w.grad.tolist() == [3.0 + 3.0, 3.0 + 1.0 + 3.0]


@pytest.mark.parametrize(
    ("index", "value", "message"),
    [((slice(None), 0), torch.ones(4), "shape mismatch: value tensor of shape"), (5, 1.0, "index 5 is out of bounds"),
     (torch.tensor([7]), 1.0, "out of bounds"), (torch.tensor([True, False]), 1.0, r"The shape of the mask \[2\]")],
)  # fmt: skip
def test_bad_assignment(index: Any, value: Any, message: str) -> None:
    with pytest.raises((RuntimeError, IndexError), match=message):
        torch.zeros(3, 3)[index] = value


# --- index: at some dimensions ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("positions", "dims", "item"), [
    (1, 2, np.s_[:, 2]), (-1, 0, np.s_[..., 0]), ((0, 2), (1, 3), np.s_[1, :, 3]), ([2, 0], [1, 0], np.s_[0, :, 1]),
    (0, slice(0, 1), np.s_[:1]), (1, [0, 2], np.s_[:, [0, 2]]), (0, (1,), np.s_[[1]]), (1, None, np.s_[:, None]), ((), (), np.s_[:]),
])  # fmt: skip
def test_index_at_dimensions(positions: object, dims: object, item: object) -> None:
    x = np.arange(24).reshape(2, 3, 4)
    result = torch.from_numpy(x).index(positions, dims)
    assert np.array_equal(result.numpy(), x[item]) and result.shape == x[item].shape


def test_index_of_dimensions_taken_together() -> None:
    x = torch.arange(24.0).reshape(2, 3, 4).requires_grad_()
    assert torch.equal(x.index(((0, 1),), (5,)), x[1, 2]) and torch.equal(x.index((0, 1), 1), x[0, 1])
    result = x.index(((0, 2), 1), (torch.tensor([7, 2]), slice(1, 3)))
    assert torch.equal(result, x.permute(0, 2, 1).reshape(8, 3)[torch.tensor([7, 2]), 1:3])
    result.sum().backward()
    assert x.grad is not None and x.grad.nonzero().tolist() == [[0, 1, 2], [0, 2, 2], [1, 1, 3], [1, 2, 3]]


def test_index_of_what_is_not_there() -> None:
    x = torch.zeros(2, 3)
    for positions, dims, error in ((2, 0, IndexError), (0, 2, IndexError), ("a", 0, TypeError), ((0, 1), (0,), TypeError)):
        with pytest.raises(error):
            x.index(positions, dims)


def test_ranges_are_indices():
    x = torch.arange(6.0).reshape(3, 2)
    assert x[range(3), torch.tensor([0, 1, 0])].tolist() == [0, 3, 4]
    assert x[range(2)].equal(x[[0, 1]]) and x[:, range(1, 2)].equal(x[:, [1]]) and x[[range(2)]].equal(x[[0, 1]])
    x[range(3), [0, 1, 0]] = -1
    assert x.tolist() == [[-1, 1], [2, -1], [-1, 5]]


def test_an_ellipsis_for_nothing_stands_between_no_indices():
    x, places = torch.arange(24.0).reshape(2, 3, 4), [0, 1, 1]
    assert x[:, places, ..., places].equal(x[:, places, places]) and x[[0, 1], ..., [1, 2]].shape == (2, 3)
    x[:, places, ..., places] = torch.arange(6.0).reshape(2, 3)
    assert x[:, 1, 1].tolist() == [2, 5] and x[:, 0, 0].tolist() == [0, 3]
    assert torch.tensor(3)[...].item() == 3 and x[0, 1, 2, ...].shape == ()


def test_parts_of_expanded_tensors_can_be_written_to():
    """Parts of an expanded tensor whose elements do not overlap can be written to in place. Filling with zeros always works."""
    for write in (
        lambda x: x[0].add_(1),
        lambda x: x[1].fill_(2),
        lambda x: x.__setitem__(0, 2.0),
        lambda x: x[0].copy_(torch.full((3,), 2.0)),
        lambda x: x[:, 0:2][0].mul_(2),
        lambda x: x.__setitem__((0, slice(2)), 2.0),
    ):
        x = torch.ones(3).expand(2, 3)
        write(x)
        assert x[0].tolist() == x[1].tolist() and x[0, :2].tolist() == [2, 2]
    x = torch.ones(3).expand(2, 3)
    x.zero_()
    assert not x.any()
    for write in (lambda x: x.add_(1), lambda x: x.__setitem__(slice(None), 3.0), lambda x: x[:, 1].mul_(2)):
        with pytest.raises(RuntimeError, match="single memory location"):
            write(torch.ones(3).expand(2, 3))


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("count", [3, 40])
def test_gradients_by_positions_along_a_dimension_add_up(dim, count):
    rng = np.random.default_rng(dim)
    x = torch.from_numpy(rng.standard_normal((6, 7, 8))).requires_grad_()
    places = rng.integers(-5, 5, (count, 2))
    index = (slice(None),) * dim + (torch.from_numpy(places),)
    slopes = rng.standard_normal(x[index].shape)
    x[index].backward(torch.from_numpy(slopes))
    wanted = np.zeros(x.shape)
    np.add.at(wanted, (slice(None),) * dim + (places,), slopes)
    np.testing.assert_allclose(x.grad.numpy(), wanted, 1e-12, 1e-12)


PUTS = {  # name -> (indices, with None for each whole dimension; shape of the values)
    "second": (lambda i, m: [None, i], (3, 3, 5)),
    "last": (lambda i, m: [None, None, i], (3, 4, 3)),
    "apart": (lambda i, m: [i, None, i], (3, 4)),
    "together": (lambda i, m: [None, i, i], (3, 3)),
    "broadcast": (lambda i, m: [None, i[:2, None], i], (3, 2, 3)),
    "mask": (lambda i, m: [None, m], (3, 10)),
}


@pytest.mark.parametrize("name", PUTS)
@pytest.mark.parametrize("accumulate", [True, False])
def test_index_put_with_none(name, accumulate):
    """The operator `index_put` accepts None for a whole dimension. With `accumulate`, it adds the values of repeated indices."""
    make, shape = PUTS[name]
    i, mask = (
        torch.tensor([0, 0, 2]),
        torch.tensor([[True, False, True, True, False], [False] * 5, [True] * 5, [True, True, False, False, False]]),
    )
    indices = make(i, mask)
    values = torch.arange(1.0, 1 + np.prod(shape)).view(shape)
    result = torch.ops.aten.index_put(torch.zeros(3, 4, 5), indices, values, accumulate)
    expected = np.zeros((3, 4, 5), np.float32)
    key = tuple(slice(None) if each is None else each.numpy() for each in indices)
    if accumulate:
        np.add.at(expected, key, values.numpy())
    else:
        expected[key] = values.numpy()
    np.testing.assert_array_equal(result.numpy(), expected)


@pytest.mark.parametrize("accumulate", [False, True])
def test_index_put_warns_once_of_a_byte_mask(accumulate):
    with pytest.warns(UserWarning, match="torch.uint8 is now deprecated") as caught:
        torch.zeros(2).index_put_((torch.tensor([1, 0], dtype=torch.uint8),), torch.ones(1), accumulate=accumulate)
    assert len(caught) == 1


def test_assignment_to_everything_drops_leading_ones():
    x = torch.zeros(2)
    x[()] = torch.ones(1, 2)
    assert x.tolist() == [1, 1]


@pytest.mark.parametrize("index", [torch.tensor([0]), [0, 1], (0, torch.tensor([0])), torch.tensor([True, False, True])])
def test_values_of_another_dtype_at_indices(index):
    """Values for index tensors must have the tensor's dtype, except one value for a mask; numbers are converted."""
    x = torch.zeros(3, 3)
    with pytest.raises(RuntimeError, match="Index put requires the source and destination dtypes match, got Float for the dest"):
        x[index] = torch.ones(x[index].shape, dtype=torch.float64)
    x[index] = 2
    x[torch.tensor([True, False, False])] = torch.ones(1, dtype=torch.float64)
    assert x.dtype is torch.float32 and x[0].tolist() == [1, 1, 1]


def test_refused_indices_and_values():
    with pytest.raises(RuntimeError, match="self indexing axis dim should be positive"):
        torch.ones(0, 3).index_select(0, torch.tensor([0]))
    with pytest.raises(RuntimeError, match="INDICES element is out of DATA bounds, id=5 axis_dim=3"):
        torch.ones(3, 0).index_select(0, torch.tensor([5]))
    with pytest.raises(RuntimeError, match="Converting complex Scalar to non-complex type"):
        torch.zeros(2, 2, dtype=torch.bool).index_fill_(1, torch.tensor([0]), 1 + 1j)


def test_refused_arguments():
    nested = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
    for first, second in ((nested, torch.ones(2)), (torch.ones(2), nested)):
        with pytest.raises(RuntimeError, match="Expected both self and other to be nested tensors"):
            first.is_same_size(second)
    assert not torch.tensor([]).is_set_to(torch.tensor([]))
    with pytest.raises(TypeError, match="must be real number, not str"):
        torch.zeros(2).apply_(lambda value: "text")
    for options in ({"mode": 1}, {"mode": True, "warn_only": 1}):
        with pytest.raises(TypeError, match="must be bool, not int"):
            torch.use_deterministic_algorithms(**options)
    with pytest.raises(TypeError, match="type 'torch.FloatTensor' is not an acceptable base type"):
        type(torch.FloatTensor)("Derived", (torch.FloatTensor,), {})


@pytest.mark.parametrize("convert", [list, np.array])
def test_floats_in_a_list_or_array_are_truncated(convert: Any) -> None:
    x = torch.arange(12.0).reshape(6, 2)
    assert x[convert([0.1, 1.9, -1.5])].tolist() == [[0.0, 1.0], [2.0, 3.0], [10.0, 11.0]]
    assert x[convert([0.1, 1.9]), 1].tolist() == [1.0, 3.0]
    x[convert([0.9])] = -1
    assert x[0].tolist() == [-1.0, -1.0]
    with pytest.raises(IndexError, match="tensors used as indices"):
        x[torch.tensor([0.1])]
