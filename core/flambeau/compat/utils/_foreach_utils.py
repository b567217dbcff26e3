"""Group tensors by device and dtype for `torch._foreach_*`.  Optimizers and gradient clippers outside of PyTorch use it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from ...engine.devices.devices import device as Device
from ...engine.tensors.tensor import Tensor

__all__: list[str] = []

TensorListList: TypeAlias = list[list[Tensor | None]]
Indices: TypeAlias = list[int]
_foreach_supported_types: list[type] = [Tensor]  # libraries add tensor subclasses


def _get_foreach_kernels_supported_devices() -> list[str]:
    """Return the device types for which PyTorch has kernels on lists of tensors."""
    return ["cuda", "xpu", "mtia", "privateuseone"]


def _get_fused_kernels_supported_devices() -> list[str]:
    """Return the device types for which PyTorch has fused optimizer kernels."""
    return ["mps", "cuda", "xpu", "hpu", "cpu", "mtia", "privateuseone"]


def _group_tensors_by_device_and_dtype(
    tensorlistlist: Sequence[Sequence[Tensor | None]], with_indices: bool = False
) -> dict[tuple[Device, Any], tuple[TensorListList, Indices]]:
    """Split parallel lists of tensors by the device and dtype of the tensors in the first list.

    Return {(device, dtype): (lists, indices)}; with `with_indices`, `indices` are the positions in the original lists.

    >>> lists = [[torch.ones(1), torch.ones(1).half()], [torch.zeros(1), torch.zeros(1).half()]]
    >>> [indices for _, indices in _group_tensors_by_device_and_dtype(lists, with_indices=True).values()]
    [[0], [1]]
    """
    groups: dict[tuple[Device, Any], tuple[TensorListList, Indices]] = {}
    for place, first in enumerate(tensorlistlist[0]):
        if first is None:
            raise RuntimeError("_group_tensors_by_device_and_dtype: the first list must not contain None")
        lists, indices = groups.setdefault((first.device, first.dtype), ([[] for _ in tensorlistlist], []))
        for group, tensors in zip(lists, tensorlistlist, strict=True):
            if tensors:
                group.append(tensors[place])
        if with_indices:
            indices.append(place)
    return groups


def _device_has_foreach_support(device: Device) -> bool:
    """Whether `torch._foreach_*` supports a device: the CPU, or a device for which PyTorch has kernels on lists."""
    return device.type in (*_get_foreach_kernels_supported_devices(), "cpu")


def _has_foreach_support(tensors: Sequence[Tensor | None], device: Device) -> bool:
    """Whether the device supports `torch._foreach_*` and all tensors are of the types in `_foreach_supported_types`."""
    supported = all(t is None or type(t) in _foreach_supported_types for t in tensors)
    return supported and _device_has_foreach_support(device)
