"""Weight normalization by a forward pre-hook; new code should use `parametrizations.weight_norm`."""

from __future__ import annotations

import warnings
from typing import Any, Protocol, TypeVar

import flambeau as torch
from flambeau import Tensor

from ..modules.module import Module
from ..parameter import Parameter, is_lazy

__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]

AnyModule = TypeVar("AnyModule", bound=Module)


class NamedHook(Protocol):
    """A hook that belongs to the parameter `name`."""

    name: str


AnyHook = TypeVar("AnyHook", bound=NamedHook)


def norm_except_dim(tensor: Tensor, dim: int) -> Tensor:
    """Return the norms of the slices of `tensor` along `dim`, with kept dimensions; for dim -1, the total norm."""
    if dim == -1:
        return torch.linalg.vector_norm(tensor)
    if not -tensor.dim() <= dim < tensor.dim():
        limit = tensor.dim()
        raise IndexError(f"Dimension out of range (expected to be in range of [{-limit}, {limit - 1}], but got {dim})")
    other_dims = [d for d in range(tensor.dim()) if d != dim % tensor.dim()]
    return torch.linalg.vector_norm(tensor, dim=other_dims, keepdim=True)


class WeightNorm:
    """The forward pre-hook that computes the weight from its magnitude g and direction v."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: Module) -> Tensor:
        """Compute g * v / |v|."""
        g: Tensor = getattr(module, f"{self.name}_g")
        v: Tensor = getattr(module, f"{self.name}_v")
        return v * (g / norm_except_dim(v, self.dim))

    @staticmethod
    def apply(module: Module, name: str, dim: int | None) -> WeightNorm:
        """Replace the parameter by g and v, and register the hook."""
        if find_hook(module, WeightNorm, name) is not None:
            raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
        hook = WeightNorm(name, dim)
        weight = getattr(module, name)
        if is_lazy(weight):
            raise ValueError(
                "The module passed to `WeightNorm` can't have uninitialized parameters. "
                "Make sure to run the dummy forward before applying weight normalization"
            )
        delattr(module, name)
        module.register_parameter(f"{name}_g", Parameter(norm_except_dim(weight, hook.dim).data))
        module.register_parameter(f"{name}_v", Parameter(weight.data))
        setattr(module, name, hook.compute_weight(module))
        module.register_forward_pre_hook(hook)
        return hook

    def remove(self, module: Module) -> None:
        """Replace g and v by the plain parameter g * v / |v|."""
        weight = self.compute_weight(module)
        for suffix in ("", "_g", "_v"):
            delattr(module, self.name + suffix)
        setattr(module, self.name, Parameter(weight.data))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def find_hook(module: Module, kind: type[AnyHook], name: str) -> tuple[int, AnyHook] | None:
    """Return the id and the forward pre-hook of type `kind` for parameter `name`, or None."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, kind) and hook.name == name:
            return key, hook
    return None


def weight_norm(module: AnyModule, name: str = "weight", dim: int = 0) -> AnyModule:
    """Learn the magnitude and the direction of a parameter separately: `weight = g * v / |v|`.

    The learned tensors are `name_g` and `name_v`; the attribute `name` is computed before each forward.
    Deprecated, with a FutureWarning: use `parametrizations.weight_norm`.

    Salimans and Kingma, [Weight Normalization: A Simple Reparameterization to Accelerate Training of Deep Neural
    Networks](https://arxiv.org/abs/1602.07868), 2016.

    Args:
        module: the module that has the parameter; it is changed, and returned.
        name: the name of the parameter.
        dim: each slice along this dimension has a separate magnitude; None for one magnitude of the whole tensor.

    Raises:
        ValueError: the parameter is not initialized yet.
        RuntimeError: the parameter is normalized already.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings(action="ignore"):
        ...     layer = weight_norm(torch.nn.Linear(20, 40))
        >>> layer.weight_g.shape, layer.weight_v.shape
        (torch.Size([40, 1]), torch.Size([40, 20]))
    """
    warnings.warn(
        "`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
        stacklevel=2,
    )
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: AnyModule, name: str = "weight") -> AnyModule:
    """Undo `weight_norm`: the product of magnitude and direction becomes a plain parameter.

    Args:
        module: the module that `weight_norm` was applied to; it is changed, and returned.
        name: the name of the parameter.

    Raises:
        ValueError: the parameter has no weight normalization.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings(action="ignore"):
        ...     layer = weight_norm(torch.nn.Linear(2, 2))
        >>> list(remove_weight_norm(layer).state_dict())
        ['bias', 'weight']
    """
    entry = find_hook(module, WeightNorm, name)
    if entry is None:
        raise ValueError(f"weight_norm of '{name}' not found in {module}")
    key, hook = entry
    del module._forward_pre_hooks[key]
    hook.remove(module)
    return module
