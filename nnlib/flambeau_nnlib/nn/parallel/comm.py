"""Collectives between the devices of one process, as in `torch.cuda.comm`. `functions` has the differentiable versions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flambeau as torch
from flambeau import Tensor

from .devices import as_device, as_devices, collectives

__all__ = ["broadcast", "broadcast_coalesced", "gather", "reduce_add", "reduce_add_coalesced", "scatter"]


def broadcast(tensor: Tensor, devices: Sequence[Any] | None = None, *, out: Sequence[Tensor] | None = None) -> tuple[Tensor, ...]:
    """Copy a tensor to each of `devices`, or into the tensors of `out`.

    Raises:
        RuntimeError: not exactly one of `devices` and `out` is given, or there are no devices.
    """
    if (devices is None) == (out is None):
        raise RuntimeError(f"Exactly one of 'devices' and 'out' must be specified, but got devices={devices} and out={out}")
    if out is not None:
        return tuple(_write(target, tensor) for target in out)
    return tuple(copies[0] for copies in broadcast_coalesced([tensor], devices))  # type: ignore[arg-type]  # `devices` is not None here


def broadcast_coalesced(tensors: Sequence[Tensor], devices: Sequence[Any], buffer_size: int = 10485760) -> list[list[Tensor]]:
    """Copy all tensors to each device; return one list of copies per device."""
    places = _receivers(devices, "broadcast")
    return collectives(places[0]).broadcast([tensor.detach() for tensor in tensors], places)  # type: ignore[no-any-return]


def reduce_add(inputs: Sequence[Tensor], destination: Any = None) -> Tensor:
    """Sum tensors of the same shape from several devices; the result is on `destination` (default: the current device).

    Raises:
        ValueError: the shapes of the tensors differ.
    """
    for position, tensor in enumerate(inputs):
        if tensor.shape != inputs[0].shape:
            got, expected = "x".join(map(str, tensor.shape)), "x".join(map(str, inputs[0].shape))
            raise ValueError(f"input {position} has invalid size: got {got}, but expected {expected}")
    place = inputs[0].device if destination is None else as_devices([destination])[0]
    return collectives(place).reduce_add([tensor.detach() for tensor in inputs], place)  # type: ignore[no-any-return]


def reduce_add_coalesced(
    inputs: Sequence[Sequence[Tensor]], destination: Any = None, buffer_size: int = 10485760
) -> tuple[Tensor, ...]:
    """Sum tensors across devices: `inputs` has one sequence per device, and tensors in the same position are added."""
    return tuple(reduce_add(tensors, destination) for tensors in zip(*inputs, strict=True))


def scatter(
    tensor: Tensor,
    devices: Sequence[Any] | None = None,
    chunk_sizes: Sequence[int] | None = None,
    dim: int = 0,
    streams: Any = None,
    *,
    out: Sequence[Tensor] | None = None,
) -> tuple[Tensor, ...]:
    """Split a tensor along `dim` into `chunk_sizes`, and copy the parts to `devices` or into the tensors of `out`.

    Raises:
        RuntimeError: the sizes do not sum to the tensor's size, there are no devices, or `out` is given together with `devices`
            or `chunk_sizes`.
    """
    if out is None:
        places = _receivers(devices, "scatter")
        return tuple(collectives(places[0]).scatter(tensor.detach(), places, chunk_sizes, dim))
    for name, value in (("devices", devices), ("chunk_sizes", chunk_sizes)):
        if value is not None:
            raise RuntimeError(f"'{name}' must not be specified when 'out' is specified, but got {name}={value}")
    parts = tensor.split([target.size(dim) for target in out], dim)
    return tuple(_write(target, part) for target, part in zip(out, parts, strict=True))


def gather(tensors: Sequence[Tensor], dim: int = 0, destination: Any = None, *, out: Tensor | None = None) -> Tensor:
    """Concatenate tensors of several devices along `dim`, on `destination` or into `out`."""
    if not tensors:
        raise RuntimeError("Expected at least one tensor to gather from")
    if out is not None and destination is not None:
        raise RuntimeError(f"'destination' must not be specified when 'out' is specified, but got destination={destination}")
    place = out.device if out is not None else tensors[0].device if destination is None else as_device(destination)
    joined = collectives(tensors[0].device).gather([tensor.detach() for tensor in tensors], place, dim)
    return joined if out is None else _write(out, joined)


def _receivers(devices: Sequence[Any] | None, action: str) -> list[torch.device]:
    if not devices:
        raise RuntimeError(f"Expected at least one device to {action} to")
    return as_devices(devices)


def _write(target: Tensor, source: Tensor) -> Tensor:
    with torch.no_grad():
        return target.copy_(source)
