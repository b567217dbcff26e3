"""Conversions of wrapper subclasses to Python scalars, and checks of gradients that use them."""

from __future__ import annotations

import pytest
from flambeau.utils._pytree import tree_map

import flambeau as torch


class Recording(torch.Tensor):
    """A wrapper of one tensor that records the operators called on it."""

    asked: list = []

    @staticmethod
    def __new__(cls, data, requires_grad=False):
        wrapper = torch.Tensor._make_wrapper_subclass(cls, data.shape, dtype=data.dtype, requires_grad=requires_grad)
        wrapper.inner = data
        return wrapper

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        cls.asked.append(func)
        args, kwargs = tree_map(lambda leaf: leaf.inner if isinstance(leaf, cls) else leaf, (args, kwargs or {}))
        return tree_map(lambda leaf: cls(leaf) if isinstance(leaf, torch.Tensor) else leaf, func(*args, **kwargs))


def test_conversions_to_scalars_call_the_class():
    x = Recording(torch.tensor([3.0]))
    Recording.asked.clear()
    assert (x.item(), float(x), int(x), bool(x), complex(x)) == (3.0, 3.0, 3, True, 3 + 0j)
    assert [10, 20, 30][Recording(torch.tensor(2))] == 30
    assert set(Recording.asked) == {torch.ops.aten._local_scalar_dense.default}
    assert len(Recording.asked) == 6
    two = Recording(torch.ones(2))
    assert torch.allclose(two, two)
    assert Recording.asked[-1] is torch.ops.aten.allclose.default
    with pytest.raises(RuntimeError, match="a Tensor with 2 elements cannot be converted to Scalar"):
        two.item()
    with pytest.raises(RuntimeError, match="Boolean value of Tensor with more than one value is ambiguous"):
        bool(two)
    with pytest.raises(RuntimeError, match=r"\.tolist\(\) is not supported for tensor subclasses, got Recording"):
        two.tolist()
    with pytest.raises(RuntimeError, match=r"\.numpy\(\) is not supported for tensor subclasses"):
        two.numpy()


def test_gradcheck_compares_batched_gradients_of_wrappers():
    x = Recording(torch.tensor([0.5, 1.5], dtype=torch.float64), requires_grad=True)
    assert torch.autograd.gradcheck(lambda y: y * y.exp(), x, check_batched_grad=True)


def test_norms_and_cosine_similarity_along_one_dimension():
    x = Recording(torch.tensor([3.0, 4.0]))
    assert torch.linalg.vector_norm(x, dim=0).inner.item() == 5.0
    assert torch.nn.functional.cosine_similarity(x, x, dim=0).inner.item() == pytest.approx(1.0)
