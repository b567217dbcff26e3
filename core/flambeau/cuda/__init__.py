"""CUDA devices, their streams, memory and random numbers.

Importing this module and queries such as `is_available()` do not require a driver; CUDA is initialized on the first use of a
device.  Without a backend for CUDA, that raises `AssertionError: Torch not compiled with CUDA enabled`.

>>> device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""

from __future__ import annotations

from typing import Any

from ..engine.devices import cuda as runtime
from ..engine.devices.aliases import private_value
from ..engine.devices.cuda import *
from . import graphs, memory, monitoring, random, streams
from .graphs import *
from .memory import *
from .monitoring import *
from .random import *
from .sharing import ipc_collect
from .streams import *

__all__ = [
    "BoolStorage", "BoolTensor", "ByteStorage", "ByteTensor", "CharStorage", "CharTensor", "ComplexDoubleStorage",
    "ComplexFloatStorage", "DoubleStorage", "DoubleTensor", "FloatStorage", "FloatTensor", "GreenContext", "HalfStorage",
    "HalfTensor", "IntStorage", "IntTensor", "LongStorage", "LongTensor", "ShortStorage", "ShortTensor", "amp", "comm",
    "default_generators", "ipc_collect", "nvtx",
]  # fmt: skip
__all__ += [*graphs.__all__, *memory.__all__, *monitoring.__all__, *random.__all__, *runtime.__all__, *streams.__all__]

_MODULES = {
    "amp": "flambeau_nnlib.amp.cuda",
    "comm": "flambeau_nnlib.nn.parallel.comm",
    "nvtx": "flambeau.cuda.nvtx",
    "profiler": "flambeau.cuda.profiler",
    "sparse": "flambeau.layouts.sparse.cuda_types",
}


class GreenContext:
    """A CUDA green context: a subset of a device's multiprocessors, if the backend supports it."""

    @staticmethod
    def create(num_sms: int, device_id: int = 0) -> Any:
        """Create a context with `num_sms` multiprocessors.  Raise RuntimeError if the backend does not support it."""
        divide = getattr(runtime.init(), "create_green_context", None)
        if divide is None:
            raise RuntimeError(f"the {runtime.backend().name} backend does not support green contexts")
        return divide(num_sms, device_id)


def __getattr__(name: str) -> Any:
    """Import names that are defined outside the core, and create the legacy tensor types and storages, on first use."""
    from importlib import import_module

    if name == "_initialized":  # not stored: the first use of a device changes it
        return runtime.is_initialized()
    if name == "default_generators":
        return random.default_generators()
    if name in _MODULES:
        return import_module(_MODULES[name])
    from ..layouts.subclasses.tensor_types import TENSOR_TYPES

    attribute = private_value(f"cuda.{name}")
    if attribute is None:
        attribute = TENSOR_TYPES["cuda"].get(name) or _storages().get(name)
        if attribute is None:
            raise AttributeError(f"module 'flambeau.cuda' has no attribute '{name}'")
        attribute.__module__ = __name__  # "torch.cuda" while flambeau is imported as `torch`
    globals()[name] = attribute
    return attribute


def _storages() -> dict[str, Any]:
    """Return the legacy storage classes, such as `FloatStorage`, by name."""
    from .. import storage

    return storage.make_storage_classes("cuda")
