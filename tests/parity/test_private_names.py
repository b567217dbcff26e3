"""Every private name of PyTorch that flambeau supports exists in PyTorch, except one that PyTorch has removed."""

from __future__ import annotations

import importlib

import pytest

from flambeau.compat.table import MODULES, NAMES, SECOND_NAMES

torch = pytest.importorskip("torch")

REMOVED = {"optim.optimizer._dispatch_sqrt"}


def has(name):
    found, path = torch, "torch"
    for part in name.split("."):
        path += f".{part}"
        try:
            found = getattr(found, part) if hasattr(found, part) else importlib.import_module(path)
        except ModuleNotFoundError:
            return False
    return True


@pytest.mark.parametrize("name", [*MODULES, *SECOND_NAMES, *NAMES])
def test_pytorch_has_the_name(name):
    assert has(name) is (name not in REMOVED)
