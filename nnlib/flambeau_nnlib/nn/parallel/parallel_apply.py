"""Calls of several modules in parallel, one thread per device."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import flambeau as torch
from flambeau import Tensor

from ..modules.module import Module
from .devices import as_devices, collectives

__all__ = ["parallel_apply"]


def parallel_apply(
    modules: Sequence[Module],
    inputs: Sequence[Any],
    kwargs_tup: Sequence[dict[str, Any]] | None = None,
    devices: Sequence[Any] | None = None,
) -> list[Any]:
    """Call `modules[i](*inputs[i], **kwargs_tup[i])` for all `i` in parallel, each on its device.

    Args:
        modules: one for each device.
        inputs: for each module, a tuple of positional arguments, or a single argument.
        kwargs_tup: for each module, a dict of keyword arguments.
        devices: the device of each call; by default the device of its inputs.

    Raises:
        The error of the first module that failed, with the replica and its device added to the message.
    """
    if len(modules) != len(inputs):
        raise AssertionError(f"The number of modules {len(modules)} is not equal to the number of inputs {len(inputs)}")
    kwargs_list = kwargs_tup or [{}] * len(modules)
    if devices is not None:
        places = as_devices(devices)
    else:
        places = [_device_of(arguments) for arguments in zip(inputs, kwargs_list, strict=True)]
    calls = [
        _call(module, args if isinstance(args, (tuple, list)) else (args,), kwargs, place.type)
        for module, args, kwargs, place in zip(modules, inputs, kwargs_list, places, strict=True)
    ]
    results = collectives(places[0]).run(calls, places) if len(calls) > 1 else [_result_or_error(call) for call in calls]
    for position, result in enumerate(results):
        if isinstance(result, BaseException):
            raise _with_replica(result, position, places[position]) from result
    return results


def _device_of(value: Any) -> torch.device:
    tensor = _find_tensor(value)
    return torch.empty(0).device if tensor is None else tensor.device


def _find_tensor(value: Any) -> Tensor | None:
    """Return the first tensor in nested containers, or None."""
    if isinstance(value, Tensor):
        return value
    members = value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else ()
    return next((tensor for tensor in map(_find_tensor, members) if tensor is not None), None)


def _call(module: Module, args: Sequence[Any], kwargs: dict[str, Any], device_type: str) -> Callable[[], Any]:
    autocast = _autocast_of_this_thread(device_type)

    def call() -> Any:
        with autocast():
            return module(*args, **kwargs)

    return call


def _autocast_of_this_thread(device_type: str) -> Callable[[], AbstractContextManager[Any]]:
    """Return a function that creates contexts with this thread's autocast settings, for use in other threads."""
    if not torch.is_autocast_enabled(device_type):
        return nullcontext
    dtype = torch.get_autocast_dtype(device_type)
    return lambda: torch.autocast(device_type, dtype=dtype)


def _result_or_error(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as error:
        return error


def _with_replica(error: BaseException, position: int, device: torch.device) -> BaseException:
    """Return an error of the same type whose message names the replica and its device."""
    kind, trace = type(error), "".join(traceback.format_exception(error))
    message = f"Caught {kind.__name__} in replica {position} on device {device}.\nOriginal {trace}"
    try:
        return kind(message)
    except TypeError:  # this error type cannot be created from a message alone
        return RuntimeError(message)
