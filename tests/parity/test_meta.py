"""Operations on `meta` tensors have the same shapes, strides and dtypes as in PyTorch."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch

import flambeau
from flambeau.conformance.checks import Checker, results_of
from flambeau.conformance.samples import families

checker = Checker("cpu")


def described(library, results):
    return [
        (tuple(r.shape), str(r.dtype).split(".")[-1], r.device.type) if isinstance(r, library.Tensor) else type(r).__name__
        for r in results
    ]


def on_meta(library, sample, arrays):
    with library.device("meta"):
        tensors = [library.tensor(array, device="meta") for array in arrays]
        return described(library, results_of(sample.call(library, *tensors)))


@pytest.mark.parametrize(
    "sample",
    [
        pytest.param(sample, id=f"{family}-{number}-{sample.name}")
        for family, table in families().items()
        for number, sample in enumerate(table)
        if checker.dtypes(sample)
    ],
)
def test_results(sample):
    arrays = sample.arrays(np, checker.dtypes(sample)[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            on_cpu = described(torch, results_of(sample.call(torch, *map(torch.tensor, arrays))))
            expected = on_meta(torch, sample, arrays)
        except (RuntimeError, NotImplementedError, AttributeError, TypeError):
            pytest.skip("PyTorch itself does not compute this")
        if [tuple(map(str, r)) for r in expected] != [tuple(str(part).replace("cpu", "meta") for part in r) for r in on_cpu]:
            pytest.skip("PyTorch's own results differ between the two devices")
        assert on_meta(flambeau, sample, arrays) == expected


@pytest.mark.parametrize(
    "call",
    [
        lambda t, x: x.item(), lambda t, x: x.cpu(), lambda t, x: x.tolist(), lambda t, x: x.nonzero(), lambda t, x: x[x > 0],
        lambda t, x: x.unique(), lambda t, x: x.numpy(), lambda t, x: bool(x.sum()), lambda t, x: float(x.sum()),
        lambda t, x: x + t.ones(2, 3), lambda t, x: t.equal(x, x), lambda t, x: t.allclose(x, x), lambda t, x: x @ x,
        lambda t, x: t.ones(2, 3).copy_(x), lambda t, x: t.nn.Linear(2, 3, device="meta").to("cpu"), lambda t, x: x.masked_select(x > 0),
        lambda t, x: x.repeat_interleave(x[0].long()), lambda t, x: t.nn.functional.one_hot(x.long()), lambda t, x: x.__dlpack__(),
        lambda t, x: x.long().flatten().bincount(), lambda t, x: t.where(x > 0), lambda t, x: x[5], lambda t, x: x.view(4),
    ],
)  # fmt: skip
def test_errors(call):
    raised = []
    for library in (torch, flambeau):
        with pytest.raises(Exception) as error:
            call(library, library.empty(2, 3, device="meta"))
        raised.append(error.type)
    assert issubclass(raised[1], raised[0]), raised
