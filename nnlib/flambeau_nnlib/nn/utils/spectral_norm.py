"""Spectral normalization by a forward pre-hook; new code should use `parametrizations.spectral_norm`."""

from __future__ import annotations

from typing import Any, TypeVar

import flambeau as torch
from flambeau import Tensor

from .. import functional as F
from ..modules.conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from ..modules.module import Module
from ..parameter import Parameter, is_lazy
from .weight_norm import find_hook

__all__ = [
    "SpectralNorm",
    "SpectralNormLoadStateDictPreHook",
    "SpectralNormStateDictHook",
    "remove_spectral_norm",
    "spectral_norm",
]

AnyModule = TypeVar("AnyModule", bound=Module)


def as_matrix(weight: Tensor, dim: int) -> Tensor:
    """Reshape a weight to a matrix whose rows are its flattened slices along `dim`."""
    return weight.movedim(dim, 0).reshape(weight.shape[dim], -1)


def output_dim(module: Module) -> int:
    """Return the output dimension of the module's weight: 1 for transposed convolutions, else 0."""
    return 1 if isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)) else 0


class SpectralNorm:
    """The forward pre-hook that divides the weight by an estimate of its largest singular value.

    `name_u` and `name_v` approximate the singular vectors; each forward in training improves them.
    """

    _version = 1

    def __init__(self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        if n_power_iterations <= 0:
            raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}")
        self.name = name
        self.dim = dim
        self.n_power_iterations = n_power_iterations
        self.eps = eps

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Tensor:
        """Compute weight / sigma, with sigma = u^T @ weight @ v."""
        weight: Tensor = getattr(module, f"{self.name}_orig")
        u, v = getattr(module, f"{self.name}_u"), getattr(module, f"{self.name}_v")
        matrix = as_matrix(weight, self.dim)
        if do_power_iteration:
            with torch.no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(F.normalize(torch.mv(matrix.t(), u), dim=0, eps=self.eps))
                    u.copy_(F.normalize(torch.mv(matrix, v), dim=0, eps=self.eps))
                u, v = u.clone(), v.clone()  # copies for the backward: the next forward changes the buffers in place
        return weight / torch.dot(u, torch.mv(matrix, v))

    @staticmethod
    def apply(module: Module, name: str, n_power_iterations: int, dim: int, eps: float) -> SpectralNorm:
        """Rename the parameter, add the buffers, and register the hooks."""
        if find_hook(module, SpectralNorm, name) is not None:
            raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
        hook = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        if is_lazy(weight):
            raise ValueError(
                "The module passed to `SpectralNorm` can't have uninitialized parameters. "
                "Make sure to run the dummy forward before applying spectral normalization"
            )
        with torch.no_grad():
            rows, columns = as_matrix(weight, dim).shape
            u = F.normalize(weight.new_empty(rows).normal_(0, 1), dim=0, eps=eps)
            v = F.normalize(weight.new_empty(columns).normal_(0, 1), dim=0, eps=eps)
        delattr(module, name)
        module.register_parameter(f"{name}_orig", weight)
        setattr(module, name, weight.data)
        module.register_buffer(f"{name}_u", u)
        module.register_buffer(f"{name}_v", v)
        module.register_forward_pre_hook(hook)
        module._register_state_dict_hook(SpectralNormStateDictHook(hook))
        module._register_load_state_dict_pre_hook(SpectralNormLoadStateDictPreHook(hook))
        return hook

    def remove(self, module: Module) -> None:
        """Replace the hook and its buffers by a plain parameter, the normalized weight."""
        with torch.no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for suffix in ("", "_u", "_v", "_orig"):
            delattr(module, self.name + suffix)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))


class SpectralNormStateDictHook:
    """State dict hook: store the format's version, which marks checkpoints that contain `name_v`."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(self, module: Module, state_dict: Any, prefix: str, local_metadata: dict[str, Any]) -> None:
        local_metadata.setdefault("spectral_norm", {})[f"{self.fn.name}.version"] = self.fn._version


class SpectralNormLoadStateDictPreHook:
    """Hook before loading a state dict: convert the first format, which has the normalized weight in place of `name_v`.

    `name_v` is the vector v with `weight_orig @ v = sigma * u`, where sigma is the ratio of both weights.
    """

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        key = prefix + self.fn.name
        version = local_metadata.get("spectral_norm", {}).get(f"{self.fn.name}.version")
        if version is not None and version >= 1:
            return
        if version is None and f"{key}_v" in state_dict and key not in state_dict:
            return  # a later format, without metadata
        missing = [name for name in (f"{key}_orig", key, f"{key}_u") if name not in state_dict]
        if missing:
            missing_keys += missing if strict else []
            return
        with torch.no_grad():
            original, u = state_dict[f"{key}_orig"], state_dict[f"{key}_u"]
            sigma = (original / state_dict.pop(key)).mean()
            matrix = as_matrix(original, self.fn.dim)
            v = torch.linalg.pinv(matrix) @ u
            state_dict[f"{key}_v"] = v * (sigma / torch.dot(u, matrix @ v))


def spectral_norm(
    module: AnyModule,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> AnyModule:
    """Keep the largest singular value of a parameter, seen as a matrix of slices along `dim`, at 1.

    The value is estimated by power iterations, which continue with each forward in training. The learned tensor is
    `name_orig`; the attribute `name` is computed before each forward. `parametrizations.spectral_norm` is the newer form.

    Miyato, Kataoka, Koyama and Yoshida, [Spectral Normalization for Generative Adversarial
    Networks](https://arxiv.org/abs/1802.05957), 2018.

    Args:
        module: the module that has the parameter; it is changed, and returned.
        name: the name of the parameter.
        n_power_iterations: the number of power iterations of each forward in training, at least 1.
        eps: lower bound of the norms by which vectors are divided.
        dim: the dimension that counts outputs; None for 1 with transposed convolutions and 0 otherwise.

    Raises:
        ValueError: `n_power_iterations` is less than 1, or the parameter is missing or not initialized yet.
        RuntimeError: the parameter already has spectral normalization.

    Example:
        >>> layer = spectral_norm(torch.nn.Linear(20, 40), n_power_iterations=50)
        >>> output = layer(torch.randn(1, 20))
        >>> abs(torch.linalg.matrix_norm(layer.weight, 2).item() - 1.0) < 0.05
        True
    """
    SpectralNorm.apply(module, name, n_power_iterations, output_dim(module) if dim is None else dim, eps)
    return module


def remove_spectral_norm(module: AnyModule, name: str = "weight") -> AnyModule:
    """Undo `spectral_norm`: the normalized weight becomes a plain parameter.

    Args:
        module: the module that `spectral_norm` was applied to; it is changed, and returned.
        name: the name of the parameter.

    Raises:
        ValueError: the parameter has no spectral normalization.

    Example:
        >>> list(remove_spectral_norm(spectral_norm(torch.nn.Linear(2, 2))).state_dict())
        ['bias', 'weight']
    """
    entry = find_hook(module, SpectralNorm, name)
    if entry is None:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    key, hook = entry
    del module._forward_pre_hooks[key]
    hook.remove(module)
    for hooks in (module._state_dict_hooks, module._load_state_dict_pre_hooks):
        for key, registered in list(hooks.items()):
            registered = getattr(registered, "hook", registered)  # hooks before loading are wrapped
            if isinstance(registered, (SpectralNormStateDictHook, SpectralNormLoadStateDictPreHook)) and registered.fn is hook:
                del hooks[key]
    return module
