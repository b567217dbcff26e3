"""Functional tensors, which PyTorch's compiler writes to in copies: none are made here."""

from __future__ import annotations

from typing import Any

from ...engine.tensors.tensor import Tensor

__all__ = ["FunctionalTensor", "mb_unwrap_functional_tensor"]


class FunctionalTensor(Tensor):
    """A class without instances, for `isinstance`: programs are captured in other ways here (`docs/compile.md`)."""

    __slots__ = ()

    def __new__(cls, elem: Any, mode: Any) -> Any:
        """Refused: RuntimeError."""
        raise RuntimeError("FunctionalTensor: flambeau captures programs without functional tensors, and makes none")


def mb_unwrap_functional_tensor(tensor: Tensor) -> Tensor:
    """Return the tensor unchanged: flambeau has no functional tensors that wrap others."""
    return tensor
