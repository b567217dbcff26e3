"""Writes at some indices change the tensor's own memory: their cost does not depend on its size."""

from __future__ import annotations

import contextlib
import tracemalloc

import pytest

import flambeau as torch

ROWS = 1 << 17
WRITES = {
    "index_copy": lambda x, i, v: x.index_copy_(0, i, v),
    "index_add": lambda x, i, v: x.index_add_(0, i, v, alpha=2),
    "index_fill": lambda x, i, v: x.index_fill_(0, i, 3.0),
    "index_put": lambda x, i, v: x.index_put_((i,), v),
    "index_put, accumulate": lambda x, i, v: x.index_put_((i,), v, accumulate=True),
    "scatter": lambda x, i, v: x.scatter_(0, i[:, None].expand(3, 8), v),
    "scatter of a number": lambda x, i, v: x.scatter_(0, i[:, None].expand(3, 8), 3.0),
    "scatter_add": lambda x, i, v: x.scatter_add_(0, i[:, None].expand(3, 8), v),
    "put": lambda x, i, v: x.put_(i - x.numel(), v[:, 0]),
    "put, accumulate": lambda x, i, v: x.put_(i, v[:, 0], accumulate=True),
    **{
        f"scatter_reduce, {reduce}, {include_self}": lambda x, i, v, reduce=reduce, include_self=include_self: x.scatter_reduce_(
            0, i[:, None].expand(3, 8), v, reduce, include_self=include_self
        )
        for reduce in ("sum", "mean", "prod", "amax", "amin")
        for include_self in (True, False)
    },
    **{
        f"index_reduce, {reduce}": lambda x, i, v, reduce=reduce: x.index_reduce_(0, i, v, reduce)
        for reduce in ("mean", "prod", "amax", "amin")
    },
}


@pytest.fixture(params=list(WRITES))
def write(request):
    return WRITES[request.param]


def operands(rows: int, *, requires_grad: bool = False, dtype: torch.dtype = torch.float32):
    torch.manual_seed(0)
    x, v = torch.randn(rows, 8).to(dtype), torch.randn(3, 8).to(dtype)
    return x.requires_grad_(requires_grad), torch.tensor([5, 3, 5]), v.requires_grad_(requires_grad)


@pytest.mark.filterwarnings("ignore:index_reduce")
@pytest.mark.parametrize(
    ("name", "requires_grad"),
    # the gradients of the reductions need the elements that are overwritten
    [(name, False) for name in WRITES] + [(name, True) for name in WRITES if "reduce" not in name],
)
def test_memory_is_independent_of_the_size(name, requires_grad):
    if torch.get_default_device().type != "cpu":
        pytest.skip("tracemalloc sees only memory of the CPU")
    write = WRITES[name]
    write(*operands(9))  # the first call imports and compiles
    x, i, v = operands(ROWS)
    v.requires_grad_(requires_grad)
    tracemalloc.start()
    write(x, i, v)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < x.nbytes / 10


@pytest.mark.filterwarnings("ignore:index_reduce")
@pytest.mark.parametrize("layout", ["contiguous", "transposed", "a slice", "float16", "a view"])
def test_values_and_gradients_equal_those_of_a_copy(write, layout):
    """Hooks for saved tensors receive no memory that will be overwritten, so with them, the method writes to a copy."""

    def run(copies: bool):
        x, i, v = operands(9, requires_grad=True, dtype=torch.float16 if layout == "float16" else torch.float64)
        y = x * 2
        if layout == "transposed":
            y = (x.T * 2).contiguous().T
        elif layout == "a slice":
            y = torch.cat([x * 2, x], 1)[:, :8]
        elif layout == "a view":
            y = (x * 2).view(3, 3, 8).view(9, 8)
        version = y._version
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t) if copies else contextlib.nullcontext():
            write(y, i, v)
        assert y._version > version
        (y * torch.arange(72).view(9, 8)).sum().backward()
        return y.detach(), x.grad, v.grad

    for found, expected in zip(run(False), run(True), strict=True):
        torch.testing.assert_close(found, expected)


def test_masked_scatter_returns_contiguous_memory():
    assert torch.zeros(2, 3).t().masked_scatter(torch.ones(3, 2).bool(), torch.ones(6)).stride() == (2, 1)


def test_a_write_that_fails_changes_nothing():
    x = torch.zeros(4, 2)
    for write in (
        lambda: x.index_copy_(0, torch.tensor([0, 4]), torch.ones(2, 2)),
        lambda: x.index_add_(0, torch.tensor([0, 4]), torch.ones(2, 2)),
        lambda: x.index_put_((torch.tensor([0, 4]),), torch.ones(2, 2)),
        lambda: x.scatter_(0, torch.tensor([[0, 4]]), torch.ones(1, 2)),
        lambda: x.put_(torch.tensor([0, 8]), torch.ones(2)),
        lambda: x.index_put_((torch.tensor([0, 1]),), torch.ones(3, 2)),
    ):
        with pytest.raises((IndexError, RuntimeError)):
            write()
    assert not x.any()


@pytest.mark.parametrize(
    "write",
    [
        lambda x, v: x.index_copy_(0, torch.tensor([0]), v),
        lambda x, v: x.index_add_(0, torch.tensor([0]), v),
        lambda x, v: x.index_put_((torch.tensor([0]),), v),
        lambda x, v: x.scatter_(0, torch.tensor([[0, 0]]), v),
        lambda x, v: x.scatter_add_(0, torch.tensor([[0, 0]]), v),
        lambda x, v: x.__setitem__(torch.tensor([0]), v),
        lambda x, v: x.__setitem__(0, v[0]),
    ],
)
@pytest.mark.parametrize("view", [lambda x: x.chunk(2)[1], lambda x: torch.no_grad()(lambda: x[1:])()])
def test_a_write_that_autograd_cannot_record_changes_nothing(write, view):
    x, v = torch.zeros(4, 2), torch.ones(1, 2, requires_grad=True)
    part = view(x)
    with pytest.raises(RuntimeError, match="This view is the output of|A view was created in no_grad mode"):
        write(part, v)
    assert not x.any()


def test_writes_to_one_row_of_an_expanded_tensor_are_refused():
    base = torch.zeros(1, 2)
    x, rows = base.expand(3, 2), torch.ones(1, 2)
    for write in (
        lambda: x.scatter_add_(0, torch.tensor([[0, 0]]), rows),
        lambda: x.index_add_(0, torch.tensor([1]), rows),
        lambda: x.index_copy_(0, torch.tensor([1]), rows),
    ):
        with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
            write()
    assert not base.any()


def test_a_compiled_write_of_a_row():
    """As in a cache of keys and values: the position is a tensor."""

    @torch.compile
    def step(cache, position, row):
        cache.index_copy_(0, position, row)
        return cache.sum()

    cache = torch.zeros(4, 2)
    for n in range(4):
        assert step(cache, torch.tensor([n]), torch.full((1, 2), n + 1.0)) == sum(range(1, n + 2)) * 2
    assert cache.tolist() == [[1, 1], [2, 2], [3, 3], [4, 4]]
