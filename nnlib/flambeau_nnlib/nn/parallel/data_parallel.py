"""`DataParallel`: splits each batch over several devices with a replica of the network on each."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import flambeau as torch
from flambeau import Tensor

from ..modules.module import Module
from .devices import all_devices, as_devices
from .parallel_apply import parallel_apply
from .replicate import replicate
from .scatter_gather import gather, scatter_kwargs

__all__ = ["DataParallel", "data_parallel"]


class DataParallel(Module):
    """Wraps a network so that every batch is split over several devices.

    Each forward replicates the network to all devices, runs the replicas in parallel, each on a part of the batch, and
    gathers their results. The backward sums the replicas' gradients into the network's own parameters.

    Args:
        module: the network; its parameters must be on the first device.
        device_ids: the devices (all by default; without CUDA, all virtual devices of the CPU).
        output_device: the device of the result (the first device by default).
        dim: the batch dimension, along which tensors are split.

    Shape:
        - Input: the network's arguments; tensors among them are split along `dim`.
        - Output: what the network returns for the whole batch.

    Raises:
        RuntimeError: a parameter is not on the first device.

    Example:
        >>> net = torch.nn.DataParallel(torch.nn.Linear(3, 2), device_ids=["cpu"])
        >>> net(torch.ones(4, 3)).shape
        torch.Size([4, 2])
    """

    def __init__(self, module: Module, device_ids: Sequence[Any] | None = None, output_device: Any = None, dim: int = 0) -> None:
        super().__init__()
        self.module = module
        self.dim = dim
        self.devices = all_devices() if device_ids is None else as_devices(device_ids)
        if not self.devices:
            raise RuntimeError("no available devices were found")
        self.device_ids = [device.index or 0 for device in self.devices]
        self.output_device = self.devices[0] if output_device is None else as_devices([output_device])[0]
        if len(self.devices) == 1:
            self.module.to(self.devices[0])

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Return the network's result for the whole batch."""
        if len(self.devices) == 1:
            return self.module(*inputs, **kwargs)
        _check_source(self.module, self.devices[0])
        args_by_device, kwargs_by_device = self.scatter(inputs, kwargs, self.devices)
        if not args_by_device:  # the call has no arguments to split
            args_by_device, kwargs_by_device = ((),), ({},)
        if len(args_by_device) == 1:
            return self.module(*args_by_device[0], **kwargs_by_device[0])
        replicas = self.replicate(self.module, self.devices[: len(args_by_device)])
        return self.gather(self.parallel_apply(replicas, args_by_device, kwargs_by_device), self.output_device)

    def replicate(self, module: Module, device_ids: Sequence[Any]) -> list[Module]:
        """Return one replica of the network per device; the replicas are detached when grad mode is off."""
        return replicate(module, device_ids, not torch.is_grad_enabled())

    def scatter(self, inputs: tuple[Any, ...], kwargs: dict[str, Any], device_ids: Sequence[Any]) -> Any:
        """Split the arguments for the devices."""
        return scatter_kwargs(inputs, kwargs, device_ids, dim=self.dim)

    def parallel_apply(self, replicas: Sequence[Module], inputs: Sequence[Any], kwargs: Any) -> list[Any]:
        """Return the results of all replicas."""
        return parallel_apply(replicas, inputs, kwargs, self.devices[: len(replicas)])

    def gather(self, outputs: Sequence[Any], output_device: Any) -> Any:
        """Concatenate the replicas' results along `dim` on `output_device`."""
        return gather(outputs, output_device, dim=self.dim)


def _check_source(module: Module, source: torch.device) -> None:
    for tensor in chain(module.parameters(), module.buffers()):
        if tensor.device != source:
            raise RuntimeError(
                f"module must have its parameters and buffers on device {source} (device_ids[0]) but found one of "
                f"them on device: {tensor.device}"
            )


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Sequence[Any] | None = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Tensor:
    """Call a network with `inputs` split over several devices, like `DataParallel`.

    Args:
        module: the network, on the first device.
        inputs: a tensor, or a tuple of arguments.
        device_ids, output_device, dim: as for `DataParallel`.
        module_kwargs: keyword arguments; tensors among them are also split.
    """
    inputs = inputs if isinstance(inputs, tuple) else () if inputs is None else (inputs,)
    devices = all_devices() if device_ids is None else as_devices(device_ids)
    _check_source(module, devices[0])
    return DataParallel(module, devices, output_device, dim)(*inputs, **(module_kwargs or {}))  # type: ignore[no-any-return]
