"""`torch.func` in flambeau and PyTorch: values, structures and errors."""

from __future__ import annotations

import re
import warnings

import pytest

theirs = pytest.importorskip("torch")

import flambeau as ours  # noqa: E402

BATCHES = {
    "sum": lambda t, x, y: t.vmap(t.sum)(x), "in_dims": lambda t, x, y: t.vmap(t.sum, in_dims=-1)(x),
    "none": lambda t, x, y: t.vmap(t.mul, in_dims=(0, None))(y, 2.0), "out_dims": lambda t, x, y: t.vmap(lambda a: a * 2, out_dims=-1)(x),
    "tuple": lambda t, x, y: t.vmap(lambda a: (a * 2, a.sum()), out_dims=(1, 0))(x), "constant": lambda t, x, y: t.vmap(lambda a: t.ones(2))(y),
    "dict": lambda t, x, y: t.vmap(lambda d: {"c": d["a"] * d["b"]}, in_dims=({"a": 0, "b": None},))({"a": y, "b": x[0]}),
    "constant none": lambda t, x, y: t.vmap(lambda a: t.ones(2), out_dims=None)(y), "keyword": lambda t, x, y: t.vmap(lambda a, b=1: a * b)(y, b=3),
    "nested": lambda t, x, y: t.vmap(t.vmap(t.mul, in_dims=(None, 0)), in_dims=(0, None))(y, y), "int": lambda t, x, y: t.vmap(lambda a: 3)(y),
    "int given": lambda t, x, y: t.vmap(t.mul)(y, 3), "sizes": lambda t, x, y: t.vmap(t.mul)(y, x[:2]), "no inputs": lambda t, x, y: t.vmap(lambda: 3)(),
    "range": lambda t, x, y: t.vmap(t.sum, in_dims=2)(x), "scalar": lambda t, x, y: t.vmap(t.sum)(t.tensor(3.0)),
    "all none": lambda t, x, y: t.vmap(t.mul, in_dims=(None, None))(y, y), "in_dims short": lambda t, x, y: t.vmap(t.mul, in_dims=(0,))(y, y),
    "in_dims list": lambda t, x, y: t.vmap(t.mul, in_dims=[0, 0])(y, y), "in_dims float": lambda t, x, y: t.vmap(t.mul, in_dims=(0.5, 0))(y, y),
    "out_dims long": lambda t, x, y: t.vmap(lambda a: (a, a), out_dims=(0, 0, 0))(y), "out_dims str": lambda t, x, y: t.vmap(lambda a: a, out_dims="a")(y),
    "out_dims range": lambda t, x, y: t.vmap(lambda a: a, out_dims=3)(y), "randomness": lambda t, x, y: t.vmap(lambda a: a, randomness="x")(y),
    "chunk_size": lambda t, x, y: t.vmap(lambda a: a, chunk_size=0)(y), "if": lambda t, x, y: t.vmap(lambda a: a if a > 1 else -a)(y),
    "item": lambda t, x, y: t.vmap(lambda a: a.item())(y), "nonzero": lambda t, x, y: t.vmap(lambda a: a.nonzero())(x),
    "random": lambda t, x, y: t.vmap(lambda a: a + t.rand(2))(y), "in place": lambda t, x, y: t.vmap(lambda a: a.mul_(2))(x.clone()),
    "max": lambda t, x, y: tuple(t.vmap(lambda a: a.max(0))(x)), "types": lambda t, x, y: t.vmap(lambda a: (a + 1.5, a / 2, a // 2))(t.arange(3)),
}  # fmt: skip

TRANSFORMS = {
    "not scalar": lambda f, t, x, y: f.grad(lambda a: a)(y), "not tensor": lambda f, t, x, y: f.grad(lambda a: 3.0)(y),
    "argnums": lambda f, t, x, y: f.grad(lambda a, b: (a * b).sum(), argnums=(0, 1))(y, y), "argnum": lambda f, t, x, y: f.grad(lambda a: a.sum(), argnums=2)(y),
    "aux": lambda f, t, x, y: f.grad(lambda a: (a.sum(), a * 2), has_aux=True)(y), "value": lambda f, t, x, y: f.grad_and_value(lambda a: (a * a).sum())(y),
    "value and aux": lambda f, t, x, y: f.grad_and_value(lambda a: (a.sum(), a * 2), has_aux=True)(y),
    "no aux": lambda f, t, x, y: f.grad(lambda a: a.sum(), has_aux=True)(y), "dict": lambda f, t, x, y: f.grad(lambda d: (d["a"] * d["b"]).sum())({"a": y, "b": y * 2}),
    "float": lambda f, t, x, y: f.grad(lambda a: a)(3.0), "unused": lambda f, t, x, y: f.grad(lambda a, b: b.sum(), argnums=(0, 1))(y, y),
    "vjp": lambda f, t, x, y: f.vjp(t.sin, y)[1](y), "vjp structure": lambda f, t, x, y: f.vjp(lambda a: (a, a), y)[1](y),
    "vjp whole": lambda f, t, x, y: f.vjp(lambda a: a.long(), y), "vjp number": lambda f, t, x, y: f.vjp(lambda a: 3, y),
    "jvp": lambda f, t, x, y: f.jvp(t.sin, (y,), (y,)), "jvp no tuple": lambda f, t, x, y: f.jvp(t.sin, y, y),
    "jvp constant": lambda f, t, x, y: f.jvp(lambda a: t.ones(2), (y,), (y,)), "jvp strict": lambda f, t, x, y: f.jvp(lambda a: t.ones(2), (y,), (y,), strict=True),
    "jvp aux": lambda f, t, x, y: f.jvp(lambda a: (a * 2, a * 3), (y,), (y,), has_aux=True),
    "jacrev": lambda f, t, x, y: f.jacrev(lambda a: (a**2, a.sum()))(y), "jacfwd": lambda f, t, x, y: f.jacfwd(lambda a: (a**2, a.sum()))(y),
    "jacrev argnums": lambda f, t, x, y: f.jacrev(t.mul, argnums=(0, 1))(y, y), "jacfwd aux": lambda f, t, x, y: f.jacfwd(lambda a: (a**2, a), has_aux=True)(y),
    "jacrev dict": lambda f, t, x, y: f.jacrev(lambda d: d["a"] * 2)({"a": y}), "jacrev complex": lambda f, t, x, y: f.jacrev(t.sin)(y.to(t.complex64)),
    "jacrev chunk": lambda f, t, x, y: f.jacrev(t.sin, chunk_size=0), "hessian": lambda f, t, x, y: f.hessian(lambda a: (a**3).sum())(y),
    "hessian argnums": lambda f, t, x, y: f.hessian(lambda a, b: (a * b**2).sum(), argnums=(0, 1))(y, y),
    "vmap of hessian": lambda f, t, x, y: f.vmap(f.hessian(lambda a: (a**3).sum()))(x), "linearize": lambda f, t, x, y: f.linearize(t.sin, y)[1](y),
    "functionalize": lambda f, t, x, y: f.functionalize(lambda a: a.add_(1))(y.clone()), "remove": lambda f, t, x, y: f.functionalize(lambda a: a, remove="x"),
    "no models": lambda f, t, x, y: f.stack_module_state([]), "captured": lambda f, t, x, y: f.grad(lambda a: y.mul_(a).sum())(y.clone()),
    "captured by vjp": lambda f, t, x, y: f.vjp(lambda a: y.add_(1) * a, y.clone()), "captured by jvp": lambda f, t, x, y: f.jvp(lambda a: x[0].zero_() + a, (y,), (y,)),
    "captured by jacfwd": lambda f, t, x, y: f.jacfwd(lambda a: y.detach().add_(1) * a)(y.clone()), "made inside": lambda f, t, x, y: f.grad(lambda a: t.zeros(2).add_(a).sum())(y),
    "captured by vmap": lambda f, t, x, y: f.vmap(lambda a: x[0].zero_() + a.sum())(y), "leaf": lambda f, t, x, y: f.grad(lambda a: a.requires_grad_().sum())(y),
    "leaf in vmap": lambda f, t, x, y: f.vmap(lambda a: a.requires_grad_())(y), "backward": lambda f, t, x, y: f.grad(lambda a: a.sum().backward() or a.sum())(y),
    "out": lambda f, t, x, y: f.jvp(lambda a: t.exp(a, out=t.empty(2)), (y,), (y,)),
}  # fmt: skip


def described(value, torch):
    if isinstance(value, torch.Tensor):
        return (
            tuple(value.shape),
            str(value.dtype),
            value.requires_grad,
            [round(float(each), 4) for each in value.reshape(-1).tolist()],
        )
    if isinstance(value, (tuple, list)):
        return [described(each, torch) for each in value]
    if isinstance(value, dict):
        return {name: described(each, torch) for name, each in value.items()}
    return str(type(value))


def outcome(torch, call):
    try:
        return described(call(torch), torch)
    except Exception as error:
        message = re.sub(r"call in-place operation \(.*?\)", "call an in-place operation", str(error))
        return type(error).__name__, message.split("\n")[0].split(". ")[0].replace("flambeau", "torch")


def assert_agree(call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        got, wanted = (outcome(torch, call) for torch in (ours, theirs))
    assert got == wanted


@pytest.mark.parametrize("name", BATCHES)
def test_batches(name):
    assert_agree(lambda torch: BATCHES[name](torch, torch.arange(12.0).reshape(3, 4) / 10, torch.arange(3.0)))


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name):
    assert_agree(lambda torch: TRANSFORMS[name](torch.func, torch, torch.arange(12.0).reshape(3, 4) / 10, torch.arange(3.0)))
