"""Checks of the engine: shared memory, autograd, copies, files, random numbers."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable
from typing import Any

import flambeau as torch

__all__ = ["AUTOGRAD", "TENSORS"]


def _leaf(*values: float) -> Any:
    return torch.tensor(values, dtype=torch.float32, requires_grad=True)


# --- autograd -----------------------------------------------------------------------------------------------------


def _gradients_accumulate() -> None:
    x = _leaf(1, 2)
    (x * x).sum().backward()
    seen = x.grad.view(2, 1)
    (x * 3).sum().backward()
    assert x.grad.tolist() == [5, 7]
    assert seen.tolist() == [[5], [7]], "a gradient added in place is not visible in a view of the gradient"


def _writes_are_differentiated() -> None:
    x = _leaf(1, 2, 3)
    y = x * 2
    y[1:].mul_(3)
    y[0] = 7
    y.view(3, 1)[2].add_(x[0])
    y.sum().backward()
    assert y.tolist() == [7, 12, 19] and x.grad.tolist() == [1, 6, 6]


def _writes_to_saved_tensors_are_detected() -> None:
    x = _leaf(1, 2)
    y = x * 1
    z = (y * y).sum()
    y.add_(1)
    try:
        z.backward()
    except RuntimeError as error:
        assert "modified by an inplace operation" in str(error), str(error)
    else:
        raise AssertionError("no RuntimeError was raised")


def _second_derivatives() -> None:
    x = _leaf(1, 2)
    (first,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert first.tolist() == [3, 12] and second.tolist() == [6, 12]


def _hooks_change_gradients() -> None:
    x = _leaf(1, 2)
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda grad: grad * 10)
    y.sum().backward()
    assert x.grad.tolist() == [20, 20] and y.grad.tolist() == [10, 10]


def _custom_functions() -> None:
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 2 * x * grad

    x = _leaf(1, 2)
    Square.apply(x).sum().backward()
    assert x.grad.tolist() == [2, 4]


def _gradients_of_indexing() -> None:
    x = _leaf(1, 2, 3)
    (x[torch.tensor([0, 0, 2])] * x[x > 1][0]).sum().backward()
    assert x.grad.tolist() == [4, 5, 2]


def _forward_mode() -> None:
    x, direction = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 0.5])
    assert torch.func.jvp(lambda x: x * x, (x,), (direction,))[1].tolist() == [2, 2]


def _batches() -> None:
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert torch.vmap(torch.func.grad(lambda row: (row**2).sum()))(x).tolist() == [[2, 4], [6, 8]]


# --- tensors ------------------------------------------------------------------------------------------------------


def _writes_are_visible_in_views() -> None:
    base = torch.zeros(3, 4)
    row, column, transposed, same, block = base[1], base[:, 2], base.t(), base.detach(), base[:2, :2].unsqueeze(0)
    first, second = base.split(2)
    row.add_(1)
    column[0] = 5
    transposed[3, 2] = 7
    same.mul_(2)
    second.sub_(1)
    block.fill_(3)
    assert base.tolist() == [[3, 3, 10, 0], [3, 3, 2, 2], [-1, -1, -1, 13]]
    assert torch.equal(row, base[1]) and torch.equal(column, base[:, 2]) and torch.equal(transposed.t(), base)
    assert torch.equal(same, base) and torch.equal(first, base[:2])


def _overlapping_writes_are_refused() -> None:
    try:
        torch.zeros(1, 3).expand(2, 3).add_(1)
    except RuntimeError as error:
        assert "single memory location" in str(error), str(error)
    else:
        raise AssertionError("no RuntimeError was raised")


def _views_of_another_dtype() -> None:
    x = torch.tensor([1.0, -2.0])
    bits = x.view(torch.int32)
    assert bits.tolist() == [0x3F800000, -0x40000000] and x.view(torch.uint8).shape == (8,)
    bits[0] = 0x40400000
    assert x.tolist() == [3, -2]


def _indexing() -> None:
    x = torch.arange(12).reshape(3, 4)
    assert x[True].shape == (1, 3, 4) and x[:, False].shape == (3, 0, 4)
    assert x[[2, 0], 1:3].tolist() == [[9, 10], [1, 2]] and x[x % 5 == 0].tolist() == [0, 5, 10]
    assert (x > 8).nonzero().tolist() == [[2, 1], [2, 2], [2, 3]]
    x[::2, [0, 3]] = -1
    x[torch.tensor([False, True, False])] = 0
    assert x.tolist() == [[-1, 1, 2, -1], [0, 0, 0, 0], [-1, 9, 10, -1]]


def _copies_and_files() -> None:
    from flambeau import nn

    module = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    other = copy.deepcopy(module)
    with torch.no_grad():
        other[0].weight.add_(1)
    assert torch.allclose(other[0].weight, module[0].weight + 1)
    file = io.BytesIO()
    torch.save(module.state_dict(), file)
    file.seek(0)
    other.load_state_dict(torch.load(file))
    for name, value in module.state_dict().items():
        assert torch.equal(other.state_dict()[name], value), name


def _views_are_preserved_in_copies_and_files() -> None:
    base = torch.arange(6.0)
    views = [base, base[2:], base.view(2, 3).t()]
    file = io.BytesIO()
    torch.save(views, file)
    file.seek(0)
    for copies in (copy.deepcopy(views), torch.load(file)):
        assert [view.tolist() for view in copies] == [view.tolist() for view in views]
        copies[0][3] = 9
        assert copies[1].tolist() == [2, 9, 4, 5] and copies[2].tolist() == [[0, 9], [1, 4], [2, 5]]
    assert base.data_ptr() == views[2].data_ptr() != base.clone().data_ptr(), "data_ptr() does not identify memory"


def _storages_share_memory_with_tensors() -> None:
    x = torch.zeros(2)
    storage = x.untyped_storage()
    assert storage is x[1:].untyped_storage() and storage.nbytes() == 8 and x.storage().tolist() == [0, 0]
    storage[4:8][3] = 64
    torch.asarray(storage[2:4], dtype=torch.uint8)[1] = 64
    assert x.tolist() == [2, 2]
    part = torch.empty(0).set_(storage[4:])
    part.mul_(3)
    x.storage()[0] = 5
    assert x.tolist() == [5, 6] and torch.empty(0).set_(storage, 1, (1,)).tolist() == [6]
    assert storage.clone().tolist() == storage.tolist() and torch.FloatStorage([1, 2]).type(torch.int32).tolist() == [1, 2]
    assert torch.asarray(bytearray(8), dtype=torch.float32).tolist() == [0, 0]
    alone = torch.UntypedStorage([1, 2])
    alone.byteswap(torch.int16)
    assert alone.resize_(1).tolist() == [2]


def _random_numbers() -> None:
    torch.manual_seed(3)
    drawn = [
        torch.rand(3),
        torch.randn(20),
        torch.randint(9, (4,)),
        torch.randperm(5),
        torch.bernoulli(torch.full((4,), 0.5)),
        torch.multinomial(torch.ones(5), 2),
        torch.empty(3).exponential_(),
        torch.poisson(torch.ones(3)),
    ]
    torch.manual_seed(3)
    assert torch.equal(torch.rand(3), drawn[0]) and torch.equal(torch.randn(20), drawn[1])
    generator = torch.Generator(drawn[0].device).manual_seed(3)
    assert torch.equal(torch.rand(3, generator=generator), drawn[0])
    assert sorted(drawn[3].tolist()) == list(range(5))
    first, second = (torch.nn.functional.dropout(torch.ones(100)) for _ in range(2))
    assert not torch.equal(first, second), "dropout dropped the same elements twice"


def _linear_algebra() -> None:
    a = torch.tensor([[4.0, 1.0], [1.0, 3.0]], requires_grad=True)
    b = torch.tensor([1.0, 2.0])
    torch.testing.assert_close(a @ torch.linalg.solve(a, b), b)
    torch.testing.assert_close(torch.linalg.cholesky(a) @ torch.linalg.cholesky(a).mT, a)
    values, vectors = torch.linalg.eigh(a)
    torch.testing.assert_close(vectors * values @ vectors.mT, a)
    torch.linalg.slogdet(a).logabsdet.backward()
    torch.testing.assert_close(a.grad, torch.linalg.inv(a.detach()).mT)


def _to_the_cpu_and_back() -> None:
    x = torch.arange(6.0).reshape(2, 3).t()
    assert x.cpu().numpy().tolist() == x.tolist() == x.cpu().to(x.device).tolist()
    assert x.dtype is x.cpu().dtype and x.cpu().device.type == "cpu"


def _named(*checks: Callable[[], None]) -> dict[str, Callable[[], None]]:
    return {check.__name__.strip("_").replace("_", " "): check for check in checks}


AUTOGRAD = _named(
    _gradients_accumulate, _writes_are_differentiated, _writes_to_saved_tensors_are_detected, _second_derivatives,
    _hooks_change_gradients, _custom_functions, _gradients_of_indexing, _forward_mode, _batches,
)  # fmt: skip
TENSORS = _named(
    _writes_are_visible_in_views, _overlapping_writes_are_refused, _views_of_another_dtype, _indexing, _copies_and_files,
    _views_are_preserved_in_copies_and_files, _storages_share_memory_with_tensors, _random_numbers, _linear_algebra,
    _to_the_cpu_and_back,
)  # fmt: skip
