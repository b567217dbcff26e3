"""Collectives by copies from device to device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import flambeau as torch
from flambeau import Tensor, backend, device

from .workers import run_on

__all__ = ["Collectives"]


class Collectives:
    """Collective operations on devices of one type.

    Arguments and results have no autograd history.  `devices` may contain a device more than once.

    >>> Collectives("cpu").broadcast([torch.ones(2)], [torch.device("cpu")])
    [[tensor([1., 1.])]]
    """

    def __init__(self, device_type: str) -> None:
        self.device_type = device_type

    def devices(self) -> list[device]:
        """Return all devices of this type."""
        return [device(self.device_type, index) for index in range(backend.for_device_type(self.device_type).device_count())]

    def run(self, calls: Sequence[Callable[[], Any]], devices: Sequence[device]) -> list[Any]:
        """Run each call concurrently on its device; return the results, or the exception of a failed call in its place."""
        return run_on(devices, calls)

    def broadcast(self, tensors: Sequence[Tensor], devices: Sequence[device]) -> list[list[Tensor]]:
        """Return all tensors on each device; a tensor is not copied to the device that it is on."""
        return [[tensor.to(place) for tensor in tensors] for place in devices]

    def scatter(
        self, tensor: Tensor, devices: Sequence[device], sizes: Sequence[int] | None = None, dim: int = 0
    ) -> list[Tensor]:
        """Split a tensor into one chunk per device, of the given sizes or as even as possible; fewer if the tensor is short.

        Raises:
            RuntimeError: the sizes do not match the devices, or do not add up to the tensor's size.
        """
        if sizes is None:
            parts = tensor.chunk(len(devices), dim)
        else:
            if sum(sizes) != tensor.size(dim) or len(sizes) != len(devices):
                raise RuntimeError(
                    f"scatter: chunk_sizes {list(sizes)} for {len(devices)} devices do not divide dimension {dim} of "
                    f"size {tensor.size(dim)}"
                )
            parts = tensor.split(list(sizes), dim)
        return [part.to(place) for part, place in zip(parts, devices, strict=False)]

    def gather(self, tensors: Sequence[Tensor], destination: device, dim: int = 0) -> Tensor:
        """Concatenate the tensors of all devices on one device."""
        return torch.cat([tensor.to(destination) for tensor in tensors], dim)

    def reduce_add(self, tensors: Sequence[Tensor], destination: device) -> Tensor:
        """Sum the tensors of all devices on one device, in their order, so that rounding is reproducible."""
        return reduce(torch.add, [tensor.to(destination) for tensor in tensors])

    def all_reduce(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """Return the sum of the tensors on each tensor's device."""
        total = self.reduce_add(tensors, tensors[0].device)
        return [total.to(tensor.device) for tensor in tensors]
