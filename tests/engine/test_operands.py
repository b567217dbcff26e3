"""Mixed operands: numbers outside a dtype's range, NumPy arrays, empty tensors and overlapping tensors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flambeau as torch

BYTES = torch.tensor([3, 200], dtype=torch.uint8)


@pytest.mark.parametrize("number", [300, 256, -1, 2**40, torch.tensor(1000), torch.tensor(-1)], ids=str)
@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16])
def test_quotients_of_integers_do_not_cut_the_divisor(dtype, number):
    x = torch.tensor([3, 100], dtype=dtype)
    torch.testing.assert_close(x / number, torch.tensor([3 / float(number), 100 / float(number)]))
    torch.testing.assert_close(number / x, torch.tensor([float(number) / 3, float(number) / 100]))
    torch.testing.assert_close(torch.xlogy(x, abs(number)), torch.xlogy(x.float(), abs(float(number))))
    assert torch.copysign(x, number).sign().tolist() == [np.sign(float(number))] * 2


@pytest.mark.parametrize("number", [300, -1, -300, 70_000, 2**40])
def test_sums_and_products_of_integers_lose_their_upper_bits(number):
    """Integer arithmetic wraps around, also in place and if the number does not fit the dtype."""
    for operate in ("add", "sub", "mul"):
        exact = getattr(np, {"add": "add", "sub": "subtract", "mul": "multiply"}[operate])(np.array([3, 200]), number)
        x = BYTES.clone()
        assert getattr(torch, operate)(x, number).tolist() == (exact % 256).tolist()
        assert getattr(x, f"{operate}_")(number) is x and x.tolist() == (exact % 256).tolist()
    x = BYTES.clone()
    x[0] += number
    x &= -1
    assert x.tolist() == [(3 + number) % 256, 200]


def test_arrays_beside_tensors():
    x, a = torch.arange(3), np.array([0, 5, 2])
    for equal in (x == a, a == x):
        assert isinstance(equal, torch.Tensor) and equal.dtype == torch.bool and equal.tolist() == [True, False, True]
    assert (x == np.array(1)).tolist() == [False, True, False] and x != "a"
    with pytest.raises(RuntimeError, match="must match the size"):
        assert x == np.zeros((2, 2))
    quotient = np.array([1.0, 2.0]) / torch.tensor([2.0, 4.0])
    assert isinstance(quotient, torch.Tensor) and quotient.tolist() == [0.5, 0.5]
    total = torch.zeros(3)
    total += np.ones(3)
    assert isinstance(total, torch.Tensor) and total.tolist() == [1, 1, 1] and total.dtype == torch.float64
    with pytest.raises(TypeError):
        total += "a"


def test_numbers_first_as_of_old():
    """PyTorch 0.2 signatures with the number first, such as `addcdiv_(value, tensor1, tensor2)`."""
    first, second = torch.tensor([3.0]), torch.tensor([2.0])
    with pytest.warns(UserWarning, match="deprecated"):
        torch.set_warn_always(True)
        try:
            assert torch.ones(1).addcdiv_(0.5, first, second).item() == 1.75
            assert torch.ones(1).data.addcdiv_(-0.5, first, second).item() == 0.25
            assert torch.ones(1).addcmul_(0.5, first, second).item() == 4
            assert torch.ones(1).add_(0.5, first).item() == 2.5
        finally:
            torch.set_warn_always(False)


def test_empty_tensors_have_a_say_in_the_dtype():
    assert torch.cat([torch.tensor([]), torch.tensor([1, 2])]).dtype == torch.float32
    assert torch.cat([torch.tensor([1, 2]), torch.tensor([], dtype=torch.float64)]).tolist() == [1.0, 2.0]
    assert (torch.ones(0, dtype=torch.int8) % 0).shape == (0,)
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        torch.ones(2, dtype=torch.int8) % 0


@pytest.mark.parametrize("name", ["cummax", "cummin", "logcumsumexp", "cumsum", "cumprod"])
@pytest.mark.parametrize("shape", [(1, 3), (0, 3)])
def test_running_results_have_memory_of_their_own(name, shape):
    x = torch.rand(shape)
    before = x.clone()
    result = getattr(x, name)(0)
    result = result if isinstance(result, torch.Tensor) else result[0]
    assert result.equal(x)
    result.zero_()
    assert x.equal(before)


def test_repeated_tensors_are_no_views():
    x = torch.ones(2, 3, requires_grad=True)
    assert not x.repeat(2, 1).detach_().requires_grad
    with torch.no_grad():
        result = x.repeat(2, 1)
    result.mul_(torch.tensor(2.0, requires_grad=True))
    assert result.requires_grad and not result._is_view()


F = torch.nn.functional


@pytest.mark.parametrize("make", [
    lambda x, m: F.pixel_shuffle(x, 2), lambda x, m: F.group_norm(x, 2), lambda x, m: F.channel_shuffle(x, 2), lambda x, m: x.rot90(1, (2, 3)),
    lambda x, m: m.take(torch.tensor([0, 1])), lambda x, m: m.median(0)[0], lambda x, m: m.mode()[0], lambda x, m: m @ m[0],
    lambda x, m: x @ torch.ones(4, 2), lambda x, m: F.linear(x, torch.ones(3, 4)), lambda x, m: F.adaptive_max_pool2d(x, 2),
    lambda x, m: torch.linalg.solve(m, m[0]), lambda x, m: x.roll(1), lambda x, m: m[0, 0].softmax(0),
])  # fmt: skip
def test_what_has_memory_of_its_own_is_no_view(make):
    """Results in new memory are not views, even if intermediate results were."""
    x, m = torch.rand(1, 4, 4, 4, requires_grad=True), torch.rand(3, 3, requires_grad=True)
    result = make(x, m)
    assert not result._is_view() and result.requires_grad and not result.detach().requires_grad
    result.sum().backward()
    assert x.grad is not None or m.grad is not None
    result = make(x, m)
    result.mul_(2)
    assert not result.detach_().requires_grad


def test_broadcasting_gives_back_what_has_the_shape():
    x, y = torch.zeros(2, requires_grad=True), torch.ones(3, 2)
    same, other = torch.broadcast_tensors(x, torch.ones(2))
    assert same is x and other.shape == (2,)
    assert torch.broadcast_tensors(x, y)[0].shape == (3, 2) and torch.distributions.Normal(x, 1.0).loc is x


def test_dimensions_of_a_number():
    assert torch.tensor(1.0).movedim(0, -1).shape == ()
    x = torch.zeros(3)
    assert x.scatter(-1, torch.tensor(1), 2.0).tolist() == [0, 2, 0]
    assert x.scatter_add(-1, torch.tensor(1), torch.tensor(2.0)).tolist() == [0, 2, 0]
    assert x.scatter_reduce(-1, torch.tensor(1), torch.tensor(2.0), "amax").tolist() == [0, 2, 0]


def test_strides_of_new_dimensions():
    """A new dimension has the stride of a contiguous dimension at its position."""
    x, y = torch.zeros(3), torch.zeros(2, 3)
    assert x[None].stride() == (3, 1) and x.unsqueeze(1).stride() == (1, 1) and y[:, None].stride() == (3, 3, 1)
    assert y[None, None].stride() == (6, 6, 3, 1) and y.t()[None].stride() == (3, 1, 3) and torch.zeros(())[None].stride() == (1,)
    assert x.expand(2, 3).unsqueeze(1).stride() == (0, 3, 1) and x.expand(1, 2, 3).stride() == (0, 0, 1)


def test_angles_of_what_is_not_finite():
    inf = float("inf")
    np.testing.assert_array_equal(torch.tensor([inf, -inf, float("nan"), -0.0]).angle(), np.float32([0, np.pi, np.nan, 0]))


@pytest.mark.parametrize("name", ["sum", "mean", "amax", "any", "var", "logsumexp"])
def test_dimensions_given_twice(name):
    with pytest.raises(RuntimeError, match="dim 1 appears multiple times in the list of dims"):
        getattr(torch.ones(2, 3), name)((1, -1))


@pytest.mark.filterwarnings("error")
def test_statistics_of_nothing_do_not_warn():
    layer = torch.nn.BatchNorm1d(2)
    assert layer(torch.ones(0, 2)).shape == (0, 2) and layer.running_mean.tolist() == [0, 0]
    with pytest.raises(TypeError, match="slice indices must be integers"):
        torch.ones(2)[:1.5]


@settings(max_examples=200, deadline=None)
@given(st.permutations(range(4)), st.tuples(*[st.integers(1, 3)] * 4), st.integers(0, 3), st.booleans(), st.randoms())
def test_a_reshaped_tensor_is_a_view_where_it_can_be(order, sizes, dim, cut, random):
    """`reshape` returns a view in the same cases as NumPy."""
    x = torch.arange(int(np.prod(sizes))).reshape(sizes).permute(order)
    x = x.narrow(dim, 0, max(x.shape[dim] - 1, 1)) if cut else x
    shape, left = [], x.numel()
    while left > 1 and len(shape) < 3:
        shape.append(random.choice([divisor for divisor in range(1, left + 1) if not left % divisor]))
        left //= shape[-1]
    shape.append(left)
    result, expected = x.reshape(shape), x.numpy().reshape(shape)
    np.testing.assert_array_equal(result.numpy(), expected)
    assert (result.data_ptr() == x.data_ptr()) is np.shares_memory(expected, x.numpy()) and result._is_view() is np.shares_memory(
        expected, x.numpy()
    )


def test_truth_of_bytes_is_in_bytes():
    x = torch.tensor([[1, 2], [0, 3]], dtype=torch.uint8)
    assert x.all().dtype == x.any(0).dtype == torch.uint8
    assert x.all().numpy().dtype == np.uint8 and type(x.all().item()) is int and x.all(1).tolist() == [1, 0]


def test_numbers_beside_doubles_keep_their_digits():
    assert torch.isin(torch.tensor([0.1, 0.2], dtype=torch.float64), 0.1).tolist() == [True, False]
    assert torch.isin(torch.tensor([1, 2]), 2).tolist() == [False, True] and torch.isin(2, torch.tensor([1, 2])).item()


@pytest.mark.parametrize("value", ["a", np.str_("a"), np.longdouble(1)])
def test_what_is_no_number(value):
    with pytest.raises((TypeError, RuntimeError)):
        torch.ones(1).add(value)
    with pytest.raises((TypeError, RuntimeError)):
        torch.ones(1) + value


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16, torch.int64, torch.bool])
def test_integers_that_become_floats_take_the_fast_path(dtype, monkeypatch):
    x = torch.tensor([[0, 1], [1, 0]], dtype=dtype) if dtype is torch.bool else torch.tensor([[0, 7], [100, 3]], dtype=dtype)
    number = True if dtype is torch.bool else 25
    calls = [lambda: x / number, lambda: number / (x + number), lambda: x / x.clamp(1), lambda: x.exp(), lambda: torch.sqrt(x)]
    first = [call() for call in calls]
    monkeypatch.setattr("flambeau.engine.calls.op.dispatch", None)  # without it, calls take the slow path
    for call, expected in zip(calls, first, strict=True):
        result = call()
        assert result.dtype is torch.float32 and torch.equal(result, expected)
    values = np.array(x.tolist(), dtype=np.float32)
    np.testing.assert_allclose(first[0].numpy(), values / np.float32(number), rtol=1e-6)
    np.testing.assert_allclose(first[3].numpy(), np.exp(values), rtol=1e-5)


def test_numbers_that_integers_cannot_hold():
    x = torch.tensor([1, 200], dtype=torch.uint8)
    assert (x / 2).tolist() == [0.5, 100]
    assert (x / 400).tolist() == [np.float32(1 / 400).item(), 0.5] and (x / -0.5).tolist() == [-2, -400]
    assert (x / 2).dtype is (x / 400).dtype is torch.float32


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("shape", [(), (3,), (1, 4), (2, 0), (2, 3, 4)])
def test_stacked_tensors(dim, shape):
    if not -len(shape) - 1 <= dim <= len(shape):
        dim = 0
    parts = [torch.arange(24.0)[: int(np.prod(shape))].reshape(shape) + i for i in range(5)]
    parts[1] = parts[1].t().contiguous().t() if len(shape) == 2 else parts[1]
    result = torch.stack(parts, dim)
    np.testing.assert_array_equal(result.numpy(), np.stack([part.numpy() for part in parts], dim))
    assert result.is_contiguous() and result.untyped_storage().nbytes() == 4 * result.numel()
    with pytest.raises(
        RuntimeError, match=r"stack expects each tensor to be equal size, but got \[2, 3\] at entry 0 and \[1, 3\] at"
    ):
        torch.stack([torch.ones(2, 3), torch.ones(1, 3), torch.ones(3, 3)])
