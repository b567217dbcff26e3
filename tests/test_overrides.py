"""``__torch_function__`` modes that see every call, and change nothing."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau as torch
from flambeau.conformance.samples import families


class Passing(torch.overrides.TorchFunctionMode):
    """Lets every call pass, one by one."""

    def __init__(self):
        self.seen = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen.append(func.__name__)
        return func(*args, **(kwargs or {}))


class Following(Passing):
    """Goes into every function, to see what it calls in turn."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen.append(func.__name__)
        with self:
            return torch.overrides.redispatch_function(func, types, args, kwargs or {})


def results(made):
    if isinstance(made, (tuple, list)):
        return [each for item in made for each in results(item)]
    return [made]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("mode", [Passing, Following])
@pytest.mark.parametrize("family", families())
def test_modes_that_let_everything_pass_change_nothing(family, mode):
    for sample in families()[family]:
        torch.manual_seed(0)
        wanted = results(sample.call(torch, *map(torch.tensor, sample.arrays(np, sample.dtypes[0]))))
        torch.manual_seed(0)
        with mode() as watched:
            got = results(sample.call(torch, *map(torch.tensor, sample.arrays(np, sample.dtypes[0]))))
        assert watched.seen, sample.name
        for a, b in zip(got, wanted, strict=True):
            if isinstance(b, torch.Tensor):
                assert a.dtype is b.dtype, sample.name
                torch.testing.assert_close(a, b, rtol=0, atol=0, equal_nan=True, msg=sample.name)
            else:
                assert a == b or a != a, sample.name


def test_what_a_mode_sees_is_what_was_called():
    x = torch.ones(2, 2)
    with Passing() as watched:
        torch.nn.functional.group_norm(torch.chunk(torch.matmul(x, x), 2)[0] + 1, 1)
    assert watched.seen == ["matmul", "chunk", "add", "group_norm"]


def test_a_mode_that_follows_sees_what_is_inside_once():
    x = torch.ones(2, 2)
    with Following() as watched:
        torch.nansum(x)
        torch.reshape(x, (4,))
    assert watched.seen.count("nansum") == watched.seen.count("reshape") == 1 and "sum" in watched.seen
