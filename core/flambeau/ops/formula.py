"""Gradients written as formulas, which a backend may compute in its own way."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

__all__ = ["formula"]


def formula(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of ``F`` for derivative rules to call, which a backend may replace by a kernel of the same name.

    A rule runs on raw arrays in a plain backward, where the kernel serves, and on Tensors in a differentiable one, where
    the formula does, recorded operation by operation.  The kernel takes the same arguments without ``F``.
    """
    name = function.__name__

    @functools.wraps(function)
    def compute(F: Any, *args: Any) -> Any:
        kind = getattr(F, "_kind", None)
        kernel = None if kind is None else kind.backend.all_kernels.get(name)
        return function(F, *args) if kernel is None else kernel(*args)

    return compute
