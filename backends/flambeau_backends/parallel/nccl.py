"""Collectives by NCCL, which uses all devices concurrently, and NVLink if available."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import flambeau as torch
from flambeau import Tensor, device

from .group import Collectives

__all__ = ["NcclCollectives", "is_available"]


def is_available() -> bool:
    """Whether CuPy is built with NCCL."""
    try:
        from cupy.cuda import nccl
    except ImportError:
        return False
    return bool(nccl.available)


class NcclCollectives(Collectives):
    """Collectives that use NCCL for sums and broadcasts among distinct devices, and copies between devices otherwise."""

    def __init__(self, device_type: str) -> None:
        super().__init__(device_type)
        self._communicators: dict[tuple[int, ...], Any] = {}

    def broadcast(self, tensors: Sequence[Tensor], devices: Sequence[device]) -> list[list[Tensor]]:
        if not tensors or not self._serves(tensors, devices) or any(tensor.device != devices[0] for tensor in tensors):
            return super().broadcast(tensors, devices)
        sources = [tensor.contiguous() for tensor in tensors]
        copies = [
            [tensor if place == devices[0] else torch.empty(tensor.shape, dtype=tensor.dtype, device=place) for tensor in sources]
            for place in devices
        ]
        for position in range(len(sources)):
            group = [tensors_of_device[position] for tensors_of_device in copies]
            self._together(
                group, lambda communicator, here, there, *kind: communicator.broadcast(here, *kind[:2], 0, kind[2]), group
            )
        return [list(tensors), *copies[1:]]

    def reduce_add(self, tensors: Sequence[Tensor], destination: device) -> Tensor:
        places = [tensor.device for tensor in tensors]
        if not self._serves(tensors, places) or destination not in places:
            return super().reduce_add(tensors, destination)
        root, tensors = places.index(destination), [tensor.contiguous() for tensor in tensors]
        results = [torch.empty_like(tensor) for tensor in tensors]
        self._together(
            tensors,
            lambda communicator, here, there, count, kind, stream: communicator.reduce(
                here, there, count, kind, _sum(), root, stream
            ),
            results,
        )
        return results[root]

    def all_reduce(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        if not self._serves(tensors, [tensor.device for tensor in tensors]):
            return super().all_reduce(tensors)
        tensors = [tensor.contiguous() for tensor in tensors]
        results = [torch.empty_like(tensor) for tensor in tensors]
        self._together(
            tensors,
            lambda communicator, here, there, count, kind, stream: communicator.allReduce(
                here, there, count, kind, _sum(), stream
            ),
            results,
        )
        return results

    def _serves(self, tensors: Sequence[Tensor], devices: Sequence[device]) -> bool:
        """Whether NCCL supports the call: several distinct devices, and supported dtypes."""
        return len(set(devices)) == len(devices) > 1 and all(tensor.dtype in _kinds() for tensor in tensors)

    def _together(self, tensors: Sequence[Tensor], call: Callable[..., Any], results: Sequence[Tensor]) -> None:
        """Run `call(communicator, address, result address, count, NCCL dtype, stream)` on every device, as one NCCL group."""
        from cupy.cuda import Device, get_current_stream, nccl

        indices = tuple(tensor.device.index or 0 for tensor in tensors)
        if indices not in self._communicators:
            self._communicators[indices] = nccl.NcclCommunicator.initAll(list(indices))
        nccl.groupStart()
        try:
            for communicator, index, here, there in zip(self._communicators[indices], indices, tensors, results, strict=True):
                with Device(index):
                    call(
                        communicator,
                        here.data_ptr(),
                        there.data_ptr(),
                        here.numel(),
                        _kinds()[here.dtype],
                        get_current_stream().ptr,
                    )
        finally:
            nccl.groupEnd()


def _sum() -> int:
    from cupy.cuda import nccl

    return int(nccl.NCCL_SUM)


def _kinds() -> dict[Any, int]:
    """Return NCCL's constant for each supported dtype."""
    from cupy.cuda import nccl

    return {
        torch.float16: nccl.NCCL_FLOAT16,
        torch.float32: nccl.NCCL_FLOAT32,
        torch.float64: nccl.NCCL_FLOAT64,
        torch.int8: nccl.NCCL_INT8,
        torch.uint8: nccl.NCCL_UINT8,
        torch.int32: nccl.NCCL_INT32,
        torch.int64: nccl.NCCL_INT64,
    }
