"""Scatter and gather of tensors in nested containers."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import flambeau as torch
from flambeau import Tensor

from .devices import as_device, as_devices
from .functions import Gather, Scatter

__all__ = ["gather", "scatter", "scatter_kwargs"]


def scatter(inputs: Any, target_gpus: Sequence[Any], dim: int = 0) -> Any:
    """Return a copy of `inputs` for each device, in which tensors are split along `dim`; other objects are shared.

    >>> scatter(torch.arange(3), ["cpu", "cpu"])
    (tensor([0, 1]), tensor([2]))
    """
    return _scatter(inputs, as_devices(target_gpus), dim)


def _scatter(value: Any, devices: Sequence[torch.device], dim: int) -> Any:
    if isinstance(value, Tensor):
        return Scatter.apply(devices, None, dim, value)
    if isinstance(value, (tuple, list, dict)) and value:
        members = value.items() if isinstance(value, dict) else value
        groups = zip(*(_scatter(member, devices, dim) for member in members), strict=False)
        return [_like(value, group) for group in groups]
    return [value for _ in devices]


def _like(container: Any, members: Sequence[Any]) -> Any:
    """Return a container of the type of `container` with these members (`(key, value)` pairs for a dict)."""
    return type(container)._make(members) if hasattr(container, "_fields") else type(container)(members)


def scatter_kwargs(
    inputs: tuple[Any, ...], kwargs: dict[str, Any] | None, target_gpus: Sequence[Any], dim: int = 0
) -> tuple[tuple[Any, ...], tuple[dict[str, Any], ...]]:
    """Scatter positional and keyword arguments; return two tuples with one item per device."""
    positional = list(scatter(inputs, target_gpus, dim)) if inputs else []
    named = list(scatter(kwargs, target_gpus, dim)) if kwargs else []
    count = max(len(positional), len(named))
    positional += [()] * (count - len(positional))
    named += [{} for _ in range(count - len(named))]
    return tuple(positional), tuple(named)


def gather(outputs: Sequence[Any], target_device: Any, dim: int = 0) -> Any:
    """Join the results of all devices: tensors are concatenated along `dim` on `target_device`, in nested containers.

    Raises:
        ValueError: dicts of different devices have different keys.
    """
    return _gather(outputs, as_device(target_device), dim)


def _gather(outputs: Sequence[Any], device: torch.device, dim: int) -> Any:
    first = outputs[0]
    if isinstance(first, Tensor):
        if dim == 0 and all(output.dim() == 0 for output in outputs):
            warnings.warn(
                "Was asked to gather along dimension 0, but all input tensors were scalars; will instead unsqueeze and "
                "return a vector.",
                stacklevel=4,
            )
        return Gather.apply(device, dim, *outputs)
    if first is None:
        return None
    if isinstance(first, dict):
        if any(first.keys() != output.keys() for output in outputs):
            raise ValueError("All dicts must have the same number of keys")
        return type(first)((key, _gather([output[key] for output in outputs], device, dim)) for key in first)
    return _like(first, [_gather(members, device, dim) for members in zip(*outputs, strict=True)])
