"""Every private name of PyTorch that flambeau supports exists in PyTorch, with few exceptions."""

from __future__ import annotations

import functools
import importlib

import pytest

from flambeau.compat.table import MODULES, NAMES, SECOND_NAMES

torch = pytest.importorskip("torch")

MISSING = {
    "optim.optimizer._dispatch_sqrt",  # PyTorch has removed it
    "_unsafe_view",  # only an operator, `torch.ops.aten._unsafe_view`
    "distributed.tensor.placement_types.DTensorSpec",  # in `distributed._tensor.placement_types`, which is the same module here
    "_C._cpu._is_amx_tile_supported", "_C._cpu._is_vnni_supported",  # not in every build
}  # fmt: skip


def has(name):
    """Whether PyTorch has the module or the attribute of a module.  A package may have a function of the same name as a module."""
    parts = name.split(".")
    for length in range(len(parts), -1, -1):
        try:
            module = importlib.import_module(".".join(["torch", *parts[:length]]))
        except ModuleNotFoundError:
            continue
        return functools.reduce(lambda owner, part: getattr(owner, part, None), parts[length:], module) is not None
    return False


@pytest.mark.parametrize("name", [*MODULES, *SECOND_NAMES, *NAMES])
def test_pytorch_has_the_name(name):
    assert has(name) is (name not in MISSING)
