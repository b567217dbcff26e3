"""Names of PyTorch's compiled module `torch._C` that libraries use.  Comments name some of those libraries.

All other names are missing, so that libraries can test for them by `hasattr(torch._C, "_cuda_getDevice")`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import flambeau as torch

from ...engine.calls.overriding import DisableTorchFunctionSubclass, _disabled_torch_function_impl, open_modes
from ...engine.devices.devices import device
from ...engine.tape.engine import current_task
from ...engine.tape.node import running
from ...engine.tape.transforming import in_transform
from ...engine.tensors.tensor import Tensor
from ...engine.values.dtypes import dtype, finfo, iinfo
from ...engine.values.sizes import Size
from ...extension import tracing
from ...operations.linalg.checks import _LinAlgError
from ...random import Generator
from ...serialization.records import PyTorchFileReader, PyTorchFileWriter
from . import _autograd, _cpu, _fft, _functorch, _linalg, _nn, _special
from .dispatch import *  # noqa: F403
from .jit_switches import *  # noqa: F403
from .storages import *  # noqa: F403
from .tags import Tag

__all__ = [
    "_GLIBCXX_USE_CXX11_ABI",
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "Generator",
    "PyTorchFileReader",
    "PyTorchFileWriter",
    "ScriptObject",
    "Size",
    "Tag",
    "TensorBase",
    "_LinAlgError",
    "_TensorBase",
    "_TensorMeta",
    "_VariableFunctions",
    "_VariableFunctionsClass",
    "_are_functorch_transforms_active",
    "_autograd",
    "_cpu",
    "_current_autograd_node",
    "_current_graph_task_id",
    "_disabled_torch_function_impl",
    "_fft",
    "_functorch",
    "_get_accelerator",
    "_get_default_device",
    "_get_privateuse1_backend_name",
    "_get_sdp_priority_order",
    "_get_tracing_state",
    "_has_xpu",
    "_is_alias_of",
    "_is_torch_function_mode_enabled",
    "_is_tracing",
    "_len_torch_dispatch_stack",
    "_linalg",
    "_log_api_usage_once",
    "_nn",
    "_show_config",
    "_special",
    "device",
    "dtype",
    "finfo",
    "iinfo",
]  # fmt: skip

TensorBase = _TensorBase = Tensor  # tensordict and fastai use these names
_TensorMeta = type(Tensor)  # lightning uses this name
_VariableFunctions = _VariableFunctionsClass = torch  # pickles of PyTorch's compiled functions contain the second name
_has_xpu = False  # bitsandbytes uses this name
_GLIBCXX_USE_CXX11_ABI = True  # sglang and flashinfer use this name


class ScriptObject:
    """Object of a TorchScript class defined in C++. No value has this type; torchao and brevitas check for it."""


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """Context in which tensor subclasses behave as plain tensors, and modes are inactive."""

    def __enter__(self) -> None:
        super().__enter__()
        self._modes = open_modes.set(())

    def __exit__(self, *exception: object) -> None:
        open_modes.reset(self._modes)
        super().__exit__(*exception)


def _log_api_usage_once(event: str) -> None:
    """Do nothing: flambeau records no usage statistics."""


def _show_config() -> str:
    """Return the versions, backends and devices in use, as `torch.__config__.show` does."""
    return str(torch.__config__.show())


def _get_accelerator(check: bool | None = None) -> Any:
    """Return the device of the current accelerator, or the CPU without an accelerator."""
    return torch.accelerator.current_accelerator() or device("cpu")


def _get_default_device() -> str:
    """Return the device type of new tensors, such as "cpu"."""
    return torch.get_default_device().type


def _are_functorch_transforms_active() -> bool:
    """Whether a transform of `torch.func`, such as `vmap` or `grad`, is calling a function."""
    return in_transform()


def _is_torch_function_mode_enabled() -> bool:
    """Whether a `TorchFunctionMode` is active."""
    return bool(open_modes.get())


def _is_tracing() -> bool:
    """Whether `torch.jit.trace` is tracing a function."""
    return bool(torch.jit.is_tracing())


def _is_alias_of(data: Tensor, other: Tensor) -> bool:
    """Whether two tensors share their memory."""
    first, second = data.untyped_storage(), other.untyped_storage()
    return first is second or first.data_ptr() == second.data_ptr() != 0


def _get_privateuse1_backend_name() -> str:
    """Return the default name "privateuseone": flambeau cannot rename this device type."""
    return "privateuseone"


def _current_graph_task_id() -> int:
    """Return a number that identifies the running backward pass, or -1 if none is running."""
    task = current_task.get()
    return -1 if task is None else id(task)


def _current_autograd_node() -> Any:
    """Return the node whose backward function is running, or None."""
    return running.get()


def _get_sdp_priority_order() -> list[int]:
    """Return the numbers of `SDPBackend` in the order in which PyTorch tries them."""
    return [1, 2, 0, 3, 4]


def _len_torch_dispatch_stack() -> int:
    """Return the number of active modes with a `__torch_dispatch__`."""
    return sum(hasattr(mode, "__torch_dispatch__") for mode in open_modes.get())


def _get_tracing_state() -> tracing.TracingState | None:
    """Return the stack of open scopes while `torch.jit._get_trace_graph` is running; None otherwise."""
    return tracing.current.get()


_MODULES = {"_distributed_c10d": "flambeau_nnlib.compat._distributed_c10d", "_profiler": "flambeau.profiler"}


def __getattr__(name: str) -> Any:
    """Import modules and the classes of `torch.jit` graphs on first use, because few programs need them."""
    if name == "ScriptMethod":
        return import_module("flambeau_nnlib.compat.script_method").ScriptMethod
    if name in _MODULES:
        return import_module(_MODULES[name])
    if name in ("Block", "Graph", "Node", "TensorType", "Type", "Value"):
        return getattr(import_module("flambeau_nnlib.compile.jit._graph"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
