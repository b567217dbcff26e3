"""Access to the kernels and forwards of operations, for authors of kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..engine.calls.tables import OPS
from ..engine.tensors.tensor import Tensor

__all__ = ["Kernels", "array_of", "forward_of", "has_data", "kernel_of"]


class Kernels(dict[str, Callable[..., Any]]):
    """Kernels by operation name, for `Backend.kernels`; calling it registers a function under the function's name.

    Args:
        *args, **kwargs: the initial items, as for a `dict`.

    Example:
        >>> from flambeau.extension import Kernels
        >>> kernels = Kernels()
        >>> @kernels
        ... def relu(input):
        ...     return input.clip(0)
        >>> list(kernels)
        ['relu']
    """

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Register a function as the kernel of the operation with the same name, and return it."""
        self[function.__name__] = function
        return function


def array_of(tensor: Tensor) -> Any:
    """Return the array of the backend's library that holds a tensor's elements, without a copy.

    Args:
        tensor: any tensor. `torch.as_tensor(array, device=...)` converts an array to a tensor.

    Example:
        >>> from flambeau.extension import array_of
        >>> array_of(torch.zeros(2))
        array([0., 0.], dtype=float32)
    """
    return tensor._key.materialize(tensor)._array


def forward_of(name: str) -> Callable[..., Any]:
    """Return the array-API forward of an operation, `(xp, arrays..., parameters...)`; kernels must compute the same results.

    Args:
        name: the name of the operation.

    Raises:
        KeyError: no operation has that name.

    Example:
        >>> import numpy
        >>> from flambeau.extension import forward_of
        >>> forward_of("mul")(numpy, numpy.ones(2), numpy.full(2, 3.0))
        array([3., 3.])
    """
    return OPS[name].forward


def has_data(tensor: Tensor) -> bool:
    """Whether a tensor has elements that can be read; tensors on `meta`, fake tensors and wrappers have none.

    Args:
        tensor: any tensor.

    Example:
        >>> from flambeau.extension import has_data
        >>> has_data(torch.ones(2)), has_data(torch.ones(2, device="meta"))
        (True, False)
    """
    return tensor._key.backend.has_data


def kernel_of(name: str, tensor: Tensor) -> Callable[..., Any]:
    """Return the kernel of an operation for the dtype and device of `tensor`; it takes and returns library arrays.

    Args:
        name: the name of the operation.
        tensor: a tensor with the dtype and device.

    Raises:
        KeyError: no operation has that name.
        NotImplementedError: the operation does not support the dtype.

    Example:
        >>> import numpy
        >>> from flambeau.extension import kernel_of
        >>> kernel_of("exp", torch.zeros(1))(numpy.zeros(2, "float32"))
        array([1., 1.], dtype=float32)
    """
    return tensor._key[name][0]
