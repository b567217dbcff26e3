"""Random states, autocast and default device of the forward pass, restored for the recomputation."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import flambeau as torch

from ..amp.autocast_mode import snapshot as autocast_snapshot

__all__ = ["DefaultDeviceType", "Settings", "get_device_states", "set_device_states", "tensors_in"]


class DefaultDeviceType:
    """The accelerator whose random state is saved when all tensor arguments of a checkpoint are on the CPU."""

    _device_type: str | None = None

    @staticmethod
    def set_device_type(device: str = "cuda") -> None:
        """Set the device type."""
        DefaultDeviceType._device_type = device

    @staticmethod
    def get_device_type() -> str:
        """Return the device type: the one that was set, else `"cuda"` if available, else `"cpu"`."""
        return DefaultDeviceType._device_type or ("cuda" if torch.cuda.is_available() else "cpu")


def _accelerated(values: Iterable[Any]) -> list[torch.Tensor]:
    return [value for value in tensors_in(values) if value.device.type not in ("cpu", "meta")]


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        yield from tensors_in(value.values())
    elif isinstance(value, Iterable) and not isinstance(value, str | bytes):
        for item in value:
            yield from tensors_in(item)


def _infer_device_type(args: Any) -> str:
    types = [tensor.device.type for tensor in _accelerated(args)]
    if len(set(types)) > 1:
        warnings.warn(
            "Tensor arguments, excluding CPU tensors, are detected on at least two types of devices. Device "
            "state will only be saved for devices of a single device type, and the remaining devices will "
            "be ignored. Consequently, if any checkpointed functions involve randomness, this may result in "
            "incorrect gradients. (Note that if CUDA devices are among the devices detected, it will be "
            "prioritized; otherwise, the first device encountered will be selected.)\nDevice types: "
            f"{sorted(set(types))} first device type: {types[0]}",
            stacklevel=3,
        )
    if not types:
        return DefaultDeviceType.get_device_type()
    return "cuda" if "cuda" in types else types[0]


def get_device_states(*args: Any) -> tuple[list[int], list[torch.Tensor]]:
    """Return the non-CPU devices of the tensors in `args`, and their random states."""
    device_type = _infer_device_type(args)
    devices = [tensor.get_device() for tensor in _accelerated(args)]
    states = []
    for device in devices:
        module = getattr(torch, device_type)
        with module.device(device):
            states.append(module.get_rng_state())
    return devices, states


def set_device_states(devices: Iterable[int], states: Iterable[torch.Tensor], *, device_type: str | None = None) -> None:
    """Set the random states of `devices`."""
    device_type = device_type or DefaultDeviceType.get_device_type()
    if device_type == "meta":
        return
    for device, state in zip(devices, states, strict=False):
        module = getattr(torch, device_type)
        with module.device(device):
            module.set_rng_state(state)


class Settings:
    """The random states, autocast settings and default device at creation. `restored` sets them again in a `with` block."""

    def __init__(self, preserve_rng_state: bool, args: Any) -> None:
        self.preserve = preserve_rng_state
        self.autocast = autocast_snapshot()
        self.default_device = torch.get_default_device()
        if preserve_rng_state:
            self.device_type = _infer_device_type(args)
            self.state = torch.get_rng_state()
            self.devices, self.device_states = get_device_states(*args)

    @contextlib.contextmanager
    def restored(self) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            if self.preserve:
                stack.enter_context(torch.random.fork_rng(self.devices, device_type=self.device_type))
                torch.set_rng_state(self.state)
                set_device_states(self.devices, self.device_states, device_type=self.device_type)
            stack.enter_context(torch.device(self.default_device))
            stack.enter_context(self.autocast())
            yield
