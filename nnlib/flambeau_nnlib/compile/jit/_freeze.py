"""`torch.jit.freeze`: turn the parameters and attributes of modules into constants."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import flambeau as torch
from flambeau import Tensor, nn
from flambeau.backend import RecordableBackend, for_device_type

from ._methods import with_graph
from ._recording import current_recording
from ._script import RecursiveScriptModule, ScriptModule

__all__ = ["FrozenModule", "freeze", "optimize_for_inference", "optimized_execution", "run_frozen_optimizations"]


class FrozenModule(RecursiveScriptModule):
    """A scripted module whose attributes are inaccessible and thus constant.

    Args:
        module: the module, which must not be used otherwise.
        preserved: the names of attributes that remain accessible.
        optimized: run calls of `forward` as inference plans, if a kernel pack is installed.
    """

    def __init__(self, module: Any, preserved: list[str], optimized: bool) -> None:
        nn.Module.__init__(self)
        self.original_name = module.original_name
        self.__dict__.update(_module=module, _preserved=tuple(preserved), _compiled=None)
        if optimized:
            self._optimize()
        del self.__dict__["training"]  # `train` and `eval` may set `training` again, without effect
        for name in preserved:
            for kind in ("_parameters", "_buffers"):
                if name in getattr(module, kind):
                    getattr(self, kind)[name] = getattr(module, kind)[name]

    @with_graph
    def forward(self, *args: Any, **kwargs: Any) -> Any:
        compiled = self.__dict__["_compiled"]
        if compiled is not None and not kwargs and current_recording() is None and all(map(_is_constant, args)):
            return compiled(*args)
        return self.__dict__["_module"](*args, **kwargs)

    def _optimize(self) -> None:
        """Run calls of `forward` without gradients as inference plans from now on, if a kernel pack offers them."""
        backend = for_device_type("cpu")
        if isinstance(backend, RecordableBackend) and backend.inference is not None:
            from ..compiler.compiling import CompiledFunction

            self.__dict__["_compiled"] = CompiledFunction(self.__dict__["_module"].__call__, self.original_name, warns=False)

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
        """The TorchScript code of `forward`, as saved by `torch.jit.save`."""
        return torch.jit._text_of(self)


def _is_constant(argument: Any) -> bool:
    """Whether an argument is a plain tensor that requires no gradient."""
    return type(argument) is Tensor and not argument.requires_grad


def freeze(mod: nn.Module, preserved_attrs: list[str] | None = None, optimize_numerics: bool = True) -> Any:
    """Return a copy of a scripted or traced module with constant parameters and attributes.

    The copy has no parameters, its submodules are inaccessible, and `train()` has no effect. When it is saved, parameters are
    constants of the code.

    Args:
        mod: the module, in evaluation mode.
        preserved_attrs: the names of attributes and methods to keep, in addition to `forward`.
        optimize_numerics: with a kernel pack, run calls whose arguments are tensors without gradients as inference plans, as
            `torch.compile` does. Batch normalization is folded, and activations are fused, so results may differ by rounding.

    Raises:
        RuntimeError: `mod` is not a `ScriptModule`, is in training mode, or lacks an attribute in `preserved_attrs`.

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
    for hooks in (frozen._forward_pre_hooks, frozen._forward_hooks):
        hooks.clear()  # PyTorch freezes `forward`; hooks of submodules are part of it
    stay = {id(tensor) for name in preserved for tensor in _tensors_of(_preserved_value(frozen, name))}
    for parameter in frozen.parameters():
        if id(parameter) not in stay:
            parameter.requires_grad = False
    return FrozenModule(frozen, preserved, optimize_numerics)


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
    """Return a frozen copy of a scripted or traced module in evaluation mode. It runs as inference plans, as after `freeze`.

    Args:
        mod: the module. A frozen module is returned unchanged.
        other_methods: the names of methods to keep, in addition to `forward`.

    Raises:
        RuntimeError: `mod` is not a `ScriptModule`.
    """
    if not isinstance(mod, ScriptModule):
        raise RuntimeError("optimize_for_inference expects a ScriptModule as input. Please use torch.jit.script or "
                           "torch.jit.trace to script your 'nn.Module'.")  # fmt: skip
    return freeze(mod.eval(), other_methods) if hasattr(mod, "training") else mod


def run_frozen_optimizations(mod: nn.Module, optimize_numerics: bool = True, preserved_methods: list[str] | None = None) -> None:
    """Let a frozen module run as inference plans, as `freeze` with `optimize_numerics=True` does.

    Args:
        mod: the module.
        optimize_numerics: do nothing if False.
        preserved_methods: ignored, because other methods than `forward` always run eagerly.
    """
    if optimize_numerics and isinstance(mod, FrozenModule):
        mod._optimize()


@contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """Context manager that sets whether scripts are optimized.  It has no effect: scripts run as Python."""
    before = torch._C._get_graph_executor_optimize()
    torch._C._set_graph_executor_optimize(should_optimize)
    try:
        yield
    finally:
        torch._C._set_graph_executor_optimize(before)
