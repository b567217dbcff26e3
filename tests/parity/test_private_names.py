"""Every private name of PyTorch that flambeau supports exists in PyTorch, with few exceptions."""

from __future__ import annotations

import functools
import importlib
from pathlib import Path

import pytest

from flambeau.compat.table import MODULES, NAMES, SECOND_NAMES

torch = pytest.importorskip("torch")

MISSING = {
    "optim.optimizer._dispatch_sqrt",  # PyTorch has removed it
    "_unsafe_view",  # only an operator, `torch.ops.aten._unsafe_view`
    # in `distributed._tensor.placement_types`, which is the same module here:
    "distributed.tensor.placement_types.DTensorSpec", "distributed.tensor.placement_types.TensorMeta",
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
        except RuntimeError:  # by torchvision, which the module imports, if its compiled operators are for another PyTorch
            return is_in_source(parts)
        return functools.reduce(lambda owner, part: getattr(owner, part, None), parts[length:], module) is not None
    return False


def is_in_source(parts):
    """Whether PyTorch has the file of the module, which contains the class that the remaining parts name."""
    for length in range(len(parts), 0, -1):
        file = Path(torch.__file__).parent.joinpath(*parts[:length]).with_suffix(".py")
        if file.exists():
            source = file.read_text(encoding="utf-8")
            return all(f"class {part}" in source for part in parts[length:])
    return False


@pytest.mark.parametrize("name", [*MODULES, *SECOND_NAMES, *NAMES])
def test_pytorch_has_the_name(name):
    assert has(name) is (name not in MISSING)
