"""An exception that replaces another one has it as its cause, unless invalid arguments explain the error."""

from __future__ import annotations

import io
import traceback

import pytest

import flambeau as torch
from flambeau.testing import assert_close


def raised(call):
    with pytest.raises(Exception) as caught:
        call()
    return caught.value


def chained_exceptions(error):
    """Return the names of the exceptions that a traceback shows before this one."""
    found = []
    while error is not None:
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        found += [] if error is None else [type(error).__name__]
    return found


def pickled():
    file = io.BytesIO()
    torch.save({"a": io.BytesIO}, file)
    file.seek(0)
    return file


class NoNumber:
    def __index__(self):
        raise TypeError("no integer")


class Unreadable:
    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("the conversion to an array failed")


class Pipe:
    seek = read = None

    def tell(self):
        raise io.UnsupportedOperation("tell")


NAN = float("nan")


@pytest.mark.parametrize(("call", "causes"), [
    (lambda: torch.ones(2, 3).t().view(6), ["RuntimeError", "ValueError"]),
    (lambda: torch.linalg.svd(torch.tensor([[NAN]])), ["RuntimeError", "LinAlgError"]),
    (lambda: torch.linalg.eig(torch.tensor([[NAN]])), ["RuntimeError", "LinAlgError"]),
    (lambda: torch.ones(1).expand(3).add_(1), ["ValueError"]),
    (lambda: torch.ones(3).__setitem__(slice(None), torch.ones(2)), ["ValueError"]),
    (lambda: torch.take(torch.ones(3), torch.tensor([7])), ["IndexError"]),
    (lambda: torch.from_file("no/such/file", size=3), ["FileNotFoundError"]),
    (lambda: torch.load(Pipe()), ["UnsupportedOperation"]),
    (lambda: torch.load(pickled()), ["RefusalError"]),
    (lambda: torch.Size([NoNumber()]), ["TypeError"]),
    (lambda: torch.Generator().manual_seed(2**70), ["ValueError"]),
    (lambda: assert_close(Unreadable(), Unreadable()), ["RuntimeError"]),
])  # fmt: skip
def test_the_cause_is_shown(call, causes):
    for _ in range(2):  # the second call uses cached lookups
        assert chained_exceptions(raised(call)) == causes


@pytest.mark.parametrize("call", [
    lambda: torch.ones(2) + torch.ones(3),
    lambda: torch.ones(2).sum(5),
    lambda: torch.ones(2).sum(dim=1.5),
    lambda: torch.ones(3)[10],
    lambda: torch.ones(3)[torch.tensor([5])],
    lambda: torch.ones(3).__setitem__(5, 1),
    lambda: torch.bitwise_and(torch.ones(2), torch.ones(2)),
    lambda: torch.nn.functional.embedding_bag(torch.tensor([[9]]), torch.ones(3, 2)),
])  # fmt: skip
def test_wrong_arguments_say_all_themselves(call):
    for _ in range(2):
        assert chained_exceptions(raised(call)) == []


def test_a_kernel_that_fails_is_named_with_its_own_exception(monkeypatch):
    def broken(input):
        raise OSError("disk error in a kernel")

    kind = torch.ones(1)._key
    expected = torch.ones(1).exp()
    monkeypatch.setitem(kind.table, "exp", (broken, kind["exp"][1]))
    error = raised(lambda: torch.ones(1).exp())
    assert type(error) is RuntimeError
    assert "exp(): disk error in a kernel" in str(error)
    assert isinstance(error.__cause__, OSError)
    assert "broken" in [frame.name for frame in traceback.extract_tb(error.__cause__.__traceback__)]
    monkeypatch.undo()
    assert torch.ones(1).exp().equal(expected)
