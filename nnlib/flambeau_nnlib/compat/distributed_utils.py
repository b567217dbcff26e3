"""Private functions of `torch.distributed.utils`."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

import flambeau as torch
from flambeau_nnlib import distributed

__all__: list[str] = []


@torch.no_grad()
def _sync_module_states(
    module: Any,
    process_group: Any,
    broadcast_bucket_size: int,
    src: int,
    params_and_buffers_to_ignore: Container[str],
    broadcast_buffers: bool = True,
) -> None:
    """Replace the parameters, and the buffers if wanted, by those of rank `src`; the bucket size has no effect."""
    named = [*module.named_parameters(), *(module.named_buffers() if broadcast_buffers else ())]
    for name, tensor in named:
        if name not in params_and_buffers_to_ignore:
            distributed.broadcast(tensor, src, group=process_group)


@torch.no_grad()
def _broadcast_coalesced(process_group: Any, tensors: Sequence[torch.Tensor], buffer_size: int, src: int = 0) -> None:
    """Replace the tensors by those of rank `src` of a group; the buffer size has no effect."""
    for tensor in tensors:
        distributed.broadcast(tensor, distributed.get_global_rank(process_group, src), group=process_group)
