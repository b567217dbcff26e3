"""Functions that know of what type their input is: their results have it too, and types of one's own have their own kernels."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import flambeau as torch

from ... import tv_tensors

__all__ = ["FOLLOWERS", "MissingKernel", "is_own_type", "keep_type", "register_kernel_of", "typed"]

FOLLOWERS = (tv_tensors.BoundingBoxes, tv_tensors.KeyPoints, tv_tensors.Mask)
_BUILT_IN = (tv_tensors.Image, tv_tensors.Video, *FOLLOWERS)

_own_kernels: dict[Callable, dict[type, Callable]] = {}  # by function, then by type


class MissingKernel(TypeError):
    """A function does not know a type that somebody has derived from `TVTensor`."""


def is_own_type(inpt: Any) -> bool:
    """Whether this is of a type that somebody has derived from `TVTensor`, and from none of those that are here."""
    return isinstance(inpt, tv_tensors.TVTensor) and not isinstance(inpt, _BUILT_IN)


def keep_type(original: Any, result: Any) -> Any:
    """Give a result, or each of several, the type of its input, if that is a `TVTensor`."""
    if isinstance(original, tv_tensors.TVTensor):
        if type(result) is torch.Tensor:
            return tv_tensors.wrap(result, like=original)
        if isinstance(result, tuple | list):
            return type(result)(keep_type(original, part) for part in result)
    return result


def typed(function: Callable) -> Callable:
    """A function of an image, boxes, points or a mask whose result has the type of its input."""

    @wraps(function)
    def call(inpt: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(inpt, tv_tensors.TVTensor) and type(inpt) not in _BUILT_IN:
            kernel = _own_kernel(call, inpt)
            if kernel is not None:
                return kernel(inpt, *args, **kwargs)
        return keep_type(inpt, function(inpt, *args, **kwargs))

    _own_kernels[call] = {}
    return call


def _own_kernel(function: Callable, inpt: Any) -> Callable | None:
    """The kernel that has been registered for a type; None where the type is derived from one that is here."""
    for kind in type(inpt).__mro__:
        if kind in _own_kernels[function]:
            return _own_kernels[function][kind]
        if kind in _BUILT_IN:
            return None
    raise MissingKernel(f"No kernel of {function.__name__} is registered for inputs of type {type(inpt).__name__}")


def register_kernel_of(function: Any, tv_tensor_cls: Any) -> Callable[[Callable], Callable]:
    """A decorator that makes what it is put before the kernel of a function for a type."""
    if not callable(function) or function not in _own_kernels:
        raise ValueError(
            "Kernels can only be registered on functionals from the flambeau_vision.transforms.v2.functional namespace, "
            f"but got {function}."
        )
    if not (isinstance(tv_tensor_cls, type) and issubclass(tv_tensor_cls, tv_tensors.TVTensor)):
        raise ValueError(
            f"Kernels can only be registered for subclasses of flambeau_vision.tv_tensors.TVTensor, but got {tv_tensor_cls}."
        )
    if tv_tensor_cls in (*_BUILT_IN, tv_tensors.TVTensor):
        raise ValueError(f"Kernels cannot be registered for the builtin tv_tensor classes, but got {tv_tensor_cls}")
    if tv_tensor_cls in _own_kernels[function]:
        raise ValueError(f"Functional {function} already has a kernel registered for type {tv_tensor_cls}.")

    def decorator(kernel: Callable) -> Callable:
        _own_kernels[function][tv_tensor_cls] = kernel
        return kernel

    return decorator
