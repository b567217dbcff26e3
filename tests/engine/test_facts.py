"""Facts that operations declare, such as `random` or their kind, and finding the names of operations by facts."""

from __future__ import annotations

import pytest

import flambeau as torch
import flambeau.nn.functional as F
from flambeau.engine.calls.op import composite, op
from flambeau.engine.calls.tables import OPS, PUBLIC
from flambeau.engine.calls.wrappers import with_out
from flambeau.extension import Autocast, Kind, Linearity, Narrow, declare, declared, facts_of, names, operation_name


@pytest.fixture(scope="module", autouse=True)
def operations():
    op(
        "facts_sample", lambda xp, input: -input, kind=Kind.POINTWISE, linearity=Linearity.JOINT, keeps_zero=True,
        aliases=("facts_alias",), dunders=(), inplace=True, method=False, public=False,
    )  # fmt: skip

    @composite(kind=Kind.VIEW, public=False, method=False, operators=("__facts__",))
    def facts_view(input):
        return input

    @with_out(kind=Kind.PRODUCT, autocast={"cuda": Autocast.FAST})
    def facts_product(input):
        return input

    @declare(kind=Kind.LOSS, narrow=Narrow.COMPLEX32)
    def facts_loss(input):
        return input

    yield
    for name in ("facts_sample_", "facts_alias_"):  # tests of other files look at all public names
        PUBLIC.pop(name, None)
        for owner in (torch, torch.Tensor):
            if name in vars(owner):
                delattr(owner, name)


def test_every_public_name_has_the_facts():
    for name in ("facts_sample", "facts_alias", "facts_sample_", "facts_alias_"):
        assert facts_of(name).kind is Kind.POINTWISE
        assert facts_of(name).name == "facts_sample"
        assert name in names(kind=Kind.POINTWISE, keeps_zero=True)
    assert facts_of("__facts__").kind is Kind.VIEW
    assert facts_of("facts_unknown") is None


def test_queries_combine_facts():
    assert "facts_sample" in names(kind={Kind.POINTWISE, Kind.VIEW}, linearity=Linearity.JOINT)
    assert "facts_sample" not in names(kind=Kind.POINTWISE, keeps_zero=False)
    assert "facts_view" in names(moves=True, narrow=Narrow.FLOAT8)
    assert "facts_loss" in names(narrow=Narrow.COMPLEX32)
    assert "facts_loss" not in names(narrow=Narrow.SIGNED_FLOAT8)


def test_queries_see_later_declarations():
    before = names(kind=Kind.SCAN)

    @declare("facts_first", "facts_second", kind=Kind.SCAN)
    def function(input):
        return input

    assert names(kind=Kind.SCAN) - before == {"facts_first", "facts_second"}


def test_autocast_policy_of_a_device():
    assert facts_of("facts_product").autocast_on("cuda") is Autocast.FAST
    assert facts_of("facts_product").autocast_on("xla") is Autocast.FAST
    assert facts_of("facts_product").autocast_on("cpu") is None


@pytest.mark.parametrize("declaring", [composite, with_out, declare])
def test_unknown_facts_are_refused(declaring):
    with pytest.raises(TypeError, match="unknown facts \\['colour'\\]"):
        declaring(colour="red")(len)


def test_every_operation_declares_facts():
    modules = {torch: PUBLIC, F: F.__all__, **{each: each.__all__ for each in (torch.fft, torch.linalg, torch.special)}}
    functions = [getattr(module, name) for module, names in modules.items() for name in names if name in vars(module)]
    functions = [function for function in functions if callable(function) and not isinstance(function, type)]
    assert len(functions) > 700
    assert [name for name in map(operation_name, functions) if facts_of(name) is None] == []
    assert [name for name, record in OPS.items() if record.facts.name != name] == []


def test_modules_in_which_pytorch_defines_functions():
    assert declared("home")["einsum"] == "torch.functional"
    assert F.conv2d.__name__ in F.NATIVE and "relu" not in F.NATIVE and "relu_" in F.NATIVE


def test_random_operations() -> None:
    """Operations that draw random numbers are `random`; operations on drawn numbers are not."""
    random = names(random=True)
    assert {"rand", "randn_like", "randperm", "bernoulli", "bernoulli_", "uniform_", "dropout", "rrelu", "multinomial"} <= random
    assert not {"add", "zeros", "softmax", "gamma_sample"} & random
