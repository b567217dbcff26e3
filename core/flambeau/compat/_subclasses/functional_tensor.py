"""`FunctionalTensor`, the tensor class with which PyTorch's compiler removes in-place operations.  flambeau does not use it."""

from __future__ import annotations

from typing import Any

from ...engine.tensors.tensor import Tensor

__all__ = ["FunctionalTensor", "mb_unwrap_functional_tensor"]


class FunctionalTensor(Tensor):
    """A class without instances, for use in `isinstance`.  `docs/compile.md` describes how flambeau captures programs."""

    __slots__ = ()

    def __new__(cls, elem: Any, mode: Any) -> Any:
        """Raise RuntimeError: flambeau creates no functional tensors."""
        raise RuntimeError("FunctionalTensor cannot be created: flambeau captures programs without functional tensors")


def mb_unwrap_functional_tensor(tensor: Tensor) -> Tensor:
    """Return the tensor unchanged: flambeau has no functional tensors that wrap others."""
    return tensor
