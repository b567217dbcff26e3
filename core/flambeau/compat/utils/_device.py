"""A device for new tensors, as a context and as a decorator."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ...engine.devices.devices import device as Device

__all__ = ["DeviceContext", "set_device"]


class DeviceContext:
    """A context in which functions that make tensors make them on this device.

    >>> with torch.utils._device.DeviceContext("cpu"):
    ...     torch.ones(1).device
    device(type='cpu')
    """

    def __init__(self, device: Any) -> None:
        self.device = Device(device)

    def __enter__(self) -> DeviceContext:
        self.device.__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        self.device.__exit__(*exception)


def set_device(device: Any, func: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose new tensors are made on this device."""

    @functools.wraps(func)
    def on_device(*args: Any, **kwargs: Any) -> Any:
        with DeviceContext(device):
            return func(*args, **kwargs)

    return on_device
