"""Gradients written as formulas, which a backend may compute in its own way."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..engine.calls.tables import FORMULAS
from ..engine.tape.tensor_class import RECORDED

__all__ = ["formula", "no_slope"]


def formula(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of `F` for derivative rules to call, which a backend may replace by a kernel of the same name.

    A rule runs on raw arrays in a plain backward, where the kernel serves, and on Tensors in a differentiable one, where
    the formula does, recorded operation by operation.  The kernel takes the same arguments without `F`, and so does
    `F`'s attribute of that name, which is the shorter way to it.
    """
    name = function.__name__
    FORMULAS[name] = function
    setattr(RECORDED, name, functools.partial(function, RECORDED))

    @functools.wraps(function)
    def compute(F: Any, *args: Any) -> Any:
        return getattr(F, name)(*args)

    return compute


def no_slope(F: Any, g: Any) -> Any:
    """The derivative rule of a piecewise constant function: zero, also where the gradient of its result is not finite."""
    return F.tied(F.zeros_of(g, tuple(g.shape)), g)
