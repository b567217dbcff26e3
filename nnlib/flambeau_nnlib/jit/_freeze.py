"""Modules whose parameters are constants."""

from __future__ import annotations

import copy
from typing import Any

from flambeau import nn

from ._script import ScriptModule, scripted

__all__ = ["freeze", "optimize_for_inference"]


def freeze(
    mod: nn.Module, preserved_attrs: list[str] | None = None, optimize_numerics: bool = True, preserve_parameters: bool = False
) -> Any:
    """A copy of a scripted module whose parameters no longer change: training goes on in the original alone.

    Args:
        mod: the module, in evaluation mode.
        preserved_attrs: ignored: all attributes are kept.
        optimize_numerics: ignored.
        preserve_parameters: ignored: parameters stay parameters, which require no gradient.

    Raises:
        RuntimeError: it is no `ScriptModule`, or in training mode.

    >>> import flambeau as torch
    >>> frozen = torch.jit.freeze(torch.jit.script(torch.nn.Linear(2, 1).eval()))
    >>> frozen.weight.requires_grad
    False
    """
    if not isinstance(mod, ScriptModule):
        raise RuntimeError(
            "Freezing expects a ScriptModule as input. Please use torch.jit.script or torch.jit.trace to script your 'nn.Module'."
        )
    if mod.training and not preserved_attrs:
        raise RuntimeError("Freezing is currently only implemented for modules in eval mode. Please call .eval() on your module "
                           "before freezing.")  # fmt: skip
    return copy.deepcopy(mod).requires_grad_(False)


def optimize_for_inference(mod: nn.Module, other_methods: list[str] | None = None) -> Any:
    """A frozen copy of a module; nothing is optimized.

    Args:
        mod: the module, in evaluation mode.
        other_methods: ignored.
    """
    return freeze(mod if isinstance(mod, ScriptModule) else scripted(mod))
