"""`torch.backends.opt_einsum`: the order in which `einsum` contracts more than two operands."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from types import ModuleType

from ..operations.einsum import path_options

__all__ = ["enabled", "is_available", "strategy"]

enabled: bool
strategy: str


def is_available() -> bool:
    """Whether the package `opt_einsum`, which optimizes the contraction order, is installed."""
    return find_spec("opt_einsum") is not None


class _Options(ModuleType):
    """The class of this module: assigning to `enabled` or `strategy` sets the options that `einsum` reads."""

    @property
    def enabled(self) -> bool:
        return path_options.enabled

    @enabled.setter
    def enabled(self, value: bool) -> None:
        path_options.enabled = value

    @property
    def strategy(self) -> str:
        return path_options.strategy

    @strategy.setter
    def strategy(self, value: str) -> None:
        path_options.strategy = value


sys.modules[__name__].__class__ = _Options
