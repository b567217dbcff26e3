"""``torch.backends.opt_einsum``: the order in which ``einsum`` contracts more than two operands."""

from __future__ import annotations

from importlib.util import find_spec

__all__ = ["enabled", "is_available", "strategy"]

enabled = True
strategy = "auto"


def is_available() -> bool:
    """Whether the package ``opt_einsum`` is installed, which finds good orders."""
    return find_spec("opt_einsum") is not None
