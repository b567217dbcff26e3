"""In-place operators on plain tensors with arguments that are wrapper subclasses."""

from __future__ import annotations

import pytest
from flambeau.utils._pytree import tree_map

import flambeau as torch


class Unwrapped(torch.Tensor):
    """A wrapper whose operators compute on the inner tensor and return plain tensors."""

    seen: list = []

    @staticmethod
    def __new__(cls, inner):
        wrapper = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
        wrapper.inner = inner
        return wrapper

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        cls.seen.append(str(func))
        args, kwargs = tree_map(lambda leaf: leaf.inner if isinstance(leaf, Unwrapped) else leaf, (args, kwargs or {}))
        return func(*args, **kwargs)


ONES = Unwrapped(torch.ones(3))
FIRST = Unwrapped(torch.tensor([0]))


@pytest.mark.parametrize(("write", "operator", "expected"), [
    (lambda x: x.add_(ONES), "add_.Tensor", [1.0, 1.0, 1.0]),
    (lambda x: x.copy_(ONES), "copy_.default", [1.0, 1.0, 1.0]),
    (lambda x: x.fill_(Unwrapped(torch.tensor(2.0))), "fill_.Tensor", [2.0, 2.0, 2.0]),
    (lambda x: x.index_add_(0, torch.tensor([1]), Unwrapped(torch.ones(1))), "index_add_.default", [0.0, 1.0, 0.0]),
    (lambda x: x.index_put_((FIRST,), torch.ones(1)), "index_put_.default", [1.0, 0.0, 0.0]),
    (lambda x: x.__setitem__(FIRST, 3.0), "index_put_.default", [3.0, 0.0, 0.0]),
])  # fmt: skip
def test_writes_to_plain_tensors_are_one_operator(write, operator, expected):
    Unwrapped.seen.clear()
    x = torch.zeros(3)
    version = x._version
    write(x)
    assert Unwrapped.seen == [f"aten.{operator}"] and x.tolist() == expected and x._version == version + 1
    assert torch.index_put(torch.zeros(3), (FIRST,), torch.ones(1)).tolist() == [1.0, 0.0, 0.0]


class Wrapped(Unwrapped):
    """As `Unwrapped`, with wrappers as results."""

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        args, kwargs = tree_map(lambda leaf: leaf.inner if isinstance(leaf, cls) else leaf, (args, kwargs or {}))
        return tree_map(lambda leaf: cls(leaf) if isinstance(leaf, torch.Tensor) else leaf, func(*args, **kwargs))


@pytest.mark.parametrize("index", [torch.tensor([0, 2]), torch.tensor([True, False, True]), (torch.tensor([-3, 2]),)])
def test_assignments_to_elements_have_gradients(index):
    x = Wrapped(torch.tensor([1.0, 2.0, 3.0])).requires_grad_()
    value = Wrapped(torch.tensor([5.0, 6.0])).requires_grad_()
    y = x * 2
    y[index] = value * 10
    assert y.inner.tolist() == [50.0, 4.0, 60.0]
    gradients = torch.autograd.grad((y * y).sum(), (x, value))
    assert [gradient.inner.tolist() for gradient in gradients] == [[0.0, 16.0, 0.0], [1000.0, 1200.0]]
    with pytest.raises(RuntimeError, match="assignments at index tensors and masks"):
        y[0] = value[0]
