"""Collectives by NCCL: over NVLink where there is any, and all devices at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import flambeau as torch
from flambeau import Tensor, device

from .group import Collectives

__all__ = ["NcclCollectives", "is_available"]


def is_available() -> bool:
    """Whether CuPy finds NCCL."""
    try:
        from cupy.cuda import nccl
    except ImportError:
        return False
    return bool(nccl.available)


class NcclCollectives(Collectives):
    """Sums and broadcasts among distinct devices; what NCCL does not do goes by copies."""

    def __init__(self, device_type: str) -> None:
        super().__init__(device_type)
        self._communicators: dict[tuple[int, ...], Any] = {}

    def broadcast(self, tensors: Sequence[Tensor], devices: Sequence[device]) -> list[list[Tensor]]:
        if not tensors or not self._serves(tensors, devices) or any(each.device != devices[0] for each in tensors):
            return super().broadcast(tensors, devices)
        sources = [each.contiguous() for each in tensors]
        copies = [
            [each if place == devices[0] else torch.empty(each.shape, dtype=each.dtype, device=place) for each in sources]
            for place in devices
        ]
        for position in range(len(sources)):
            group = [each[position] for each in copies]
            self._together(
                group, lambda communicator, here, there, *kind: communicator.broadcast(here, *kind[:2], 0, kind[2]), group
            )
        return [list(tensors), *copies[1:]]

    def reduce_add(self, tensors: Sequence[Tensor], destination: device) -> Tensor:
        places = [each.device for each in tensors]
        if not self._serves(tensors, places) or destination not in places:
            return super().reduce_add(tensors, destination)
        root, tensors = places.index(destination), [each.contiguous() for each in tensors]
        results = [torch.empty_like(each) for each in tensors]
        self._together(
            tensors,
            lambda communicator, here, there, count, kind, stream: communicator.reduce(
                here, there, count, kind, _sum(), root, stream
            ),
            results,
        )
        return results[root]

    def all_reduce(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        if not self._serves(tensors, [each.device for each in tensors]):
            return super().all_reduce(tensors)
        tensors = [each.contiguous() for each in tensors]
        results = [torch.empty_like(each) for each in tensors]
        self._together(
            tensors,
            lambda communicator, here, there, count, kind, stream: communicator.allReduce(
                here, there, count, kind, _sum(), stream
            ),
            results,
        )
        return results

    def _serves(self, tensors: Sequence[Tensor], devices: Sequence[device]) -> bool:
        """NCCL wants several distinct devices and dtypes that it knows."""
        return len(set(devices)) == len(devices) > 1 and all(each.dtype in _kinds() for each in tensors)

    def _together(self, tensors: Sequence[Tensor], call: Callable[..., Any], results: Sequence[Tensor]) -> None:
        """`call(communicator, address, address of result, count, kind, stream)` on every device, as one operation."""
        from cupy.cuda import Device, get_current_stream, nccl

        indices = tuple(each.device.index or 0 for each in tensors)
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
    """NCCL's number for each dtype."""
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
