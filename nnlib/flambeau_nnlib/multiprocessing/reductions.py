"""Pickling of tensors for other processes, as handles of shared memory."""

from __future__ import annotations

from multiprocessing.reduction import ForkingPickler
from typing import Any

import flambeau as torch
from flambeau.cuda import sharing
from flambeau.extension import Parameter, private_names

from .shared import SharedBlock, block_tensor, share

__all__ = ["check_leaf", "init_reductions", "rebuild_tensor", "reduce_storage", "reduce_tensor"]

__getattr__ = private_names(__name__)


def check_leaf(tensor: torch.Tensor) -> None:
    """Raise RuntimeError if `tensor` requires a gradient and is not a leaf: its graph cannot leave the process."""
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not "
            "support crossing process boundaries.  If you just want to transfer the data, call detach() on "
            "the tensor before serializing (e.g., putting it on the queue)."
        )


def reduce_tensor(tensor: torch.Tensor) -> tuple[Any, ...]:
    """Move `tensor` to shared memory, and return its pickled form: a handle, dtype and layout."""
    check_leaf(tensor)
    layout = (tuple(tensor.size()), tensor.stride(), tensor.storage_offset())
    if tensor.is_cuda and tensor.numel():
        byte = SharedBlock.create(1)
        loan = (*sharing.export_memory(tensor, byte), byte)
        return _rebuild_borrowed, (type(tensor), loan, tensor.dtype, layout, tensor.requires_grad)
    if tensor.device.type != "cpu":
        return _rebuild_on_device, (
            type(tensor),
            tensor.detach().cpu(),
            str(tensor.device),
            tensor.requires_grad,
        )
    block = share(tensor)
    return rebuild_tensor, (type(tensor), block, tensor.dtype, layout, tensor.requires_grad)


def rebuild_tensor(
    cls: type, block: SharedBlock, dtype: torch.dtype, layout: tuple[Any, ...], requires_grad: bool
) -> torch.Tensor:
    """Return the tensor of type `cls` stored in `block`."""
    return _as_type(cls, block_tensor(block, dtype).as_strided(*layout), requires_grad)


def _rebuild_borrowed(
    cls: type, loan: tuple[Any, ...], dtype: torch.dtype, layout: tuple[Any, ...], requires_grad: bool
) -> torch.Tensor:
    """Return the tensor of type `cls` in device memory of another process."""
    return _as_type(cls, sharing.import_memory(*loan).view(dtype).as_strided(*layout), requires_grad)


def _rebuild_on_device(cls: type, tensor: torch.Tensor, device: str, requires_grad: bool) -> torch.Tensor:
    return _as_type(cls, tensor.to(device), requires_grad)


def _as_type(cls: type, tensor: torch.Tensor, requires_grad: bool) -> torch.Tensor:
    if cls is torch.Tensor:
        return tensor.requires_grad_(requires_grad)
    result: torch.Tensor = cls(tensor, requires_grad=requires_grad)
    return result


def reduce_storage(storage: Any) -> tuple[Any, ...]:
    """Move a storage to shared memory, as `reduce_tensor` does, or copy it on devices without shared memory."""
    if isinstance(storage, torch.TypedStorage):
        return _rebuild_typed, (storage.untyped(), storage.dtype)
    return _rebuild_storage, (storage.as_tensor(torch.uint8),)


def _rebuild_typed(storage: torch.UntypedStorage, dtype: torch.dtype) -> torch.TypedStorage:
    return torch.TypedStorage(wrap_storage=storage, dtype=dtype)


def _rebuild_storage(tensor: torch.Tensor) -> torch.UntypedStorage:
    return tensor.untyped_storage()


def init_reductions() -> None:
    """Register tensors and storages with the pickler of queues, pipes and process arguments."""
    ForkingPickler.register(torch.Tensor, reduce_tensor)
    ForkingPickler.register(Parameter, reduce_tensor)
    ForkingPickler.register(torch.UntypedStorage, reduce_storage)
    ForkingPickler.register(torch.TypedStorage, reduce_storage)
