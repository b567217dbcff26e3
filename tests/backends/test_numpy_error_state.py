"""Infinities and NaN raise no error or warning under any `np.errstate`, and in-place kernels write only once."""

from __future__ import annotations

import contextlib
import threading
import warnings

import numpy as np
import pytest

import flambeau as torch
from flambeau import nn
from flambeau.conformance.samples import families
from flambeau.conformance.samples.sample import find
from flambeau_backends.numpy.error_state import without_warnings

INF, NAN = float("inf"), float("nan")


@contextlib.contextmanager
def warnings_as_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@contextlib.contextmanager
def errors():
    with np.errstate(all="raise"):
        yield


@pytest.fixture(params=[errors, warnings_as_errors])
def strict_errors(request):
    """Run the test under each NumPy setting in which infinities and NaN raise errors."""
    return request.param


def assert_equal(actual, expected):
    np.testing.assert_array_equal(np.asarray(actual), np.asarray(expected, np.asarray(actual).dtype))


# --- in place -----------------------------------------------------------------------------------------------------


def times_ten(x):
    x *= 10


WRITES = [
    (lambda x: x.__itruediv__(torch.tensor([2.0, 0.0])), [8.0, 0.0], [4.0, NAN]),
    (times_ten, [3.0, 3e38], [30.0, INF]),
    (lambda x: x.add_(torch.tensor([1.0, 3e38]), alpha=2), [1.0, 3e38], [3.0, INF]),
    (lambda x: x.sub_(torch.tensor([1.0, INF])), [1.0, INF], [0.0, NAN]),
    (lambda x: x.addcmul_(torch.tensor([2.0, 3e38]), torch.tensor([2.0, 3e38]), value=2), [1.0, 1.0], [9.0, INF]),
    (lambda x: x.addcdiv_(torch.tensor([2.0, 1.0]), torch.tensor([2.0, 0.0])), [1.0, 1.0], [2.0, INF]),
    (lambda x: x.lerp_(torch.tensor([2.0, INF]), 0.25), [1.0, -INF], [1.25, NAN]),
    (lambda x: x.log_(), [1.0, 0.0], [0.0, -INF]),
    (lambda x: x.sqrt_(), [4.0, -1.0], [2.0, NAN]),
    (lambda x: x.reciprocal_(), [4.0, 0.0], [0.25, INF]),
    (lambda x: x.pow_(2), [3.0, 3e38], [9.0, INF]),
    (lambda x: x.pow_(torch.tensor([2.0, -1.0])), [3.0, 0.0], [9.0, INF]),
    (lambda x: x.fmod_(torch.tensor([2.0, 0.0])), [3.0, 1.0], [1.0, NAN]),
    (lambda x: x.copy_(torch.tensor([1.0, 1e300], dtype=torch.float64)), [3.0, 3.0], [1.0, INF]),
    (lambda x: x.add_(torch.tensor([1.0, 1e300], dtype=torch.float64)), [3.0, 3.0], [4.0, INF]),
    (lambda x: x.__setitem__(0, torch.tensor(1e300, dtype=torch.float64)), [3.0, 3.0], [INF, 3.0]),
    (lambda x: torch.exp(x, out=x), [0.0, 100.0], [1.0, INF]),
]  # fmt: skip


@pytest.mark.parametrize(("write", "before", "after"), WRITES)
def test_what_is_written_is_written_once(strict_errors, write, before, after):
    x = torch.tensor(before)
    with strict_errors():
        write(x)
    assert_equal(x, after)


@pytest.mark.parametrize("size", [1, 70_000, 3_000_000])
def test_large_arrays_too(strict_errors, size):
    x = torch.full((size,), 3.0)
    x[-1] = 3e38
    with strict_errors():
        x.mul_(10)
        x.add_(x.clone(), alpha=2)
    assert x[-1] == INF
    assert size == 1 or x[:-1].eq(90).all()


IN_PLACE = [
    sample
    for family in ("arithmetic", "pointwise", "special", "trigonometry")
    for sample in families()[family]
    if sample.inplace and sample.method and "float32" in sample.dtypes and hasattr(torch.Tensor, sample.name + "_")
]
EXTREMES = np.array([0, -0.0, INF, -INF, NAN, 3e38, -3e38, 1e-38, -1, 1, 700], np.float32)


class InPlace:
    """A namespace like `torch`, in which the function `name` calls its in-place variant on a clone of the input."""

    def __init__(self, name):
        self.name = name

    def __getattr__(self, name):
        return self.written if name == self.name else getattr(torch, name)

    def written(self, x, *args, **kwargs):
        return getattr(x.clone(), self.name + "_")(*args, **kwargs)


@pytest.mark.parametrize("sample", IN_PLACE, ids=lambda sample: sample.name)
def test_every_operation_in_place(strict_errors, sample):
    rng = np.random.default_rng(0)
    arrays = [
        np.where(rng.random(array.shape) < 0.5, rng.choice(EXTREMES, array.shape), array) if array.dtype == np.float32 else array
        for array in sample.arrays(np, "float32")
    ]
    tensors = [torch.tensor(array.astype(given.dtype)) for array, given in zip(arrays, sample.arrays(np, "float32"), strict=True)]
    with np.errstate(all="ignore"):
        expected = sample.call(InPlace(sample.name), *tensors)
    with strict_errors():
        actual = sample.call(InPlace(sample.name), *tensors)
    assert_equal(actual, expected)


def test_a_kernel_that_has_written_is_not_called_again(monkeypatch):
    def careless(target, other):
        np.add(target, other, target)
        raise FloatingPointError("raised after writing")

    monkeypatch.setitem(torch.zeros(1)._key.backend.all_inplace_kernels, "add", careless)
    x = torch.zeros(2)
    with pytest.raises(FloatingPointError, match="raised after writing"):
        x.add_(1)
    assert_equal(x, [1, 1])


def test_integers_to_negative_powers_in_place():
    """NumPy's in-place power raises an error at a negative exponent, when it has already written the elements before it."""
    x = torch.tensor([2, 3, 1])
    x.pow_(torch.tensor([2, -1, -1]))
    assert_equal(x, [4, 0, 1])
    with pytest.raises(RuntimeError, match="negative integer powers"):
        x.pow_(-1)
    assert_equal(x, [4, 0, 1])


# --- values -------------------------------------------------------------------------------------------------------


VALUES = [
    (lambda: torch.tensor([1.0, 0.0]).log(), [0, -INF]),
    (lambda: torch.tensor([3e38]) * 10, [INF]),
    (lambda: 1 / torch.tensor([0.0, 2.0]), [INF, 0.5]),
    (lambda: torch.tensor([1.0, INF]).softmax(0), [NAN, NAN]),
    (lambda: torch.tensor([-1000.0, 0.0]).sigmoid(), [0, 0.5]),
    (lambda: torch.tensor([1e300, 1.0]), [INF, 1]),
    (lambda: torch.tensor([1e300], dtype=torch.float64).float(), [INF]),
    (lambda: torch.tensor([1e5]).half(), [INF]),
    (lambda: torch.full((1,), 3e38).sum() + torch.full((1,), 3e38), [INF]),
    (lambda: torch.vmap(torch.log)(torch.tensor([[1.0], [0.0]])), [[0], [-INF]]),
    (lambda: torch.func.jvp(torch.sqrt, (torch.tensor([0.0, 4.0]),), (torch.ones(2),))[1], [INF, 0.25]),
]  # fmt: skip


@pytest.mark.parametrize(("compute", "expected"), VALUES)
def test_values(strict_errors, compute, expected):
    with strict_errors():
        actual = compute()
    assert_equal(actual, expected)


def test_nothing_is_printed_or_called_in_place():
    heard = []
    with np.errstate(all="call", call=lambda *what: heard.append(what)):
        torch.tensor([3e38]).mul_(10).add_(1, alpha=3)
        torch.tensor([0.0]).log_()
    assert heard == []


# --- gradients and steps ------------------------------------------------------------------------------------------


def test_backward(strict_errors):
    x = torch.tensor([0.0, 4.0, 1.0], requires_grad=True)
    big = torch.tensor([1.0, 3e38, 3e38])
    with strict_errors():
        (x.sqrt() + x * big + x * big).sum().backward()
    assert_equal(x.grad, [INF, INF, INF])
    with strict_errors():
        (x * torch.tensor([-INF, 1.0, 1.0])).sum().backward()
    assert_equal(x.grad, [NAN, INF, INF])


def test_backward_sums_what_was_broadcast(strict_errors):
    x = torch.tensor([1.0], requires_grad=True)
    parts = torch.tensor([[3e38, 3e38]])
    with strict_errors():
        (x * parts).sum().backward()
    assert_equal(x.grad, [INF])
    both = torch.stack([x, x]) * parts.mT
    with strict_errors():
        first, second = both.unbind()
        (first + second + first.sum() * 1e38).sum().backward()
    assert_equal(x.grad, [INF])


def test_hooks_and_functions_see_the_users_state():
    seen = []

    class Watched(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            seen.append(np.geterr()["divide"])
            return g

    x = torch.tensor([0.0], requires_grad=True)
    x.register_hook(lambda g: seen.append(np.geterr()["divide"]))
    with np.errstate(divide="raise"):
        Watched.apply(x).sqrt().sum().backward()
        with pytest.raises(FloatingPointError):
            np.ones(1) / np.zeros(1)
    assert seen == ["raise", "raise"]


def test_an_error_of_the_users_own_is_raised_once():
    calls = []

    class Raising(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            calls.append(g)
            raise FloatingPointError("mine")

    with pytest.raises(FloatingPointError, match="mine"):
        Raising.apply(torch.ones(1, requires_grad=True)).sum().backward()
    assert len(calls) == 1


@pytest.mark.parametrize("make", [torch.optim.Adam, torch.optim.AdamW, torch.optim.SGD, torch.optim.RMSprop, torch.optim.Adagrad])
def test_a_step_of_an_optimizer(strict_errors, make):
    def stepped(state):
        weight = nn.Parameter(torch.tensor([1.0, 2.0, 3.0]))
        optimizer = make([weight], lr=0.5)
        for _ in range(2):
            weight.grad = torch.tensor([1.0, 1e30, 1e-30])
            with state():
                optimizer.step()
        return weight.detach()

    assert_equal(stepped(strict_errors), stepped(lambda: np.errstate(all="ignore")))


# --- random numbers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("draw", [
    lambda: nn.functional.dropout(torch.tensor([INF, 3e38, 0.0, 1.0]), 0.5),
    lambda: torch.empty(20).normal_(0, 3e38), lambda: torch.empty(20).log_normal_(0, 100), lambda: torch.empty(20).cauchy_(0, 3e38),
    lambda: torch.empty(20).exponential_(1e-38), lambda: torch.empty(20).uniform_(-1e38, 2e38), lambda: torch.randn(20).half() * 1e5,
    lambda: torch.normal(torch.full((3,), 3e38), torch.full((3,), 3e38)),
    lambda: torch.multinomial(torch.tensor([1e-38, 1.0, 1.0]), 2),
])  # fmt: skip
def test_draws_take_the_same_numbers(strict_errors, draw):
    torch.manual_seed(3)
    with np.errstate(all="ignore"):
        expected, after = draw(), torch.rand(1)
    torch.manual_seed(3)
    with strict_errors():
        actual = draw()
    assert_equal(actual, expected)
    assert_equal(torch.rand(1), after)


# --- the state ----------------------------------------------------------------------------------------------------


def test_the_users_state_stays_as_it_is():
    with np.errstate(all="raise", under="print"):
        before = np.geterr()
        torch.tensor([0.0]).log_().sigmoid().sum().item()
        torch.tensor([1.0]).add_(1, alpha=2)
        with pytest.raises(RuntimeError):
            torch.ones(2).add_(torch.ones(3))
        assert np.geterr() == before


def test_calls_inside_calls_and_in_threads():
    state = without_warnings(lambda: np.geterr()["over"])
    nested = without_warnings(lambda: (state(), np.geterr()["over"]))
    found = []
    with np.errstate(over="raise"):
        assert nested() == ("ignore", "ignore")
    start = threading.Barrier(4)

    def work():
        x = torch.full((1000,), 3e38)
        start.wait(60)
        with np.errstate(all="raise"):
            for _ in range(200):
                x.mul_(10)
        found.append((bool(x.isinf().all()), np.geterr()["over"]))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [(True, "warn")] * 4


def test_the_state_is_left_when_a_kernel_raises():
    def fails():
        raise ValueError("raised by a kernel")

    with pytest.raises(ValueError, match="raised by a kernel"):
        without_warnings(fails)()
    assert np.geterr()["over"] == "warn"
    assert without_warnings(lambda: np.geterr()["over"])() == "ignore"


def test_the_samples_are_found():
    assert len(IN_PLACE) > 60
    assert all(callable(find(torch, sample.name)) for sample in IN_PLACE)
