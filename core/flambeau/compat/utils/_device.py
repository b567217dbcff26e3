"""Set the device of new tensors, by a context manager or a function wrapper."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ...engine.devices.devices import device as Device

__all__ = ["DeviceContext", "set_device"]


class DeviceContext:
    """A context manager that sets the device on which new tensors are created.

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
    """Wrap `func` so that the tensors that it creates are on `device`."""

    @functools.wraps(func)
    def on_device(*args: Any, **kwargs: Any) -> Any:
        with DeviceContext(device):
            return func(*args, **kwargs)

    return on_device
