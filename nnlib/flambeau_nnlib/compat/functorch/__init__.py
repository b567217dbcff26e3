"""`functorch`, a package distributed with PyTorch: the transforms of `torch.func`, and models as functions of their
parameters.

>>> from flambeau_nnlib.compat.functorch import grad, make_functional
>>> func, params = make_functional(torch.nn.Linear(2, 1, bias=False))
>>> grad(lambda params: func(params, torch.ones(3, 2)).sum())(params)
(tensor([[3., 3.]]),)
"""

from __future__ import annotations

import copy
import functools
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import flambeau as torch
from flambeau import Tensor, func

from ...compile.fx.experimental.proxy_tensor import make_fx
from ...nn.modules.module import Module

__all__ = [
    "FunctionalModule", "FunctionalModuleWithBuffers", "combine_state_for_ensemble", "functionalize", "grad", "grad_and_value",
    "hessian", "jacfwd", "jacrev", "jvp", "make_functional", "make_functional_with_buffers", "make_fx", "vjp", "vmap",
]  # fmt: skip

__version__ = torch.__version__

C = TypeVar("C", bound=Callable[..., Any])


def _deprecated(function: C, name: str, instead: str) -> C:
    """Wrap a function to emit PyTorch's deprecation warning."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(
            "We've integrated functorch into PyTorch. As the final step of the integration, "
            f"`functorch.{name}` is deprecated as of PyTorch 2.0 and will be deleted in a future version of PyTorch >= 2.3. "
            f"Please use `{instead}` instead; see the PyTorch 2.0 release notes and/or the `torch.func` migration guide for "
            "more details https://pytorch.org/docs/main/func.migrating.html",
            FutureWarning,
            stacklevel=2,
        )
        return function(*args, **kwargs)

    return wrapped  # type: ignore[return-value]  # it takes and returns the same


functionalize, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp = (
    _deprecated(getattr(func, name), name, f"torch.func.{name}")
    for name in ("functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "vjp")
)
vmap = _deprecated(func.vmap, "vmap", "torch.vmap")


class FunctionalModuleWithBuffers(Module):
    """A model as a function of its parameters and buffers: see `make_functional_with_buffers`."""

    def __init__(self, stateless_model: Module, param_names: Sequence[str], buffer_names: Sequence[str]) -> None:
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names, self.buffer_names = tuple(param_names), tuple(buffer_names)

    def forward(self, params: Iterable[Tensor], buffers: Iterable[Tensor], *args: Any, **kwargs: Any) -> Any:  # type: ignore[override]  # as PyTorch's
        """Return the model's output for the given parameters and buffers."""
        names = (*self.param_names, *self.buffer_names)
        state = dict(zip(names, (*params, *buffers), strict=True))
        return torch.func.functional_call(self.stateless_model, state, args, kwargs)


class FunctionalModule(Module):
    """A model as a function of its parameters: see `make_functional`."""

    def __init__(self, stateless_model: Module, param_names: Sequence[str]) -> None:
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names = tuple(param_names)

    def forward(self, params: Iterable[Tensor], *args: Any, **kwargs: Any) -> Any:  # type: ignore[override]  # as PyTorch's
        """Return the model's output for the given parameters."""
        state = dict(zip(self.param_names, params, strict=True))
        return torch.func.functional_call(self.stateless_model, state, args, kwargs)


def make_functional(model: Module, disable_autograd_tracking: bool = False) -> tuple[FunctionalModule, tuple[Tensor, ...]]:
    """Return a model without buffers as a function `func(params, *args)`, and its parameters.

    Args:
        model: the model; it is not modified.
        disable_autograd_tracking: return parameters that do not require gradients.

    Raises:
        RuntimeError: the model has buffers.
    """
    if next(iter(model.buffers()), None) is not None:
        raise RuntimeError("make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead.")
    function, params, _ = _functional(model, disable_autograd_tracking)
    return FunctionalModule(function.stateless_model, function.param_names), params


def make_functional_with_buffers(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Return a model as a function `func(params, buffers, *args)`, its parameters, and its buffers.

    Args:
        model: the model; it is not modified.
        disable_autograd_tracking: return parameters that do not require gradients.
    """
    return _functional(model, disable_autograd_tracking)


def _functional(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
    stateless = copy.deepcopy(model)
    params, buffers = dict(stateless.named_parameters()), dict(stateless.named_buffers())
    for param in params.values() if disable_autograd_tracking else ():
        param.requires_grad_(False)
    return FunctionalModuleWithBuffers(stateless, [*params], [*buffers]), tuple(params.values()), tuple(buffers.values())


def combine_state_for_ensemble(
    models: Iterable[Module],
) -> tuple[FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Return models of the same architecture as one function, with their stacked parameters and buffers, for use with `vmap`.

    Raises:
        RuntimeError: the list is empty, or the models differ in class or in training mode.
    """
    models = list(models)
    params, buffers = torch.func.stack_module_state(models)
    return _functional(models[0])[0], tuple(params.values()), tuple(buffers.values())


_INSTEAD = {"combine_state_for_ensemble": "torch.func.stack_module_state"}
for _name in ("make_functional", "make_functional_with_buffers", "combine_state_for_ensemble"):
    globals()[_name] = _deprecated(globals()[_name], _name, _INSTEAD.get(_name, "torch.func.functional_call"))
