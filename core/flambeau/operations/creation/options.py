"""Options of functions that create tensors: `dtype`, `device`, `requires_grad`, `out`, `pin_memory`."""

from __future__ import annotations

from functools import cache
from typing import Any

from ...engine.devices.devices import DispatchKey, dispatch_key
from ...engine.devices.devices import device as Device
from ...engine.tape.grad_mode import grad_flag, is_inference_mode_enabled
from ...engine.tensors.tensor import Tensor
from ...engine.values import dtypes
from ...engine.values.dtypes import dtype as Dtype

__all__ = ["FACTORY_ARGS", "LIKE_ARGS", "NEW_ARGS", "OPTION_ARGS", "SIZE_ARGS"]

# Descriptions of the options, for the docstrings of factories
_COMMON_ARGS = """\
    layout: the layout of the result; None for `torch.strided`.
    requires_grad: whether autograd records operations on the result.
    pin_memory: whether the result is in page-locked memory, from which copies to a GPU are faster."""
OPTION_ARGS = f"    device: the device of the result; None for the default device.\n{_COMMON_ARGS}"
FACTORY_ARGS = f"    dtype: the dtype of the result; None for the default dtype.\n{OPTION_ARGS}"
SIZE_ARGS = f"""\
    *size: the shape: integers, or one sequence of them.
    out: a tensor that the result is written to.
{FACTORY_ARGS}"""
LIKE_ARGS = f"""\
    dtype, device: the dtype and device of the result; None to use those of `input`.
    memory_format: the order of the dimensions in memory; None or `torch.preserve_format` to keep the order of `input`.
{_COMMON_ARGS}"""
NEW_ARGS = f"    dtype, device: the dtype and device of the result; None to use those of this tensor.\n{_COMMON_ARGS}"


def as_device(device: Any) -> Device | None:
    if device is None or isinstance(device, Device):
        return device
    return _named(device) if type(device) is str else Device(device)


@cache
def _named(name: str) -> Device:
    return Device(name)


def key_for(dtype: Dtype | None, device: Any, default: Dtype | None = None) -> DispatchKey:
    if dtype is None:
        dtype = default or dtypes.get_default_dtype()
    elif type(dtype) is not Dtype:
        dtype = dtypes.as_dtype(dtype)
    return dispatch_key(dtype, device if device is None else as_device(device))


def plain_shape(sizes: tuple[Any, ...]) -> tuple[int, ...] | None:
    """Return the shape given as `f(2, 3)` or `f((2, 3))` if all sizes are non-negative Python integers, else None."""
    if len(sizes) == 1 and type(sizes[0]) is not int:
        if not isinstance(sizes[0], (tuple, list)):
            return None
        sizes = tuple(sizes[0])
    for size in sizes:
        if type(size) is not int or size < 0:
            return None
    return sizes


def devices_for(dtype: Dtype, device: Any) -> tuple[Device, Device]:
    """Return the device on which to compute, then `device`. The first is the CPU if `device` does not support the dtype."""
    place = dispatch_key(dtypes.bool_, as_device(device))
    return place.device if dtype in place.backend.dtypes else Device("cpu"), place.device


def dtype_of_out(out: Any) -> Dtype | None:
    """Return the dtype of `out`, or None if it is None."""
    if out is not None and not isinstance(out, Tensor):
        raise TypeError(f"argument 'out' must be Tensor, not {type(out).__name__}")
    return None if out is None else out.dtype


def finish(tensor: Tensor, requires_grad: bool | None, out: Tensor | None = None, pin_memory: bool | None = False) -> Tensor:
    """Apply the options of a factory: write to `out`, pin the memory, mark inference tensors, set `requires_grad`."""
    if out is not None:
        if out.dtype is not tensor.dtype:
            raise RuntimeError(
                f"dtype {tensor.dtype.legacy_name} does not match dtype of out parameter ({out.dtype.legacy_name})"
            )
        if out._requires_grad and grad_flag.get():
            raise RuntimeError(
                "functions with out=... arguments don't support automatic differentiation, but one of the "
                "arguments requires grad."
            )
        if out._array.shape != tensor._array.shape:
            out.resize_(tensor._array.shape)
        tensor = out._assign(tensor)
    elif pin_memory:
        tensor = tensor.pin_memory()
    if is_inference_mode_enabled() and out is None:
        tensor._inference = True
    if requires_grad is not False and requires_grad is not None:
        if requires_grad is not True:
            raise TypeError(f"argument 'requires_grad' must be bool, not {type(requires_grad).__name__}")
        if tensor._key.dtype.category < dtypes.FLOATING:
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        tensor.requires_grad = True
    return tensor
