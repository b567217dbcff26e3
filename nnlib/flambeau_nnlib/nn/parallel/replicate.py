"""Replicas of a network on several devices, whose gradients flow back to the original."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau import Tensor

from ..modules.module import Module
from . import comm
from .devices import as_devices
from .functions import Broadcast

__all__ = ["replicate"]


def replicate(network: Module, devices: Sequence[Any], detach: bool = False) -> list[Module]:
    """Return a replica of the network for each device, with parameters and buffers on that device.

    The replicas' parameters are computed from the network's, so that a backward through all replicas accumulates in the
    network's `grad`; with `detach` they have no history. Attributes that a replica sets on itself are lost, except that
    the replica on the network's own device shares the network's buffers.
    """
    places = as_devices(devices)
    parameters = list(dict.fromkeys(network.parameters()))
    buffers = list(dict.fromkeys(network.buffers()))
    copies = _copies(parameters, places, detach)
    if buffers:
        for copies_here, buffers_here in zip(copies, comm.broadcast_coalesced(buffers, places), strict=True):
            copies_here.update(zip(buffers, buffers_here, strict=True))
    return [_make_replica(network, copies_here) for copies_here in copies]


def _copies(parameters: Sequence[Tensor], devices: Sequence[Any], detach: bool) -> list[dict[Tensor, Tensor]]:
    """Return, for each device, a dict from parameters to their copies."""
    if not parameters:
        return [{} for _ in devices]
    if detach:
        groups = comm.broadcast_coalesced(parameters, devices)
    else:
        flat = Broadcast.apply(devices, *parameters)
        groups = [flat[start : start + len(parameters)] for start in range(0, len(flat), len(parameters))]
    return [dict(zip(parameters, group, strict=True)) for group in groups]


def _make_replica(network: Module, copies: dict[Tensor, Tensor]) -> Module:
    replicas = {module: module._replicate_for_data_parallel() for module in network.modules()}
    for module, replica in replicas.items():
        for name, child in module._modules.items():
            replica._modules[name] = None if child is None else replicas[child]
        for name, buffer in module._buffers.items():
            replica._buffers[name] = None if buffer is None else copies[buffer]
        parameters: dict[str, Any] = replica._parameters  # `Any`, because a replica has non-leaf tensors instead of parameters
        for name, parameter in module._parameters.items():
            parameters[name] = replica.__dict__[name] = None if parameter is None else copies[parameter]
    return replicas[network]
