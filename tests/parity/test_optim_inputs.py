"""Every optimizer with the options of PyTorch's own tests: 50 steps in both libraries."""

from __future__ import annotations

import numpy as np
import pytest

theirs = pytest.importorskip("torch")
from torch.testing._internal.common_optimizers import optim_db  # noqa: E402

import flambeau as ours  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")
CHAOTIC = ("LBFGS", "Muon")  # tested elsewhere: rounding errors grow in 50 steps
OPTIMIZERS = {each.optim_cls.__name__: each for each in optim_db if each.optim_cls.__name__ not in (*CHAOTIC, "SparseAdam")}
CASES = [(name, given.kwargs) for name, each in OPTIMIZERS.items() for given in each.optim_inputs_func(device="cpu")] + [
    (name, {flag: True}) for name, each in OPTIMIZERS.items() for flag in (*each.supported_impls, "capturable", "differentiable")
]


def trained(torch, name, options):
    """Return the parameters of a small network after 50 steps, or the type of the error."""
    rng = np.random.default_rng(0)
    x, *weights = (torch.tensor(rng.standard_normal(shape)) for shape in ((5, 3), (4, 3), (4,), (2, 4)))
    first, bias, second = (each.requires_grad_() for each in weights)
    options = {key: torch.tensor(float(value)) if hasattr(value, "item") else value for key, value in options.items()}
    try:
        optimizer = getattr(torch.optim, name)([{"params": [first, bias]}, {"params": [second]}], **options)
        for _ in range(50):
            optimizer.zero_grad()
            loss = ((x @ first.t() + bias).tanh() @ second.t()).pow(2).mean()
            (-loss if options.get("maximize") else loss).backward()
            optimizer.step()
    except (AssertionError, RuntimeError, TypeError, ValueError) as error:
        return type(error)
    return np.concatenate([each.detach().numpy().ravel() for each in weights])


@pytest.mark.parametrize(("name", "options"), [case for case in CASES if "forloop" not in case[1]], ids=str)
def test_trajectories(name, options):
    got, wanted = (trained(torch, name, options) for torch in (ours, theirs))
    if isinstance(wanted, type):
        assert got is wanted
    else:
        np.testing.assert_allclose(got, wanted, 1e-6, 1e-9)
