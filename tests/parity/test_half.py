"""float16 and bfloat16 results are compared with PyTorch's bit for bit: each is rounded once, as is a scalar argument."""

from __future__ import annotations

import numpy as np
import pytest

theirs = pytest.importorskip("torch")

import flambeau as ours  # noqa: E402

NUMBERS = [0.7, 0.1, 3, -1.1]
WITH_A_NUMBER = {
    "mul": lambda x, n: x * n, "rmul": lambda x, n: n * x, "mul_": lambda x, n: x.clone().mul_(n), "div": lambda x, n: x / n,
    "rdiv": lambda x, n: n / x, "div_": lambda x, n: x.clone().div_(n), "add": lambda x, n: x + n, "sub": lambda x, n: x - n,
    "rsub": lambda x, n: n - x, "remainder": lambda x, n: x % n, "floor": lambda x, n: x // n, "fmod": lambda x, n: x.fmod(n),
    "clamp": lambda x, n: x.clamp(max=n), "zero-dimensional": lambda x, n: x * x.new_tensor(n),
}  # fmt: skip
OF_THREE = {
    "add": lambda torch, x, y, z: x.add(y, alpha=0.7),
    "add_": lambda torch, x, y, z: x.clone().add_(y, alpha=0.7),
    "sub": lambda torch, x, y, z: x.sub(y, alpha=0.7),
    "rsub": lambda torch, x, y, z: torch.rsub(x, y, alpha=0.7),
    "addcmul": lambda torch, x, y, z: x.addcmul(y, z),
    "addcmul_": lambda torch, x, y, z: x.clone().addcmul_(y, z, value=0.7),
    "addcdiv": lambda torch, x, y, z: x.addcdiv(y, z, value=0.7),
    "lerp": lambda torch, x, y, z: x.lerp(y, z),
    "lerp to a number": lambda torch, x, y, z: x.lerp(y, 0.3),
    "sigmoid": lambda torch, x, y, z: x.sigmoid(),
    "rsqrt": lambda torch, x, y, z: x.abs().rsqrt(),
    "leaky_relu": lambda torch, x, y, z: torch.nn.functional.leaky_relu(x, 0.1),
    "softshrink": lambda torch, x, y, z: torch.nn.functional.softshrink(x, 0.3),
    "silu": lambda torch, x, y, z: torch.nn.functional.silu(x),
    "softplus": lambda torch, x, y, z: torch.nn.functional.softplus(x),
    "mish": lambda torch, x, y, z: torch.nn.functional.mish(x),
    "hardswish": lambda torch, x, y, z: torch.nn.functional.hardswish(x),
    "tanh": lambda torch, x, y, z: x.tanh(),
    "hypot": lambda torch, x, y, z: torch.hypot(x, y),
    "softmax": lambda torch, x, y, z: x.view(10, 100).softmax(1),
    "sum": lambda torch, x, y, z: x.view(10, 100).sum(1),
    "mean": lambda torch, x, y, z: x.view(10, 100).mean(1),
    "matmul": lambda torch, x, y, z: x.view(10, 100) @ y.view(100, 10),
    "dropout": lambda torch, x, y, z: (torch.manual_seed(0), torch.nn.functional.dropout(x, 0.3))[1],
}


def three(torch, dtype):
    values = np.random.default_rng(0).standard_normal((3, 1000)) * [[3], [1], [1]]
    return [torch.tensor(each).to(getattr(torch, dtype)) for each in values]


def assert_nearly_all_equal(got, wanted):
    """Assert that all but 0.4 % of the elements are equal: float32 roundings inside a kernel may differ."""
    got, wanted = got.float().numpy(), wanted.float().numpy()
    assert (got != wanted).sum() <= 0.004 * got.size
    np.testing.assert_allclose(got, wanted, rtol=2e-2, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", WITH_A_NUMBER)
def test_numbers_beside_half_precision(name, dtype):
    for number in NUMBERS:
        got, wanted = (WITH_A_NUMBER[name](three(torch, dtype)[0], number) for torch in (ours, theirs))
        assert (got.float().numpy() == wanted.float().numpy()).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", OF_THREE)
def test_rounded_once(name, dtype):
    assert_nearly_all_equal(*(OF_THREE[name](torch, *three(torch, dtype)) for torch in (ours, theirs)))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_gradients_by_numbers(dtype):
    gradients = []
    for torch in (ours, theirs):
        x, y, _ = (each.requires_grad_() for each in three(torch, dtype))
        ((x * 0.7 + 1.1 * y) / 0.3).backward(torch.ones_like(x))
        gradients += [x.grad.float().numpy(), y.grad.float().numpy()]
    assert (gradients[0] == gradients[2]).all() and (gradients[1] == gradients[3]).all()
