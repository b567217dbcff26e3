"""2:4 sparsity, for which flambeau has no kernels: all functions and constructors raise RuntimeError."""

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
    """A matrix with 2:4 sparsity: two of every four elements in a row are zero.  It cannot be created.

    Raises:
        RuntimeError: always.  No backend has kernels for it; tensors that are not on a CUDA device get PyTorch's message.
    """

    _DEFAULT_ALG_ID = 0  # torchao reads the settings of PyTorch's class
    _FORCE_CUTLASS = False
    _FUSE_TRANSPOSE = False

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Raise RuntimeError: see `SparseSemiStructuredTensor`."""
        _refuse(args[0] if args else None)

    @classmethod
    def from_dense(cls, original_tensor: Tensor) -> Any:
        """Raise RuntimeError: see `SparseSemiStructuredTensor`."""
        _refuse(original_tensor)


class SparseSemiStructuredTensorCUTLASS(SparseSemiStructuredTensor):
    """2:4 sparsity in the format of CUTLASS.  Like its base class, it cannot be created."""


class SparseSemiStructuredTensorCUSPARSELT(SparseSemiStructuredTensor):
    """2:4 sparsity in the format of cuSPARSELt.  Like its base class, it cannot be created."""


def to_sparse_semi_structured(original_tensor: Tensor, transposed: bool = False) -> Any:
    """Raise RuntimeError: flambeau has no kernels for 2:4 sparsity.

    Raises:
        RuntimeError: always; for a tensor that is not on a CUDA device, with PyTorch's message.
    """
    _refuse(original_tensor)
