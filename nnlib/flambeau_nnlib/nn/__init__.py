"""Neural networks: layers, losses, initialization, and the functions they are made of.

>>> net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
>>> net(torch.ones(3, 4)).shape
torch.Size([3, 2])
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from . import functional, init, modules, parameter, utils
from .modules import *  # noqa: F403
from .parameter import Buffer, Parameter

if TYPE_CHECKING:
    from . import parallel
    from .parallel import DataParallel
    from .parameter import UninitializedBuffer, UninitializedParameter

__all__ = [
    "Buffer",
    "DataParallel",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "functional",
    "init",
    "modules",
    "parallel",
    "parameter",
    "utils",
]
__all__ += modules.__all__


def __getattr__(name: str) -> Any:
    """Import rarely used submodules, such as `parallel` and `grad`, on first access."""
    if name in ("attention", "common_types", "grad"):
        return importlib.import_module(f".{name}", __name__)
    if name in ("UninitializedBuffer", "UninitializedParameter"):
        return getattr(parameter, name)
    if name not in ("DataParallel", "parallel"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    parallel = importlib.import_module(".parallel", __name__)
    return parallel if name == "parallel" else parallel.DataParallel
