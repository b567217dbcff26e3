"""flambeau: the PyTorch API, in plain Python, on any array library.

>>> x = torch.tensor([1.0, 2.0], requires_grad=True)
>>> (x**2).sum().backward()
>>> x.grad
tensor([2., 4.])
"""

from __future__ import annotations

from math import e, inf, nan, pi
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from . import backend, operations, version
from . import registrations as _registrations
from .autograd import enable_grad, inference_mode, is_grad_enabled, is_inference_mode_enabled, no_grad, set_grad_enabled
from .compat import table as _table
from .engine.calls import facts as _facts
from .engine.calls import overriding, wrappers
from .engine.calls import tables as _tables
from .engine.calls.dispatch import broadcast_shapes
from .engine.devices import aliases, settings
from .engine.devices.devices import device, get_default_device, set_default_device
from .engine.devices.settings import *
from .engine.tape.anomaly import is_anomaly_check_nan_enabled, is_anomaly_enabled, set_anomaly_enabled
from .engine.tensors import memory_format as _memory_format
from .engine.tensors.memory_format import *
from .engine.tensors.storage import StorageBase as StorageBase
from .engine.tensors.tensor import Tensor
from .engine.values import constants as _constants
from .engine.values import dtypes
from .engine.values.constants import *
from .engine.values.dtypes import (
    bfloat16,
    can_cast,
    cdouble,
    cfloat,
    chalf,
    complex32,
    complex64,
    complex128,
    double,
    dtype,
    finfo,
    float8_e4m3fn,
    float8_e4m3fnuz,
    float8_e5m2,
    float8_e5m2fnuz,
    float8_e8m0fnu,
    float16,
    float32,
    float64,
    get_default_dtype,
    half,
    iinfo,
    int8,
    int16,
    int32,
    int64,
    long,
    promote_types,
    qint8,
    qint32,
    quint2x4,
    quint4x2,
    quint8,
    short,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .engine.values.sizes import Size
from .engine.values.symbols import SymBool, SymFloat, SymInt
from .layouts.subclasses.parameter import Parameter as _Parameter
from .layouts.subclasses.tensor_types import TENSOR_TYPES, set_default_dtype, set_default_tensor_type
from .protocols.printing import set_printoptions
from .random import Generator, default_generator, get_rng_state, initial_seed, manual_seed, seed, set_rng_state
from .storage import STORAGE_CLASSES, TypedStorage, UntypedStorage, is_storage
from .transforms import symbolic as _symbolic
from .transforms.symbolic import *
from .version import __version__

__all__ = [
    "Generator", "Size", "SymBool", "SymFloat", "SymInt", "Tensor", "TypedStorage", "UntypedStorage",
    "__version__", "bfloat16", "bool",
    "broadcast_shapes", "can_cast", "cdouble", "cfloat", "chalf", "complex32", "complex64", "complex128",
    "default_generator", "device", "double",
    "dtype", "e", "enable_grad", "finfo", "float", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2",
    "float8_e5m2fnuz", "float8_e8m0fnu", "float16", "float32", "float64", "get_default_device", "get_default_dtype",
    "get_rng_state", "half", "iinfo", "inf", "inference_mode", "initial_seed", "int", "int8", "int16",
    "int32", "int64", "is_anomaly_check_nan_enabled", "is_anomaly_enabled", "is_grad_enabled", "is_inference_mode_enabled",
    "long", "manual_seed", "nan", "newaxis", "no_grad", "pi", "promote_types",
    "qint8", "qint32", "quint2x4", "quint4x2", "quint8", "seed", "set_anomaly_enabled",
    "set_default_device",
    "set_default_dtype", "set_default_tensor_type", "set_grad_enabled", "set_printoptions", "set_rng_state", "short",
    "uint8", "uint16", "uint32", "uint64",
]  # fmt: skip
__all__ += [*settings.__all__, *_memory_format.__all__, *_constants.__all__, *_symbolic.__all__, "is_storage"]
__all__ += ("Storage",)  # noqa: F405  # the storage class of the default dtype: see `__getattr__`

newaxis: None = None

# Functions that PyTorch also implements in Python: unlike its compiled functions, they become methods as class attributes.
_PYTHON_FUNCTIONS = {name for name, home in _facts.declared("home").items() if home not in _facts.COMPILED}

# The remaining public names are generated: operations, legacy tensor types and storage classes.
wrappers.name_methods()
overriding.PUBLISHED.update(_tables.PUBLIC)
wrappers.open_to_overrides(overriding.PUBLISHED, _tables.PUBLIC, native=_tables.PUBLIC.keys() - _PYTHON_FUNCTIONS)
for _generated in (overriding.PUBLISHED, TENSOR_TYPES["cpu"], STORAGE_CLASSES):
    globals().update(_generated)
    __all__ += (name for name in _generated if not name.startswith("_"))
globals().update(dtypes.SUB_BYTE)
__all__ += dtypes.SUB_BYTE
bool: dtype = dtypes.bool_
float: dtype = dtypes.float_
int: dtype = dtypes.int_

# Public modules under PyTorch's names, imported on first use; private ones are listed in `compat/table.py`.
_PACKAGES = {
    "linalg": "flambeau.operations.linalg.namespace",
    "fft": "flambeau.operations.fft.namespace",
    "special": "flambeau.operations.special.namespace",
    "signal": "flambeau.operations.signal",
    "sparse": "flambeau.layouts.sparse",
    "nested": "flambeau.layouts.nested",
    "nn": "flambeau_nnlib.nn",
    "optim": "flambeau_nnlib.optim",
    "multiprocessing": "flambeau_nnlib.multiprocessing",
    "distributions": "flambeau_nnlib.distributions",
    "distributed": "flambeau_nnlib.distributed",
    "amp": "flambeau_nnlib.amp",
    "cpu.amp": "flambeau_nnlib.amp.cpu",
    "cuda.amp": "flambeau_nnlib.amp.cuda",
    "fx": "flambeau_nnlib.compile.fx",
    "compiler": "flambeau_nnlib.compile.compiler",
    "jit": "flambeau_nnlib.compile.jit",
    "export": "flambeau_nnlib.compile.export",
    "onnx": "flambeau_nnlib.compile.onnx",
    "ao": "flambeau_nnlib.ao",
    "hub": "flambeau_nnlib.hub",
    "legacy": "flambeau_nnlib.compat.legacy",
    "utils.data": "flambeau_nnlib.data",
    "utils.checkpoint": "flambeau_nnlib.checkpoint",
    "utils.benchmark": "flambeau_nnlib.benchmark",
    "utils.tensorboard": "flambeau_nnlib.tensorboard",
    "utils.model_zoo": "flambeau_nnlib.compat.model_zoo",
    "utils.ffi": "flambeau_nnlib.compat.ffi",
}
_ALIASES = {
    "cuda.comm": "flambeau_nnlib.nn.parallel.comm",
    "quantization": "flambeau_nnlib.ao.quantization",
    "utils.data.graph_settings": "flambeau_nnlib.data.datapipes.iter",
    "utils.benchmark.utils": "flambeau_nnlib.benchmark",
    **_table.SECOND_NAMES,
}
for _name, _target in _PACKAGES.items():
    aliases.alias(f"flambeau.{_name}", _target)
for _name, (_target, _) in _table.MODULES.items():
    aliases.alias(f"flambeau.{_name}", _target)
for _name, _target in _ALIASES.items():
    aliases.alias(f"flambeau.{_name}", _target, hidden=True)
for _name, _target in _table.MOVED.items():
    aliases.alias(_name, _target, hidden=True)
aliases.PRIVATE.update(_table.NAMES)

if _TYPE_CHECKING:
    from flambeau_nnlib import amp, distributions, hub, multiprocessing, nn, optim
    from flambeau_nnlib.compat import legacy
    from flambeau_nnlib.compile import export, fx, jit, onnx
    from flambeau_nnlib.compile.compiler import compile
    from flambeau_nnlib.compile.higher_order import cond, while_loop

    from . import _functions, autograd, cpu, cuda, fft, linalg, masked, overrides, random, special, testing, utils
    from ._functions import *
    from .cli.launcher import install_as_torch
    from .cuda.generic import AcceleratorError, Event, OutOfMemoryError, Stream, get_device_module
    from .func import vmap
    from .operations import signal
    from .profiler.watching import watch
    from .serialization import load, save
    from .utils.dlpack import to_dlpack

    __all__ += _functions.__all__
    __all__ += ["AcceleratorError", "Event", "OutOfMemoryError", "Stream", "get_device_module", "install_as_torch", "load"]
    __all__ += ["amp", "compile", "cond", "distributions", "export", "fx", "hub", "jit", "legacy", "multiprocessing", "nn"]
    __all__ += ["onnx", "optim", "save", "to_dlpack", "vmap", "watch", "while_loop"]

# Names resolved on first use, because the module that defines them is not imported with the core.
_LAZY_BY_MODULE = {
    "amp.autocast_mode": """
        clear_autocast_cache get_autocast_cpu_dtype get_autocast_dtype get_autocast_gpu_dtype is_autocast_cache_enabled
        is_autocast_cpu_enabled is_autocast_enabled set_autocast_cache_enabled set_autocast_cpu_dtype set_autocast_cpu_enabled
        set_autocast_dtype set_autocast_enabled set_autocast_gpu_dtype""",
    "nn.compiled": """
        affine_grid_generator cosine_embedding_loss grid_sampler grid_sampler_2d grid_sampler_3d hinge_embedding_loss kl_div
        margin_ranking_loss poisson_nll_loss triplet_margin_loss""",
    "sparse.construction": """
        sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor sparse_coo_tensor sparse_csc_tensor sparse_csr_tensor""",
    "serialization.filecheck": "FileCheck",
    "serialization.records": "PyTorchFileReader PyTorchFileWriter",
    "operations.views.copies": """
        alias_copy as_strided_copy ccol_indices_copy col_indices_copy crow_indices_copy detach_copy diagonal_copy expand_copy
        indices_copy permute_copy row_indices_copy select_copy slice_copy split_copy split_with_sizes_copy squeeze_copy t_copy
        transpose_copy unbind_copy unfold_copy unsqueeze_copy values_copy view_as_complex_copy view_as_real_copy view_copy""",
    "sparse.products": "dsmm hsmm hspmm saddmm smm spmm sspaddmm",
    "nn.recurrence": "gru gru_cell lstm lstm_cell rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell",
}
_LAZY = {
    **{_name: _part for _part, _names in _LAZY_BY_MODULE.items() for _name in _names.split()},
    "autocast": "amp",
    "GradScaler": "amp",
    "load": "serialization",
    "save": "serialization",
    "vmap": "func",
    "compile": "compiler",
    "cond": "_higher_order_ops",
    "while_loop": "_higher_order_ops",
    "ScriptFunction": "jit",
    "ScriptModule": "jit",
    "DeviceObjType": "jit._graph",
    "FloatType": "jit._graph",
    "TensorType": "jit._graph",
    "Value": "jit._graph",
    "to_dlpack": "utils.dlpack",
    "install_as_torch": "cli.launcher",
    "watch": "profiler.watching",
    "ops": "_ops",
    "Future": "futures",
    "AcceleratorError": "cuda.generic",
    "Event": "cuda.generic",
    "OutOfMemoryError": "cuda.generic",
    "Stream": "cuda.generic",
    "get_device_module": "cuda.generic",
}
__all__ += _LAZY

# Modules that PyTorch imports with `torch`, besides those in `_PACKAGES`.  Here they are imported on first use.
_MODULES = [
    "accelerator", "autograd", "backends", "cpu", "cuda", "func", "functional", "futures", "library", "masked", "mps", "mtia",
    "overrides", "profiler", "quantization", "quasirandom", "random", "return_types", "serialization", "testing",
    "types", "utils", "xpu",
]  # fmt: skip


def __dir__() -> list[str]:
    """Return all public names, including those that are loaded on first use: SciPy copies the names in `dir(torch)`."""
    packages = {name for name in _PACKAGES if "." not in name} - {"legacy", "onnx"}
    return sorted({*globals(), *__all__, *packages, *_MODULES})


def __getattr__(name: str) -> _Any:
    from importlib import import_module
    from importlib.util import find_spec

    if name == "Storage":
        return STORAGE_CLASSES[f"{get_default_dtype().legacy_name}Storage"]
    if name in _LAZY:
        value = getattr(import_module(f"flambeau.{_LAZY[name]}"), name)
    else:
        value = aliases.private_value(name)
    if value is not None:
        globals()[name] = value
        return value
    if name.startswith("_foreach_"):
        function = import_module("flambeau.operations.foreach").find(name)
        if function is not None:
            return function
    listed = name in ("__config__", "__future__") or not (name.startswith("__") or f"flambeau.{name}" in _table.MOVED)
    if listed and find_spec(f"flambeau.{name}") is not None:
        return import_module(f"flambeau.{name}")
    raise AttributeError(f"module 'flambeau' has no attribute '{name}'")
