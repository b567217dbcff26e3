"""Calls in `inference_mode`: values, marks, modes, errors, and their number of Python calls."""

from __future__ import annotations

import sys

import pytest

import flambeau as torch


def test_calls_in_inference_mode_equal_those_in_no_grad():
    x, weight, places = torch.randn(4, 6), torch.nn.Parameter(torch.randn(6, 6)), torch.tensor([3, 0])
    calls = {
        "parameter": lambda: x @ weight + weight[0],
        "number": lambda: x * 2.5 + True + torch.where(x > 0, x, 0),
        "too large a number": lambda: x.to(torch.int32) + 2.0,
        "half and number": lambda: x.to(torch.float16) / 3,
        "dtypes": lambda: x.double() + x,
        "indices": lambda: torch.embedding(weight, places),
        "sequence": lambda: torch.cat([x, x.int()]),
        "several results": lambda: torch.cat(x.max(1, keepdim=True)),
        "list": lambda: torch.cat(x.split([1, 3]), 0),
        "dtype": lambda: x.sum(dtype=torch.float64),
        "tensor as parameter": lambda: x.sum(torch.tensor(1)),
        "optional": lambda: torch.nn.functional.layer_norm(x, (6,), None, weight[1]),
        "linear": lambda: torch.nn.functional.linear(x.view(2, 2, 6), weight),
    }
    for name, call in calls.items():
        with torch.no_grad():
            expected = call()
        with torch.inference_mode():
            call()  # looks up the kernels
            result = call()
        assert result.is_inference() and not result.requires_grad, name
        assert result.dtype is expected.dtype and torch.equal(result, expected), name
    assert not (x * 2).is_inference() and (x @ weight).requires_grad


def test_modes_and_errors_in_inference_mode():
    class Counter(torch.overrides.TorchFunctionMode):
        names: list[str] = []

        def __torch_function__(self, function, types, args=(), kwargs=None):
            self.names.append(function.__name__)
            return function(*args, **kwargs or {})

    x = torch.ones(2, 3)
    with torch.inference_mode():
        x + x
        with Counter(), torch.inference_mode():
            torch.add(x, x)
        assert Counter.names == ["add"]
        for _ in range(2):
            with pytest.raises(RuntimeError, match="must match the size"):
                x + torch.ones(2, 2)
            with pytest.raises(RuntimeError, match="expected m1 and m2 to have the same dtype"):
                torch.mm(x, torch.ones(3, 1).double())
            with pytest.raises(TypeError, match="must be bool"):
                x.sum(0, keepdim=3)


def test_a_call_in_inference_mode_takes_few_python_calls():
    def count(call):
        counts = [0]

        def profile(frame, event, argument):
            counts[0] += event == "call"

        call()
        sys.setprofile(profile)
        try:
            call()
        finally:
            sys.setprofile(None)
        return counts[0]

    x = torch.ones(2, 3)
    calls = [lambda: x * x, lambda: x.exp(), lambda: x.transpose(0, 1), lambda: torch.nn.functional.linear(x, x)]
    with torch.no_grad():
        expected = [count(call) for call in calls]
    with torch.inference_mode():
        assert all(count(call) <= least + 12 for call, least in zip(calls, expected, strict=True))
