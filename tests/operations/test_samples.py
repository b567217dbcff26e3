"""Run the sample table on the selected backend: each test checks one property for every operation."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau as torch
from flambeau.conformance.checks import CHECKS, Checker, results_of
from flambeau.conformance.samples import bad_calls, families

checker = Checker()


def named(table):
    return [
        pytest.param(sample, id=f"{family}-{number}-{sample.name}")
        for family, samples in table.items()
        for number, sample in enumerate(samples)
    ]


def samples_for(check):
    return pytest.mark.parametrize(
        "sample", [param for param in named(families()) if CHECKS[check](param.values[0]) and checker.dtypes(param.values[0])]
    )


@samples_for("values")
def test_values(sample):
    checker.values(sample)


@samples_for("shapes")
def test_shapes(sample):
    checker.shapes(sample)


@samples_for("layouts")
def test_layouts(sample):
    checker.layouts(sample)


@samples_for("forms")
def test_forms(sample):
    checker.forms(sample)


@samples_for("gradients")
def test_gradients(sample):
    checker.gradients(sample)


def count_nodes(node):
    """Traverse a graph through `next_functions`, which expands composite nodes; return the number of nodes."""
    seen, stack = set(), [node]
    while stack:
        node = stack.pop()
        if node is not None and node not in seen:
            seen.add(node)
            stack.extend(function for function, _ in node.next_functions)
    return len(seen)


@samples_for("gradients")
def test_gradients_of_a_graph_that_was_looked_at(sample):
    gradients = []
    for looks in (False, True):
        torch.manual_seed(0)
        tensors = checker.differentiable(sample)
        results = [result for result in results_of(sample.call(torch, *tensors)) if getattr(result, "grad_fn", None) is not None]
        for result in results if looks else ():
            assert count_nodes(result.grad_fn)
        torch.autograd.backward(results, [torch.ones_like(result) for result in results])
        gradients.append([tensor.grad for tensor in tensors])
    for plain, looked in zip(*gradients, strict=True):
        assert (plain is None) is (looked is None)
        if plain is not None:
            torch.testing.assert_close(looked, plain, equal_nan=True)


@samples_for("second_gradients")
def test_second_gradients(sample):
    checker.second_gradients(sample)


@samples_for("forward_mode")
def test_forward_mode(sample):
    checker.forward_mode(sample)


@samples_for("vmap")
def test_vmap(sample):
    checker.vmap(sample)


@samples_for("promotion")
def test_promotion(sample):
    checker.promotion(sample)


@pytest.mark.parametrize("bad", named(bad_calls()))
def test_errors(bad):
    checker.raises(bad)


@pytest.mark.parametrize("sample", [param for param in named(families()) if param.values[0].view])
def test_views_share_memory(sample):
    """Writes to a view are visible in its base."""
    base, *others = [torch.tensor(array) for array in sample.arrays(np, sample.dtypes[0])]
    result = sample.call(torch, base, *others)
    view = result if isinstance(result, torch.Tensor) else result[0]
    if view.numel() <= base.numel():  # PyTorch rejects writes to overlapping elements
        with torch.no_grad():
            view.detach().fill_(77.0)
        assert (torch.view_as_real(base) if base.is_complex() else base).eq(77.0).any() or not base.numel()
    base.zero_()
    assert not view.any()
