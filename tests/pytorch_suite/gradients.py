"""Numerical Jacobians: replacements of private helpers of `gradcheck` that the suite's own helpers import."""

from __future__ import annotations

import itertools
from typing import Any

import torch


def iter_tensors(value: Any, only_requiring_grad: bool = False) -> Any:
    """Yield the tensors in nested sequences."""
    if isinstance(value, torch.Tensor):
        if value.requires_grad or not only_requiring_grad:
            yield value
    elif hasattr(value, "__iter__") and not isinstance(value, str):
        for each in value:
            yield from iter_tensors(each, only_requiring_grad)


def _jacobian(call: Any, x: Any, eps: float) -> Any:
    """Return the central differences of `call()` for each element of `x`: one row per element."""
    data, rows = x.data, []
    for index in itertools.product(*map(range, x.shape)):
        value = data[index].item()
        outputs = []
        for changed in (value - eps, value + eps):
            data[index] = changed
            outputs.append(call().detach().clone())
        data[index] = value
        rows.append(((outputs[1] - outputs[0]) / (2 * eps)).reshape(-1))
    return torch.stack(rows) if rows else torch.zeros(0, call().numel(), dtype=torch.double)


def jacobian_of_2019(function: Any, input: Any, target: Any = None, eps: float = 1e-3) -> Any:
    """`get_numerical_jacobian` as the suite of 2019 calls it."""

    def walk(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return _jacobian(lambda: function(input), value, eps) if value.is_floating_point() else None
        found = [walk(each) for each in value if isinstance(each, (torch.Tensor, list, tuple))]
        return [each for each in found if each is not None]

    return walk(input if target is None else target)


def jacobian_of_1_13(
    function: Any, inputs: Any, outputs: Any = None, target: Any = None, eps: float = 1e-3, is_forward_ad: bool = False
) -> Any:
    """`_get_numerical_jacobian` as the suite of release 1.13 calls it."""
    target = inputs if target is None else target
    inputs = inputs if isinstance(inputs, tuple) else (inputs,)
    return [(_jacobian(lambda: function(*inputs), x, eps),) for x in iter_tensors(target) if x.is_floating_point()]
