"""Decorate functions so that the result has the type of the input, and register kernels of user-defined types for them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import flambeau as torch

from ... import tv_tensors

__all__ = ["ANNOTATIONS", "MissingKernel", "is_user_type", "keep_type", "register_user_kernel", "typed"]

ANNOTATIONS = (tv_tensors.BoundingBoxes, tv_tensors.KeyPoints, tv_tensors.Mask)
_BUILT_IN = (tv_tensors.Image, tv_tensors.Video, *ANNOTATIONS)

_user_kernels: dict[Callable, dict[type, Callable]] = {}  # the kernel is `_user_kernels[function][type]`


class MissingKernel(TypeError):
    """Raised if a function has no kernel for a user-defined subclass of `TVTensor`."""


def is_user_type(inpt: Any) -> bool:
    """Return whether the type of `inpt` is a user-defined `TVTensor`, not derived from a built-in one such as `Image`."""
    return isinstance(inpt, tv_tensors.TVTensor) and not isinstance(inpt, _BUILT_IN)


def keep_type(original: Any, result: Any) -> Any:
    """If `original` is a `TVTensor`, convert a result, or each element of a tuple or list, to the type of `original`."""
    if isinstance(original, tv_tensors.TVTensor):
        if type(result) is torch.Tensor:
            return tv_tensors.wrap(result, like=original)
        if isinstance(result, tuple | list):
            return type(result)(keep_type(original, part) for part in result)
    return result


def typed(function: Callable) -> Callable:
    """Decorate a function of an image, boxes, points or a mask, so that its result has the type of the input."""

    @wraps(function)
    def call(inpt: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(inpt, tv_tensors.TVTensor) and type(inpt) not in _BUILT_IN:
            kernel = _find_user_kernel(call, inpt)
            if kernel is not None:
                return kernel(inpt, *args, **kwargs)
        return keep_type(inpt, function(inpt, *args, **kwargs))

    _user_kernels[call] = {}
    return call


def _find_user_kernel(function: Callable, inpt: Any) -> Callable | None:
    """Return the kernel registered for the type of `inpt`, or None if that type inherits the kernels of a built-in type."""
    for kind in type(inpt).__mro__:
        if kind in _user_kernels[function]:
            return _user_kernels[function][kind]
        if kind in _BUILT_IN:
            return None
    raise MissingKernel(f"No kernel of {function.__name__} is registered for inputs of type {type(inpt).__name__}")


def register_user_kernel(function: Any, tv_tensor_cls: Any) -> Callable[[Callable], Callable]:
    """Return a decorator that registers a kernel of `function` for `tv_tensor_cls`."""
    if not callable(function) or function not in _user_kernels:
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
    if tv_tensor_cls in _user_kernels[function]:
        raise ValueError(f"Functional {function} already has a kernel registered for type {tv_tensor_cls}.")

    def decorator(kernel: Callable) -> Callable:
        _user_kernels[function][tv_tensor_cls] = kernel
        return kernel

    return decorator
