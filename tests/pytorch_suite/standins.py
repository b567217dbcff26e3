"""Replacements for modules of the suite, and for names that PyTorch, NumPy and Python have removed since its release."""

from __future__ import annotations

import builtins
import collections
import collections.abc
import contextlib
import functools
import importlib.abc
import inspect
import io
import math
import queue
import types
from typing import Any

import numpy as np


def _six(module: Any) -> None:
    """Fill `torch._six`, which older suites import."""
    vars(module).update(
        inf=math.inf, nan=math.nan, string_classes=(str, bytes), int_classes=int, FileNotFoundError=FileNotFoundError,
        StringIO=io.StringIO, PY2=False, PY3=True, PY37=True, container_abcs=collections.abc, queue=queue, builtins=builtins,
        istuple=lambda value: isinstance(value, tuple), imap=map, zip=zip, raise_from=None,
        get_function_from_type=lambda cls, name: getattr(cls, name, None),
        with_metaclass=lambda meta, *bases: meta("Base", bases, {}),
    )  # fmt: skip


class _DecorateInfo:
    """Decorators for some tests of a ModuleInfo."""

    def __init__(
        self, marks: Any, cls: Any = None, test: Any = None, *, device_type: Any = None, dtypes: Any = None, active_if: Any = True
    ) -> None:
        self.decorators = list(marks) if isinstance(marks, (list, tuple)) else [marks]
        self.conditions = (cls, test, device_type)
        self.dtypes, self.active_if = dtypes, active_if

    def is_active(self, cls: Any, test: Any, device_type: Any, dtype: Any) -> bool:
        given = (cls, test, device_type)
        matches = all(wanted is None or wanted == each for wanted, each in zip(self.conditions, given, strict=True))
        return bool(self.active_if) and matches and (self.dtypes is None or dtype in self.dtypes)


class _Empty(list):  # type: ignore[type-arg]  # a list of anything
    """An empty list that is also a function: a decorator, or a constructor of lists."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return args[0] if len(args) == 1 and callable(args[0]) else []


def _without_op_infos(module: Any) -> None:
    """Fill a module of OpInfos, PyTorch's table of operators, with empty lists: tests/parity compares operators."""

    def mask_not_all_zeros(shape: Any) -> Any:
        import torch

        mask = torch.rand(shape) > 0.5
        mask.view(-1)[:1] = True
        return mask

    def missing(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Empty()

    vars(module).update(mask_not_all_zeros=mask_not_all_zeros, DecorateInfo=_DecorateInfo, __getattr__=missing)


MODULES = {
    "torch._six": _six,
    "functorch_additional_op_db": _without_op_infos,
    **dict.fromkeys(
        (
            "suite_internal.common_methods_invocations", "suite_internal.common_quantized", "suite_internal.opinfo",
            "suite_internal.opinfo.core", "suite_internal.opinfo.definitions", "suite_internal.opinfo.refs",
            "suite_internal.opinfo.utils",
        ),
        _without_op_infos,
    ),
}  # fmt: skip


class StandInLoader(importlib.abc.Loader):
    """Create a module of `MODULES`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def create_module(self, spec: Any) -> None:
        return None

    def exec_module(self, module: Any) -> None:
        MODULES[self.name](module)


# --- functions that patched files call ----------------------------------------------------------------------------


def maybe(path: str) -> Any:
    """Return the function `path` of `torch`, or one that does nothing if it is missing."""
    import torch

    try:
        return functools.reduce(getattr, path.split(".")[1:], torch)
    except AttributeError:
        return lambda *args, **kwargs: None


def compilation_unit(*args: Any, _frames_up: int = 0, **kwargs: Any) -> Any:
    """Call `torch.jit.CompilationUnit`, with its private argument if it has one."""
    import torch

    try:
        return torch.jit.CompilationUnit(*args, _frames_up=_frames_up + 1, **kwargs)
    except TypeError as error:
        if "_frames_up" not in str(error):
            raise
    return torch.jit.CompilationUnit(*args, **kwargs)


def map_tensors(function: Any, value: Any) -> Any:
    """Return nested containers with each tensor replaced by the function's result for it."""
    import torch

    if isinstance(value, torch.Tensor):
        return function(value)
    if isinstance(value, dict):
        return {key: map_tensors(function, each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        parts = [map_tensors(function, each) for each in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


def optimized_execution(enabled: bool) -> Any:
    """Call `torch.jit.optimized_execution` if there is one."""
    import torch

    function = getattr(torch.jit, "optimized_execution", None)
    return contextlib.nullcontext() if function is None else function(enabled)


def make_non_contiguous(tensor: Any) -> Any:
    """Return a tensor with the same values whose elements are two apart in memory."""
    import torch

    if tensor.numel() <= 1:
        return tensor.clone()
    wide = torch.empty(*tensor.shape, 2, dtype=tensor.dtype)
    wide[..., 1].copy_(tensor.detach())
    return wide[..., 1].detach()


def get_all_device_types() -> list[str]:
    """Return the device types that tests run on, as in releases before 1.5."""
    return ["cpu"]


def get_all_dtypes() -> list[Any]:
    """Return the dtypes of the release of 2019."""
    import torch

    return [torch.bool, torch.half, *get_all_math_dtypes("cpu")]


def get_all_math_dtypes(device: str) -> list[Any]:
    """Return the dtypes with arithmetic of the release of 2019."""
    import torch

    return [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float32, torch.float64]


def call_on_instance(function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Call a method of Tensor on its first argument, or read an attribute of it; call other functions.

    flambeau checks methods and attributes for overrides where programs use them, on the instance: `x.split(2)`, and not
    `Tensor.split(x, 2)`.
    """
    from torch import Tensor

    if isinstance(function, types.MethodType) and isinstance(function.__self__, Tensor):
        function, args = function.__func__, [function.__self__, *args]
    attribute = getattr(function, "__self__", function)
    name = next((name for name in dir(Tensor) if getattr(Tensor, name) is attribute), None)
    if name is None:
        return function(*args, **kwargs)
    member = getattr(args[0], name)
    return member if function.__name__ == "__get__" else member(*args[1:], **kwargs)


# --- removed names ------------------------------------------------------------------------------------------------

_NUMPY_NAMES = {
    "float": float, "int": int, "object": object, "complex": complex, "str": str, "product": np.prod, "cumproduct": np.cumprod,
    "alltrue": np.all, "sometrue": np.any, "float_": np.float64, "complex_": np.complex128, "Inf": np.inf, "Infinity": np.inf,
    "NaN": np.nan, "NAN": np.nan, "PINF": np.inf, "NINF": -np.inf, "infty": np.inf, "in1d": np.isin, "row_stack": np.vstack,
    "trapz": getattr(np, "trapezoid", None), "asfarray": lambda array, dtype=float: np.asarray(array, dtype=dtype),
    "unicode_": np.str_, "string_": np.bytes_, "msort": lambda array: np.sort(array, axis=0), "round_": np.round,
    "asscalar": lambda array: array.item(),
}  # fmt: skip
_ArgSpec = collections.namedtuple("_ArgSpec", "args varargs keywords defaults")


def _getargspec(function: Any) -> _ArgSpec:
    spec = inspect.getfullargspec(function)
    return _ArgSpec(spec.args, spec.varargs, spec.varkw, spec.defaults)


def prepare() -> None:
    """Restore names that NumPy and Python had when the suite was written."""
    for name, value in _NUMPY_NAMES.items():
        if name not in vars(np):
            setattr(np, name, value)
    for name in ("Mapping", "Sequence", "Iterable", "MutableMapping", "Callable"):
        if not hasattr(collections, name):
            setattr(collections, name, getattr(collections.abc, name))
    if not hasattr(inspect, "getargspec"):
        inspect.getargspec = _getargspec  # type: ignore[attr-defined]  # removed in Python 3.11
