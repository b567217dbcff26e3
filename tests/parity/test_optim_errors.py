"""Optimizers reject invalid options where PyTorch does, in the constructor or in a step, and with the same message."""

from __future__ import annotations

import inspect
import itertools
import re

import pytest

torch = pytest.importorskip("torch")
import flambeau  # noqa: E402

FLAGS = ("foreach", "fused", "capturable", "differentiable")
OPTIMIZERS = [
    name for name in torch.optim.__all__
    if name[0].isupper() and name not in ("Optimizer", "SparseAdam") and name in flambeau.optim.__all__
]  # fmt: skip
CALLS = [
    (name, dict(zip(chosen, values, strict=True)), dtype)
    for name in OPTIMIZERS
    for count in (1, 2, 3)
    for chosen in itertools.combinations(
        [each for each in FLAGS if each in inspect.signature(getattr(torch.optim, name)).parameters], count
    )
    for values in ((True,) * count, (True,) * (count - 1) + (False,))
    for dtype in ("float32", "complex64", "bfloat16")
]


def outcome(lib, name, options, dtype, **state):
    """Return the stage (`"constructor"` or the step), type and message of the error, or `"fine"` if none was raised."""
    try:
        param = lib.nn.Parameter(lib.ones(3, 2, dtype=getattr(lib, dtype)))
        optimizer = getattr(lib.optim, name)([param], **options)
    except Exception as error:
        return "constructor", type(error).__name__, str(error)
    for group in optimizer.param_groups:
        group.update(state)
    for step in range(2):
        param.grad = lib.ones_like(param)
        try:
            optimizer.step((lambda: (param * param.conj()).real.sum()) if name == "LBFGS" else None)
        except Exception as error:
            return step, type(error).__name__, str(error)
    return "fine"


def normalize_message(text):
    """Normalize a message: remove the list of devices, and treat "a view of a leaf" as "a leaf"."""
    return re.sub(r"devices: \[.*?\]", "devices", str(text)).replace("a view of a leaf", "a leaf").replace(", and", " and")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name, options, dtype", CALLS, ids=str)
def test_flags(name, options, dtype):
    ours, theirs = (outcome(lib, name, options, dtype) for lib in (flambeau, torch))
    if {"foreach", "capturable", "differentiable"} <= {flag for flag, on in options.items() if on}:
        assert ours[:2] == theirs[:2]  # the call has two errors, and either may be reported
    else:
        assert normalize_message(ours) == normalize_message(theirs)


def test_complex_parameters_of_sparse_adam():
    ours, theirs = (outcome(lib, "SparseAdam", {}, "complex64") for lib in (flambeau, torch))
    assert ours == theirs and ours[0] == "constructor"
