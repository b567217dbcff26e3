"""Forward-mode differentiation: dual tensors."""

from __future__ import annotations

from typing import Any, NamedTuple

from .._tensor import Tensor

__all__ = ["UnpackedDualTensor", "unpack_dual"]


class UnpackedDualTensor(NamedTuple):
    """A dual tensor's value and its tangent (None for a tensor that has none)."""

    primal: Tensor
    tangent: Tensor | None


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The value and the tangent of a dual tensor."""
    tangent: Any = tensor.__dict__.get("_tangent")
    return UnpackedDualTensor(tensor, tangent)
