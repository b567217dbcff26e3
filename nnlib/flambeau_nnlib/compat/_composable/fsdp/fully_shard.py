"""`torch.distributed.fsdp`'s `fully_shard`, under its former name."""

from __future__ import annotations

from flambeau_nnlib.distributed.fsdp import FSDPModule, UnshardHandle, fully_shard, register_fsdp_forward_method

__all__ = ["FSDPModule", "UnshardHandle", "fully_shard", "register_fsdp_forward_method"]
