"""Modules run in parallel, each in the thread of its device."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import flambeau as torch
from flambeau import Tensor

from ..modules.module import Module
from .places import as_devices, collectives

__all__ = ["parallel_apply"]


def parallel_apply(
    modules: Sequence[Module],
    inputs: Sequence[Any],
    kwargs_tup: Sequence[dict[str, Any]] | None = None,
    devices: Sequence[Any] | None = None,
) -> list[Any]:
    """`modules[i](*inputs[i], **kwargs_tup[i])` for all `i` at once, each on its device.

    Args:
        modules: one for each device.
        inputs: for each, the positional arguments, or the only one.
        kwargs_tup: for each, the keyword arguments.
        devices: where each runs; by default where its inputs are.

    Raises:
        What a module raised, of the same type, with the replica and its device named.
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
    """The first tensor in nested containers."""
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
    """A factory of contexts that give another thread the autocast settings of this one."""
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
    """An error of the same type whose message names the replica and its device."""
    kind, trace = type(error), "".join(traceback.format_exception(error))
    message = f"Caught {kind.__name__} in replica {position} on device {device}.\nOriginal {trace}"
    try:
        return kind(message)
    except TypeError:  # its constructor takes something else
        return RuntimeError(message)
