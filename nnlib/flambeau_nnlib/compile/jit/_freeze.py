"""Modules whose parameters are constants."""

from __future__ import annotations

import copy
from typing import Any

import flambeau as torch
from flambeau import nn

from ._script import RecursiveScriptModule, ScriptModule

__all__ = ["FrozenModule", "freeze", "optimize_for_inference", "run_frozen_optimizations"]


class FrozenModule(RecursiveScriptModule):
    """A scripted module whose attributes are out of reach, so that they are constants.

    Args:
        module: the module; nobody else has it.
        preserved: the names of its attributes that stay in reach.
    """

    def __init__(self, module: Any, preserved: list[str]) -> None:
        nn.Module.__init__(self)
        self.original_name = module.original_name
        self.__dict__.update(_module=module, _preserved=tuple(preserved))
        del self.__dict__["training"]  # until somebody calls `train` or `eval`, which then have no effect
        for name in preserved:
            for kind in ("_parameters", "_buffers"):
                if name in getattr(module, kind):
                    getattr(self, kind)[name] = getattr(module, kind)[name]

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.__dict__["_module"](*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name in self.__dict__.get("_preserved", ()):
            return getattr(self.__dict__["_module"], name)
        raise AttributeError(f"'RecursiveScriptModule' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__.get("_preserved", ()):
            setattr(self.__dict__["_module"], name, value)
        elif name in self.__dict__:
            self.__dict__[name] = value
        else:
            super().__setattr__(name, value)

    @property
    def code(self) -> str:
        """What `torch.jit.save` writes of `forward`."""
        return torch.jit._text_of(self)


def freeze(mod: nn.Module, preserved_attrs: list[str] | None = None, optimize_numerics: bool = True) -> Any:
    """A copy of a scripted or traced module whose parameters and attributes are constants: it has none.

    Its submodules are out of reach, too, and `train()` has no effect on it. An archive of it holds the parameters as constants of
    its code.

    Args:
        mod: the module, in evaluation mode.
        preserved_attrs: the names of attributes and methods that stay, beside `forward`.
        optimize_numerics: ignored: nothing is fused.

    Raises:
        RuntimeError: it is no `ScriptModule`, or in training mode, or has no attribute of such a name.

    >>> frozen = torch.jit.freeze(torch.jit.script(torch.nn.Linear(2, 1).eval()))
    >>> list(frozen.parameters()), frozen(torch.ones(1, 2)).requires_grad
    ([], False)
    """
    if not isinstance(mod, ScriptModule):
        raise RuntimeError(
            "Freezing expects a ScriptModule as input. Please use torch.jit.script or torch.jit.trace to script your 'nn.Module'."
        )
    if mod.training:
        raise RuntimeError("Freezing is currently only implemented for modules in eval mode. Please call .eval() on your module "
                           "before freezing.")  # fmt: skip
    preserved = list(preserved_attrs or [])
    for name in preserved:
        _preserved_value(mod, name)
    frozen = copy.deepcopy(mod)
    stay = {id(tensor) for name in preserved for tensor in _tensors_of(_preserved_value(frozen, name))}
    for parameter in frozen.parameters():
        if id(parameter) not in stay:
            parameter.requires_grad = False
    return FrozenModule(frozen, preserved)


def _preserved_value(module: Any, path: str) -> Any:
    value = module
    for name in path.split("."):
        if not hasattr(value, name):
            raise RuntimeError(f"Unknown name: {path}")
        value = getattr(value, name)
    return value


def _tensors_of(value: Any) -> list[torch.Tensor]:
    if isinstance(value, nn.Module):
        return list(value.parameters())
    return [value] if isinstance(value, torch.Tensor) else []


def optimize_for_inference(mod: nn.Module, other_methods: list[str] | None = None) -> Any:
    """A frozen copy of a scripted or traced module, which is set to evaluation mode before; nothing is fused.

    Args:
        mod: the module. One that is frozen comes back as it is.
        other_methods: the names of methods that stay, beside `forward`.

    Raises:
        RuntimeError: it is no `ScriptModule`.
    """
    if not isinstance(mod, ScriptModule):
        raise RuntimeError("optimize_for_inference expects a ScriptModule as input. Please use torch.jit.script or "
                           "torch.jit.trace to script your 'nn.Module'.")  # fmt: skip
    return freeze(mod.eval(), other_methods) if hasattr(mod, "training") else mod


def run_frozen_optimizations(mod: nn.Module, optimize_numerics: bool = True, preserved_methods: list[str] | None = None) -> None:
    """Nothing: in PyTorch, operators of a frozen module are fused.

    Args:
        mod: the module.
        optimize_numerics, preserved_methods: ignored.
    """
