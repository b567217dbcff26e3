"""Random indices in flambeau and PyTorch: values, strides, writes and gradients."""

from __future__ import annotations

import math
import random
import warnings

import numpy as np
import pytest

theirs = pytest.importorskip("torch")

import flambeau as ours  # noqa: E402


def random_item(rng, left):
    """Return a function that makes a random index item for a library, and the number of dimensions of `left` that it indexes."""
    size = left[0]
    kind = rng.choice(["int", "slice", "slice", "whole", "none", "list", "tensor", "tensor", "mask", "bool"])
    places = [rng.randrange(-size, size) for _ in range(6)] if size else []
    if kind == "int" and size:
        return lambda torch: places[0], 1
    if kind == "slice":
        bounds = [rng.choice([None, *range(-size - 1, size + 2)]) for _ in range(2)]
        step = rng.choice([None, 1, 2])
        return lambda torch: slice(*bounds, step), 1
    if kind == "none":
        return lambda torch: None, 0
    if kind == "list":
        count = rng.randrange(1, 4)
        return lambda torch: places[:count], 1
    if kind == "tensor":
        shape = rng.choice([(), (2,), (1,), (2, 3), (2, 1)]) if size else (0,)
        dtype = rng.choice(["int64", "int32"])
        return lambda torch: torch.tensor(places[: math.prod(shape)], dtype=getattr(torch, dtype)).reshape(shape), 1
    if kind == "mask":
        ndim = rng.randrange(1, len(left) + 1)
        mask = np.random.default_rng(rng.randrange(1000)).random(left[:ndim]) > 0.5
        return lambda torch: torch.tensor(mask), ndim
    if kind == "bool":
        value = rng.random() < 0.7
        return lambda torch: value, 0
    return lambda torch: slice(None), 1


def random_index(rng, shape):
    items, left, dots = [], list(shape), False
    for _ in range(rng.randrange(1, 5)):
        if not dots and rng.random() < 0.15:
            items, dots, left = [*items, lambda torch: ...], True, left[rng.randrange(len(left) + 1) :]
        elif left:
            item, used = random_item(rng, left)
            items, left = [*items, item], left[used:]
    return items or [lambda torch: ...]


def layout(view):
    return [step for step, length in zip(view.stride(), view.shape, strict=True) if length > 1], view.storage_offset()


def read(torch, data, index):
    x = torch.tensor(data, requires_grad=True)
    y = x[index]
    shared = bool(y.numel()) and y.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    weights = torch.arange(y.numel(), dtype=torch.float64).reshape(y.shape)
    (gradient,) = torch.autograd.grad((y * weights).sum(), x)
    return tuple(y.shape), y.tolist(), y.numel() and layout(y), shared, gradient.tolist()


def write(torch, data, index, value):
    x, value = torch.tensor(data, requires_grad=True), torch.tensor(value, requires_grad=True)
    y = x * 1
    y[index] = value
    gradients = torch.autograd.grad((y * torch.tensor(np.cos(data))).sum(), [x, value], allow_unused=True)
    return y.tolist(), [None if each is None or not each.numel() else np.round(each.numpy(), 9).tolist() for each in gradients]


def outcome(function, torch, data, items, *rest):
    index = tuple(each(torch) for each in items)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(torch, data, index, *rest)
    except Exception as error:
        return type(error)


@pytest.mark.parametrize("seed", range(60))
def test_random_indices(seed):
    rng = random.Random(seed)
    for _ in range(5):
        shape = tuple(rng.choice([0, 1, 2, 3, 4, 4]) for _ in range(rng.randrange(4)))
        data = np.random.default_rng(seed).standard_normal(shape)
        items = random_index(rng, shape)
        shown = [each(theirs) for each in items]
        wanted = outcome(read, theirs, data, items)
        assert outcome(read, ours, data, items) == wanted, (shape, shown)
        if isinstance(wanted, type):
            continue
        place = [1 if rng.random() < 0.3 else length for length in wanted[0]]
        value = np.random.default_rng(seed).random(place[rng.randrange(len(place) + 1) :] if place[:1] == [1] else place)
        if value.shape and 0 not in wanted[0] and not has_duplicates(items, shape):
            assert outcome(write, ours, data, items, value) == outcome(write, theirs, data, items, value), (
                shape,
                shown,
                value.shape,
            )


def has_duplicates(items, shape):
    """Whether an index selects an element twice. The result of writes is then undefined."""
    places = theirs.arange(math.prod(shape)).reshape(shape)[tuple(each(theirs) for each in items)].reshape(-1)
    return len(places.unique()) < len(places)


def test_an_integer_shows_the_memory_of_a_vector():
    for torch in (ours, theirs):
        x = torch.arange(4.0)
        x[2].fill_(9)
        x.select(0, -1).mul_(2)
        assert x.tolist() == [0, 1, 9, 6]
        assert x[2].storage_offset() == 2


@pytest.mark.parametrize("index", [[], [0, 0], [True, False], [True], True, False])
def test_tensors_as_indices_of_a_number(index):
    def run(torch):
        try:
            return torch.tensor(1.5)[torch.tensor(index, dtype=torch.bool if index == [] else None)].tolist()
        except IndexError as error:
            return str(error)

    assert run(ours) == run(theirs)


OUT_OF_BOUNDS = {
    "index": lambda torch, x, at: x[at],
    "index_put": lambda torch, x, at: x.index_put((at,), torch.ones(1)),
    "index_add": lambda torch, x, at: x.index_add(0, at, torch.ones(1)),
    "index_copy": lambda torch, x, at: x.index_copy(0, at, torch.ones(1)),
    "index_fill": lambda torch, x, at: x.index_fill(0, at, 1),
    "take": lambda torch, x, at: x.take(at),
    "put": lambda torch, x, at: x.put(at, torch.ones(1)),
    "gather": lambda torch, x, at: x.gather(0, at),
    "scatter": lambda torch, x, at: x.scatter(0, at, 1.0),
    "scatter_add": lambda torch, x, at: x.scatter_add(0, at, torch.ones(1)),
    "take_along_dim": lambda torch, x, at: torch.take_along_dim(x, at, 0),
}


@pytest.mark.parametrize("name", OUT_OF_BOUNDS)
@pytest.mark.parametrize("place", [-4, -1, 3])
def test_bounds(name, place):
    """Compare negative indices and the exceptions for indices out of range."""

    def run(torch):
        try:
            return OUT_OF_BOUNDS[name](torch, torch.arange(3.0), torch.tensor([place])).tolist()
        except (IndexError, RuntimeError) as error:
            return type(error)

    assert run(ours) == run(theirs)
