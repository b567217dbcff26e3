"""`torch.library.opcheck`: correct operators pass, and each test finds the fault that it looks for."""

from __future__ import annotations

import pytest

import flambeau as torch
from flambeau.library.checking import OpCheckError


def operator(name, function, fake=None, backward=None, mutates=()):
    made = torch.library.custom_op(f"opcheck_tests::{name}", mutates_args=mutates, schema="(Tensor x) -> Tensor")(function)
    if fake is not None:
        made.register_fake(fake)
    if backward is not None:
        made.register_autograd(backward)
    return made


def check(op, x, **options):
    return torch.library.opcheck(op, (x,), **options)


def added(x):
    x.add_(1)
    return x * 2


@pytest.mark.parametrize("requires_grad", [False, True])
def test_correct_operators_pass(requires_grad):
    x = torch.ones(2, 3, requires_grad=requires_grad)
    double = operator(f"double_{requires_grad}", lambda x: x * 2, torch.empty_like, lambda ctx, g: g * 2)
    for op in (double, torch.ops.aten.sin.default, torch.ops.aten.exp):
        assert set(check(op, x).values()) == {"SUCCESS"}
    assert x.tolist() == [[1, 1, 1]] * 2 and x.grad is None


def test_each_fault_is_found():
    x = torch.ones(2, 3)
    with pytest.raises(OpCheckError, match="test_schema failed with Argument x is not defined as mutable but was mutated"):
        check(operator("adds", added, torch.empty_like), x)
    with pytest.raises(OpCheckError, match="test_faketensor failed with There was no fake impl registered"):
        check(operator("without_fake", lambda x: x * 2), x)
    with pytest.raises(OpCheckError, match=r"has shape torch.Size\(\[3\]\), but the operator returned torch.Size\(\[2, 3\]\)"):
        check(operator("wrong_fake", lambda x: x * 2, lambda x: x.new_empty(3)), x)
    library = torch.library.Library("opcheck_tests", "FRAGMENT")
    library.define("untracked(Tensor x) -> Tensor")
    library.impl("untracked", lambda x: x.detach() * 2, "CompositeExplicitAutograd")
    with pytest.raises(OpCheckError, match="test_autograd_registration failed"):
        check(torch.ops.opcheck_tests.untracked.default, x.clone().requires_grad_())


def test_failures_can_be_returned():
    found = check(
        operator("returned", added), torch.ones(2), raise_exception=False, test_utils=("test_schema", "test_faketensor")
    )
    assert [type(result) for result in found.values()] == [RuntimeError, RuntimeError]
    with pytest.raises(ValueError, match="unknown tests"):
        check(torch.ops.aten.sin.default, torch.ones(1), test_utils="test_other")
