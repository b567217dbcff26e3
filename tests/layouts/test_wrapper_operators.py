"""The operators that `__torch_dispatch__` of wrapper subclasses receives: those of PyTorch 2.13."""

from __future__ import annotations

import pytest
from flambeau.utils._pytree import tree_map

import flambeau as torch
from flambeau.nn import functional as F

INDEX = torch.tensor([[0, 1], [1, 0]])
BOUNDS = torch.tensor([0.3, 0.6])
WEIGHT = torch.tensor([0.25])


class Noted(torch.Tensor):
    """A wrapper of one tensor that notes each operator and its arguments: `T` for a wrapper, `t` for another tensor."""

    seen: list[str] = []

    @staticmethod
    def __new__(cls, inner, requires_grad=False):
        return torch.Tensor._make_wrapper_subclass(
            cls, inner.shape, strides=inner.stride(), dtype=inner.dtype, requires_grad=requires_grad
        )

    def __init__(self, inner, requires_grad=False):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        named = [f"{key}={_shown(value)}" for key, value in kwargs.items()]
        cls.seen.append(f"{str(func).removeprefix('aten.')}({', '.join([*map(_shown, args), *named])})")
        args, kwargs = tree_map(lambda leaf: leaf.inner if isinstance(leaf, cls) else leaf, (args, kwargs))
        return tree_map(lambda leaf: cls(leaf) if isinstance(leaf, torch.Tensor) else leaf, func(*args, **kwargs))


def _shown(value):
    if isinstance(value, torch.Tensor):
        return "T" if isinstance(value, Noted) else "t"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_shown, value))}]"
    return f"{value:g}" if isinstance(value, float) else str(value)


CALLS = {
    "rsub": (lambda x: 1 - x, "rsub.Scalar(T, 1)"),
    "repeat": (lambda x: x.repeat(2, 1), "repeat.default(T, [2, 1])"),
    "square": (torch.square, "pow.Tensor_Scalar(T, 2)"),
    "elu": (lambda x: F.elu(x, 0.5), "elu.default(T, 0.5)"),
    "selu": (F.selu, "elu.default(T, 1.67326, 1.0507)"),
    "glu": (F.glu, "glu.default(T)"),
    "gelu": (lambda x: F.gelu(x, approximate="tanh"), "gelu.default(T, approximate=tanh)"),
    "hardshrink": (F.hardshrink, "hardshrink.default(T)"),
    "prelu": (lambda x: F.prelu(x, WEIGHT), "_prelu_kernel.default(T, t)"),
    "polygamma": (lambda x: torch.polygamma(1, x), "polygamma.default(1, T)"),
    "addcmul": (lambda x: torch.addcmul(x, x, x, value=2), "addcmul.default(T, T, T, value=2)"),
    "var": (lambda x: x.var(1), "var.correction(T, [1], correction=1)"),
    "std": (lambda x: x.std(0, correction=0, keepdim=True), "std.correction(T, [0], correction=0, keepdim=True)"),
    "trace": (torch.trace, "trace.default(T)"),
    "topk": (lambda x: x.topk(1, 1)[0], "topk.default(T, 1, 1)"),
    "kthvalue": (lambda x: x.kthvalue(2, 1)[0], "kthvalue.default(T, 2, 1)"),
    "scatter": (lambda x: x.scatter(1, INDEX, x * 2), "scatter.src(T, 1, t, T)"),
    "scatter_add": (lambda x: x.scatter_add(1, INDEX, x * 2), "scatter_add.default(T, 1, t, T)"),
    "squeeze": (lambda x: x[None].squeeze(0), "squeeze.dim(T, 0)"),
    "squeeze of one dimension": (lambda x: x[None, :, None].squeeze(2), "squeeze.dim(T, 2)"),
    "mse_loss": (lambda x: F.mse_loss(x, x * 2, reduction="sum"), "mse_loss.default(T, T, 2)"),
    "pad": (lambda x: F.pad(x, (1, 2), value=2.0), "constant_pad_nd.default(T, [1, 2], 2)"),
    "avg_pool2d": (lambda x: F.avg_pool2d(x[None], 2), "avg_pool2d.default(T, [2, 2])"),
    "bucketize": (lambda x: torch.bucketize(x, BOUNDS, right=True), "bucketize.Tensor(T, t, right=True)"),
    "count_nonzero": (lambda x: torch.count_nonzero(x, 1), "count_nonzero.default(T, 1)"),
}


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_operators_and_gradients(name, requires_grad):
    call, expected = CALLS[name]
    values = torch.tensor([[0.5, 0.25], [0.125, 0.75]])
    plain, wrapper = values.clone().requires_grad_(requires_grad), Noted(values.clone(), requires_grad)
    Noted.seen.clear()
    result, other = call(wrapper), call(plain)
    assert expected in Noted.seen
    torch.testing.assert_close(result.inner, other.detach())
    if requires_grad and other.requires_grad:
        result.sum().backward()
        other.sum().backward()
        torch.testing.assert_close(wrapper.grad.inner, plain.grad)


def test_second_derivatives_of_operators_that_backward_computes_again():
    x = Noted(torch.tensor([[0.5, -0.25]]), requires_grad=True)
    (gradient,) = torch.autograd.grad(F.glu(x).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(gradient.sum(), x)
    y = torch.tensor([[0.5, -0.25]], requires_grad=True)
    (gradient,) = torch.autograd.grad(F.glu(y).sum(), y, create_graph=True)
    torch.testing.assert_close(second.inner, torch.autograd.grad(gradient.sum(), y)[0])


def test_gradients_of_an_index_that_is_a_wrapper():
    x = Noted(torch.tensor([1.0, 2.0, 3.0]), requires_grad=True)
    x[Noted(torch.tensor([0, 2, 0]))].sum().backward()
    assert x.grad.inner.tolist() == [2.0, 0.0, 1.0]


def test_batch_norm_in_training():
    x = torch.tensor([[1.0, 2.0], [3.0, 8.0]])
    torch.testing.assert_close(
        F.batch_norm(Noted(x), None, None, training=True).inner, F.batch_norm(x, None, None, training=True)
    )


@pytest.mark.parametrize("write", [torch.Tensor.zero_, lambda x: x.fill_(1.0), lambda x: x.copy_(torch.ones(2))])
def test_overwriting_in_place_is_not_recorded(write):
    with pytest.raises(RuntimeError, match="autograd does not support the in-place method"):
        write(Noted(torch.ones(2), requires_grad=True) * 2)
    x = Noted(torch.full((2,), 5.0))
    assert write(x) is x and x.inner.tolist() in ([0.0, 0.0], [1.0, 1.0])
