"""Names of PyTorch's compiled module that flambeau supports, each with the libraries that use it.

All other names are missing, so that libraries can test for them by `hasattr(torch._C, "_cuda_getDevice")`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import flambeau as torch

from ...engine.calls.overriding import DisableTorchFunctionSubclass, _disabled_torch_function_impl, open_modes
from ...engine.devices.devices import device
from ...engine.tape.engine import current_task
from ...engine.tape.transforming import in_transform
from ...engine.tensors.tensor import Tensor
from ...engine.values.dtypes import dtype, finfo, iinfo
from ...engine.values.sizes import Size
from ...extension import tracing
from ...operations.linalg.checks import _LinAlgError
from ...random import Generator
from ...serialization.records import PyTorchFileReader, PyTorchFileWriter
from . import _functorch, _nn

__all__ = [
    "DisableTorchFunctionSubclass", "Generator", "PyTorchFileReader", "PyTorchFileWriter", "Size",
    "TensorBase", "_LinAlgError", "_TensorBase", "_TensorMeta", "_are_functorch_transforms_active", "_current_graph_task_id",
    "_disabled_torch_function_impl", "_functorch", "_get_accelerator", "_get_default_device", "_get_privateuse1_backend_name",
    "_get_tracing_state", "_has_xpu", "_is_alias_of", "_is_torch_function_mode_enabled",
    "_is_tracing", "_log_api_usage_once", "_nn", "device", "dtype", "finfo", "iinfo",
]  # fmt: skip

TensorBase = _TensorBase = Tensor  # tensordict, fastai
_TensorMeta = type(Tensor)  # lightning
_has_xpu = False  # bitsandbytes


def _log_api_usage_once(event: str) -> None:
    """Do nothing: flambeau records no usage statistics."""


def _get_accelerator(check: bool | None = None) -> Any:
    """The device that is no CPU, or the CPU."""
    return torch.accelerator.current_accelerator() or device("cpu")


def _get_default_device() -> str:
    """The type of the device of new tensors."""
    return torch.get_default_device().type


def _are_functorch_transforms_active() -> bool:
    """Whether a transform of `torch.func`, such as `vmap` or `grad`, is calling a function."""
    return in_transform()


def _is_torch_function_mode_enabled() -> bool:
    """Whether a mode is open that calls are offered to."""
    return bool(open_modes.get())


def _is_tracing() -> bool:
    """Whether `torch.jit.trace` is running a program on its examples."""
    return bool(torch.jit.is_tracing())


def _is_alias_of(data: Tensor, other: Tensor) -> bool:
    """Whether two tensors share their memory."""
    first, second = data.untyped_storage(), other.untyped_storage()
    return first is second or first.data_ptr() == second.data_ptr() != 0


def _get_privateuse1_backend_name() -> str:
    """The name of a device type that nobody has renamed."""
    return "privateuseone"


def _current_graph_task_id() -> int:
    """A number of the backward pass that runs, and -1 outside of one."""
    task = current_task.get()
    return -1 if task is None else id(task)


def _get_tracing_state() -> tracing.TracingState | None:
    """Return the scopes of the running `torch.jit._get_trace_graph`; None if it is not running."""
    return tracing.current.get()


def __getattr__(name: str) -> Any:
    """The classes of the graphs that `torch.jit` makes, which few programs need."""
    if name in ("Block", "Graph", "Node", "TensorType", "Type", "Value"):
        return getattr(import_module("flambeau_nnlib.compile.jit._graph"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
