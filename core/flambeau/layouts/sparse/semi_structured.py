"""2:4 sparsity, which only CUDA kernels support: the functions raise when called."""

from __future__ import annotations

from typing import Any, NoReturn

from ...engine.tensors.tensor import Tensor

__all__ = [
    "SparseSemiStructuredTensor", "SparseSemiStructuredTensorCUSPARSELT", "SparseSemiStructuredTensorCUTLASS",
    "to_sparse_semi_structured",
]  # fmt: skip


def _refuse(original: Any) -> NoReturn:
    place = getattr(original, "device", None)
    if place is not None and place.type != "cuda":
        raise RuntimeError(f"Error original_tensor.device= {place} is not supported! Only CUDA tensors are currently supported.")
    raise RuntimeError("flambeau has no kernels for 2:4 sparsity; use the dense tensor, or torch.Tensor.to_sparse_bsr")


class SparseSemiStructuredTensor:
    """A matrix in which of any four elements in a row two are zero.  No backend has kernels for it.

    Raises:
        RuntimeError: always; which device the tensor would have to be on, or that there are no kernels.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Refused."""
        _refuse(args[0] if args else None)

    @classmethod
    def from_dense(cls, original_tensor: Tensor) -> Any:
        """Refused: see `SparseSemiStructuredTensor`."""
        _refuse(original_tensor)


class SparseSemiStructuredTensorCUTLASS(SparseSemiStructuredTensor):
    """The form that CUTLASS takes; refused as its base class is."""


class SparseSemiStructuredTensorCUSPARSELT(SparseSemiStructuredTensor):
    """The form that cuSPARSELt takes; refused as its base class is."""


def to_sparse_semi_structured(original_tensor: Tensor, transposed: bool = False) -> Any:
    """The tensor with 2:4 sparsity.

    Raises:
        RuntimeError: always; which device the tensor would have to be on, or that there are no kernels.
    """
    _refuse(original_tensor)
