"""`torch.distributed._symmetric_memory`: memory of GPUs that all processes address, which is not supported.

The operators `torch.ops.symm_mem`, which combine a product of matrices with a collective, compute the two one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from flambeau import Tensor
from flambeau_nnlib.distributed import functional_collectives as functional
from flambeau_nnlib.distributed.world import named_group

__all__ = [
    "empty", "enable_symm_mem_for_group", "fused_all_gather_matmul", "fused_matmul_reduce_scatter", "get_backend",
    "is_symm_mem_enabled_for_group", "rendezvous", "set_backend",
]  # fmt: skip


def get_backend(device: Any) -> None:
    """Return None: no device has symmetric memory."""


def set_backend(name: str) -> NoReturn:
    """Raise RuntimeError: no backend allocates symmetric memory."""
    raise RuntimeError(f"SymmetricMemory does not find allocation backend {name}")


def enable_symm_mem_for_group(group_name: str) -> None:
    """Do nothing.  RuntimeError if no process group has this name."""
    named_group(group_name)


def is_symm_mem_enabled_for_group(group_name: str) -> bool:
    """Return False: symmetric memory is not supported."""
    return False


def empty(*size: Any, dtype: Any = None, device: Any = None) -> NoReturn:
    """Raise RuntimeError: symmetric memory is not supported."""
    raise RuntimeError(f"SymmetricMemory does not support device type {device or 'cpu'}")


def rendezvous(tensor: Tensor, group: Any) -> NoReturn:
    """Raise RuntimeError: symmetric memory is not supported."""
    empty(device=tensor.device.type)


class _SymmetricMemory:
    """A handle of symmetric memory.  The constructor raises RuntimeError."""

    def __init__(self, *args: Any) -> None:
        empty()


# --- torch.ops.symm_mem ---


def fused_all_gather_matmul(
    A: Tensor, Bs: Sequence[Tensor], gather_dim: int, group_name: str, *, return_A: bool = True
) -> tuple[Tensor | None, list[Tensor]]:
    """Concatenate the tensors `A` of all processes, and multiply the result by each matrix."""
    gathered = functional.all_gather_tensor(A, gather_dim, named_group(group_name))
    return gathered if return_A else None, [gathered @ B for B in Bs]


def fused_matmul_reduce_scatter(A: Tensor, B: Tensor, reduce_op: str, scatter_dim: int, group_name: str) -> Tensor:
    """Reduce the products of all processes, and return this process's part."""
    return functional.reduce_scatter_tensor(A @ B, reduce_op, scatter_dim, named_group(group_name))
