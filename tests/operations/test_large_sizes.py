"""Sizes and numbers too large for memory, or for the dtype, raise PyTorch's errors."""

from __future__ import annotations

import pytest

import flambeau as torch
import flambeau.nn.functional as F


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: torch.zeros(2**60), "can't allocate memory"),
        (lambda: torch.rand(2**60), "can't allocate memory"),
        (lambda: torch.full((2**55,), 1), "can't allocate memory"),
        (lambda: torch.ones(1).new_full((2**60,), 1), "can't allocate memory"),
        (lambda: torch.arange(2**55), "can't allocate memory"),
        (lambda: torch.linspace(0, 1, 2**55), "can't allocate memory"),
        (lambda: torch.eye(2**30), "can't allocate memory"),
        (lambda: torch.tril_indices(2**50, 2**50), "can't allocate memory"),
        (lambda: torch.randperm(2**55), "can't allocate memory"),
        (lambda: torch.nn.functional.one_hot(torch.tensor([2**55])), "can't allocate memory"),
        (lambda: torch.zeros_like(torch.ones(1).expand(2**55)), "can't allocate memory"),
        (lambda: torch.ones(1).expand(2**55).double(), "can't allocate memory"),
        (lambda: torch.hann_window(2**55), "can't allocate memory"),
        (lambda: torch.signal.windows.kaiser(2**55), "can't allocate memory"),
        (lambda: torch.signal.windows.hann(2**62), "Storage size calculation overflowed"),
        (lambda: torch.full((2**60, 8), 1.0), "Storage size calculation overflowed"),
        (lambda: torch.zeros(2**62), "Storage size calculation overflowed"),
        (lambda: torch.ones(2, 4, 2**29, 2**29, dtype=torch.float64), "Storage size calculation overflowed"),
        (lambda: torch.ones(1, 3).repeat(2**62, 1), "Storage size calculation overflowed"),
        (lambda: torch.ones(2).resize_([2, 4, 2**29, 2**29]), "Storage size calculation overflowed"),
        (lambda: torch.arange(1e-38, 3e38), "invalid size, possible overflow"),
        (lambda: torch.randperm(257, dtype=torch.uint8), "n is too large for result tensor type: 'unsigned char'"),
        (lambda: torch.randperm(2**11 + 2, dtype=torch.float16), "n is too large for result tensor type: 'c10::Half'"),
        (lambda: torch.empty(2).uniform_(-3e38, 3e38), "uniform_ expects to-from <= "),
        (lambda: F.adaptive_avg_pool1d(torch.ones(1, 1, 2), 2**60), "can't allocate memory"),
        (lambda: F.adaptive_max_pool2d(torch.ones(1, 1, 2, 2), 2**29), "can't allocate memory"),
        (lambda: F.interpolate(torch.ones(1, 1, 2), 2**60), "can't allocate memory"),
        (lambda: F.interpolate(torch.ones(1, 1, 2, 2), 2**29, mode="bilinear"), "can't allocate memory"),
        (lambda: F.interpolate(torch.ones(1, 1, 2, 2, 2), 2**20, mode="area"), "can't allocate memory"),
        (lambda: F.pad(torch.ones(1, 1, 2), (0, 2**60), "replicate"), "can't allocate memory"),
        (lambda: torch.empty(2).uniform_(0, 1e300), "to is out of bounds for float"),
    ],
)
def test_refused_sizes(call, message):
    with pytest.raises(RuntimeError, match=message):
        call()


@pytest.mark.parametrize("decimals", [400, -400, 2**62])
def test_rounding_to_more_decimals_than_floats_have(decimals):
    assert torch.ones(2).round(decimals=decimals).isnan().all()


def test_integers_beyond_the_precision_of_a_dtype():
    with pytest.warns(UserWarning, match=r"to - 1 is out of bounds \[-\(2\^24\), 2\^24\]"):
        torch.empty(2).random_(2**25)


def test_lists_that_contain_themselves():
    first: list = [0]
    first.append(first)
    second: list = []
    second.append(second)
    for data in (first, second):
        with pytest.raises(TypeError, match="self-referential lists are incompatible"):
            torch.tensor(data)


@pytest.mark.parametrize("function", [torch.linspace, torch.logspace])
def test_refused_numbers_of_steps(function):
    with pytest.raises(RuntimeError, match="invalid size, possible overflow"):
        function(0, 1, 2**63)
