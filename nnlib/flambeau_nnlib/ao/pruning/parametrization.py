"""The parametrization that masks a parameter, and functions that find parameters by their qualified names."""

from __future__ import annotations

from typing import Any

from flambeau import Tensor

from ...nn.modules.module import Module

__all__ = ["FakeSparsity", "fqn_to_module", "get_arg_info_from_tensor_fqn", "module_to_fqn"]


class FakeSparsity(Module):
    """Multiply a parameter by a mask of the same shape. The mask is a buffer that `state_dict` leaves out.

    >>> import flambeau as torch
    >>> FakeSparsity(torch.tensor([1.0, 0.0]))(torch.tensor([3.0, 4.0]))
    tensor([3., 0.])
    """

    mask: Tensor

    def __init__(self, mask: Tensor) -> None:
        super().__init__()
        self.register_buffer("mask", mask)

    def forward(self, x: Tensor) -> Tensor:
        """Return `mask * x`.

        Raises:
            AssertionError: if the shapes differ.
        """
        if self.mask.shape != x.shape:
            raise AssertionError(f"mask shape ({self.mask.shape}) must match x shape ({x.shape})")
        return self.mask * x

    def state_dict(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Return an empty dictionary: the sparsifier saves the mask."""
        return {}


def module_to_fqn(model: Module, module: Module, prefix: str = "") -> str | None:
    """Return the qualified name of a submodule of `model`, or None if `model` does not contain it."""
    names = (name for name, found in model.named_modules() if found is module)
    name = next(names, None)
    return prefix + name if name else name


def fqn_to_module(model: Module | None, path: str) -> Any:
    """Return the submodule or tensor with the given qualified name, or None if `model` does not contain it."""
    found: Any = model
    for name in path.split(".") if path else ():
        found = getattr(found, name, None)
    return found


def get_arg_info_from_tensor_fqn(model: Module, tensor_fqn: str) -> dict[str, Any]:
    """Return the names of a tensor and of its module, and the module or None.

    >>> from flambeau import nn
    >>> get_arg_info_from_tensor_fqn(nn.Sequential(nn.ReLU()), "0.weight")
    {'module_fqn': '0', 'module': ReLU(), 'tensor_name': 'weight', 'tensor_fqn': '0.weight'}
    """
    module_fqn, _, tensor_name = tensor_fqn.rpartition(".")
    module = fqn_to_module(model, module_fqn)
    return {"module_fqn": module_fqn, "module": module, "tensor_name": tensor_name, "tensor_fqn": tensor_fqn}
