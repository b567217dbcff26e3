"""Translate between flambeau's objects and PyTorch's names of them, which pickles contain.

Both libraries can thus read each other's files.
"""

from __future__ import annotations

import importlib
from collections import Counter, OrderedDict
from functools import cache
from types import FunctionType
from typing import Any

import flambeau as torch

from ..engine.calls.wrappers import is_native
from ..engine.devices import devices
from ..engine.devices.aliases import aliased_name, resolve
from ..engine.tensors.tensor import Tensor
from ..engine.values import dtypes
from ..engine.values.sizes import Size
from ..layouts.subclasses.parameter import Parameter
from ..protocols import pickling as rebuild
from ..storage import TypedStorage, UntypedStorage
from .damage import brief

__all__ = ["StorageType", "allowed_globals", "can_be_named", "find_public", "storage_type", "torch_name"]

DTYPES = {
    "Double": dtypes.float64,
    "Float": dtypes.float32,
    "Half": dtypes.float16,
    "BFloat16": dtypes.bfloat16,
    "Long": dtypes.int64,
    "Int": dtypes.int32,
    "Short": dtypes.int16,
    "Char": dtypes.int8,
    "Byte": dtypes.uint8,
    "Bool": dtypes.bool_,
    "ComplexDouble": dtypes.complex128,
    "ComplexFloat": dtypes.complex64,
    "ComplexHalf": dtypes.complex32,
}
_TORCH_ROOTS = {"flambeau": "torch", "flambeau_vision": "torchvision"}
_OUR_ROOTS = {torch_root: root for root, torch_root in _TORCH_ROOTS.items()}
_COMPILED_NAMESPACES = {  # `torch._C._linalg` defines `linalg_svd`, which is `torch.linalg.svd`
    "nn": "torch.nn.functional", "linalg": "torch.linalg", "fft": "torch.fft", "special": "torch.special",
}  # fmt: skip
_PREFIXES = {dtype: prefix for prefix, dtype in DTYPES.items()}


class StorageType:
    """A typed storage class in a pickle, such as `FloatStorage`.  It represents a dtype.

    Raises:
        KeyError: no storage class has this name.

    >>> from flambeau.serialization import StorageType
    >>> print(StorageType("LongStorage"))
    StorageType(dtype=torch.int64)
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._dtype = DTYPES[name.removesuffix("Storage")]

    @property
    def dtype(self) -> dtypes.dtype:
        return self._dtype

    def __str__(self) -> str:
        return f"StorageType(dtype={self.dtype})"

    def __reduce__(self) -> str:
        return self.name


@cache
def storage_type(dtype: dtypes.dtype) -> StorageType:
    """Return the storage class for a dtype.  KeyError if PyTorch has no typed storage of the dtype."""
    return StorageType(f"{_PREFIXES[dtype]}Storage")


def encode(text: str, encoding: str) -> bytes:
    """Encode text as latin1; pickles of protocol 2 represent bytes by a call of `_codecs.encode`."""
    if encoding != "latin1":
        raise ValueError(f"expected bytes in encoding 'latin1', but got {brief(encoding)}")
    return text.encode(encoding)


def get_layout(name: str) -> Any:
    layout = getattr(torch, name.removeprefix("torch."))
    if not isinstance(layout, torch.layout):
        raise ValueError(f"{name!r} is not the name of a layout")
    return layout


@cache
def allowed_globals() -> dict[str, Any]:
    """Return all classes, functions and constants that `load(weights_only=True)` allows, as {PyTorch's name: object}."""
    from ..layouts.nested.tensors import NestedTensor, _rebuild_njt  # imported late, because few programs use nested tensors

    named: dict[str, Any] = {
        "collections.OrderedDict": OrderedDict,
        "collections.Counter": Counter,
        "_codecs.encode": encode,
        "builtins.bytes": bytes,
        "builtins.bytearray": bytearray,
        "builtins.set": set,
        "builtins.complex": complex,
        "torch.Size": Size,
        "torch.Tensor": Tensor,
        "torch.device": devices.device,
        "torch.nn.parameter.Parameter": Parameter,
        "torch.serialization._get_layout": get_layout,
        "torch.storage.UntypedStorage": UntypedStorage,
        "torch.storage.TypedStorage": TypedStorage,
        "torch._tensor._rebuild_from_type_v2": rebuild.from_type,
        "torch._utils._rebuild_tensor": rebuild.plain_tensor,
        "torch._utils._rebuild_tensor_v2": rebuild.tensor,
        "torch._utils._rebuild_tensor_v3": rebuild.tensor_of_dtype,
        "torch._utils._rebuild_meta_tensor_no_storage": rebuild.tensor_without_data,
        "torch._utils._rebuild_sparse_tensor": rebuild.sparse_tensor,
        "torch._utils._rebuild_nested_tensor": rebuild.nested_tensor,
        "torch.nested._internal.nested_tensor.NestedTensor": NestedTensor,
        "torch.nested._internal.nested_tensor._rebuild_njt": _rebuild_njt,
        "torch._utils._rebuild_wrapper_subclass": rebuild.wrapper,
        "torch._utils._rebuild_parameter": rebuild.parameter,
        "torch._utils._rebuild_parameter_with_state": rebuild.parameter_with_state,
    }
    for dtype in (*dtypes.ALL, *dtypes.FLOAT8, *dtypes.SUB_BYTE.values()):
        named[str(dtype)] = dtype
    for prefix in DTYPES:
        for module in ("torch", "torch.cuda"):
            named[f"{module}.{prefix}Storage"] = StorageType(f"{prefix}Storage")
        if hasattr(torch, f"{prefix}Tensor"):
            named[f"torch.{prefix}Tensor"] = getattr(torch, f"{prefix}Tensor")
    return named


def torch_name(obj: Any, name: str | None = None) -> tuple[str, str] | None:
    """Return PyTorch's (module, name) of a class, function or constant; None if it does not belong to flambeau.

    `name` is needed for constants, which have no `__qualname__`.
    """
    if id(obj) in _known_names():
        module, _, name = _known_names()[id(obj)].rpartition(".")
        return module, name
    if name is not None and not is_native(obj):
        return ("torch", name) if _is_ours(type(obj).__module__) else None
    if not _is_ours(obj.__module__):
        return None
    if is_native(obj):
        return _native_name(obj)
    name = obj.__qualname__
    if isinstance(obj, FunctionType) and getattr(Tensor, name, None) is obj and _find("torch", name) is not obj:
        return "torch", f"Tensor.{name}"  # a generated method
    root, *path = aliased_name(obj.__module__, "flambeau").split(".")
    root = _TORCH_ROOTS.get(root, root)
    above = [".".join([root, *path[:length]]) for length in range(len(path))]
    for module in (*above, "torch.nn.functional"):  # prefer a public module: PyTorch may define the object elsewhere
        if _find(module, name) is obj:
            return module, name
    return ".".join([root, *path]), name


def _native_name(function: Any) -> tuple[str, str]:
    """Return the (module, name) of a native function in its public namespace, such as ("torch.linalg", "svd")."""
    module = aliased_name(function.__self__.module, "flambeau").replace("flambeau", "torch", 1)
    return module, function.__name__.removeprefix(module.rpartition(".")[2] + "_")


def can_be_named(obj: Any, module: str, name: str) -> bool:
    """Whether `module.name` can be PyTorch's name of `obj`.

    `module` may be a submodule of the one where flambeau defines the object, because the libraries differ in submodules.
    """
    own = torch_name(obj)
    return own is not None and own[1] == name and f"{module}.".startswith(f"{own[0]}.")


@cache
def _known_names() -> dict[int, str]:
    return {id(obj): name for name, obj in allowed_globals().items() if name.startswith("torch.")}


def _is_ours(module: str | None) -> bool:
    """Whether a module name is flambeau's, or an alias of it such as `torch` in a process that imports flambeau as `torch`."""
    return resolve(module or "").partition(".")[0] in ("flambeau", "flambeau_nnlib", "flambeau_vision")


def find_public(module: str, name: str) -> Any:
    """Return flambeau's object for PyTorch's `module.name`, from that module or the nearest parent with the name.

    Raises:
        AttributeError: flambeau does not define the name.
    """
    if (module, name) == ("torch._C", "_VariableFunctionsClass"):  # `getattr` of this class returns `torch.tanh` and others
        return torch
    compiled = module.removeprefix("torch._C._")
    if compiled in _COMPILED_NAMESPACES:
        module = _COMPILED_NAMESPACES[compiled]
        name = "logsigmoid" if name == "log_sigmoid" else name.removeprefix(f"{compiled}_")
    above = module
    while above:
        attribute = _find(above, name)
        if attribute is not None:
            return attribute
        above = above.rpartition(".")[0]
    raise AttributeError(f"flambeau has no {module}.{name}")


def _find(module: str, name: str) -> Any:
    root, dot, path = module.partition(".")
    try:
        attribute: Any = importlib.import_module(_OUR_ROOTS[root] + dot + path)
    except ModuleNotFoundError:
        return None
    for part in name.split("."):
        attribute = getattr(attribute, part, None)
    return attribute
