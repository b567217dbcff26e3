"""Record a call of every operation as a graph: replays give the same results and gradients as the call."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import flambeau as torch
from flambeau.conformance.checks import Checker, results_of
from flambeau.conformance.samples import families
from flambeau.transforms.capture import NotCapturable, Refused, capture

pytestmark = pytest.mark.slow
checker = Checker("cpu")

# Accepted reasons (parts of messages) why a call cannot be replayed.
REASONS = (
    "it returns a view of a tensor from outside", "complex", "looks at", "a number that changes", "depends on values", "share memory", "from outside",
)  # fmt: skip


def same(one, other) -> bool:
    if not isinstance(one, torch.Tensor):
        return one == other or one != one
    return (
        one.shape == other.shape and one.dtype == other.dtype and bool(((one == other) | ((one != one) & (other != other))).all())
    )


def gradients(results, inputs):
    outputs = [result for result in results if isinstance(result, torch.Tensor) and result.requires_grad]
    wanted = [tensor for tensor in inputs if tensor.requires_grad]
    if not outputs or not wanted:
        return []
    return torch.autograd.grad(outputs, wanted, [torch.ones_like(output) for output in outputs], allow_unused=True)


def fresh(inputs):
    return [tensor.detach().clone(memory_format=torch.preserve_format).requires_grad_(tensor.requires_grad) for tensor in inputs]


@pytest.mark.parametrize("family", families())
def test_every_operation(family):
    refused = 0
    count = 0
    # the first sample of each operation
    for sample in {sample.name: sample for sample in reversed(families()[family])}.values():
        dtypes = checker.dtypes(sample)
        if not dtypes:
            continue
        count += 1
        inputs = [torch.tensor(array) for array in sample.arrays(np, dtypes[0])]
        for tensor in inputs:
            if sample.grad and tensor.is_floating_point():
                tensor.requires_grad_()

        def call(*tensors, sample=sample):
            return results_of(sample.call(torch, *tensors))

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.manual_seed(0)
            try:
                expected, captured = capture(call, fresh(inputs))
            except (Refused, NotCapturable) as error:
                assert any(reason in str(error) for reason in REASONS), (sample.name, error)
                refused += 1
                continue
            again = fresh(inputs)
            torch.manual_seed(0)
            replayed = captured.replay(again)
            plain = fresh(inputs)
            torch.manual_seed(0)
            eager = call(*plain)
            assert len(replayed) == len(eager) == len(expected), sample.name
            for first, second, third in zip(expected, replayed, eager, strict=True):
                assert same(first, third) and same(second, third), sample.name
                assert not isinstance(third, torch.Tensor) or second.requires_grad == third.requires_grad
            for one, other in zip(gradients(replayed, again), gradients(eager, plain), strict=True):
                assert (one is None) == (other is None) and (one is None or same(one, other)), sample.name
    assert refused < count
