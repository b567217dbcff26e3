"""Conversion between parameters and one flat vector."""

from __future__ import annotations

from collections.abc import Iterable

import flambeau as torch
from flambeau import Tensor

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Concatenate all elements of all parameters to one vector.

    Args:
        parameters: the tensors, all on one device.

    Raises:
        TypeError: the parameters are on different devices.

    Example:
        >>> parameters_to_vector([torch.ones(2, 1), torch.zeros(1)])
        tensor([1., 1., 0.])
    """
    parameters = list(parameters)
    check_one_device(parameters)
    return torch.cat([parameter.view(-1) for parameter in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Set the parameters to consecutive slices of a vector, in order; the reverse of `parameters_to_vector`.

    Args:
        vec: the vector, with at least as many elements as all parameters together.
        parameters: the tensors to set, all on one device; they share the vector's memory afterwards.

    Raises:
        TypeError: `vec` is not a tensor, or the parameters are on different devices.

    Example:
        >>> layer = torch.nn.Linear(2, 1)
        >>> vector_to_parameters(torch.tensor([1.0, 2.0, 3.0]), layer.parameters())
        >>> layer.weight.tolist(), layer.bias.tolist()
        ([[1.0, 2.0]], [3.0])
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {torch.typename(vec)}")
    parameters = list(parameters)
    check_one_device(parameters)
    start = 0
    for parameter in parameters:
        stop = start + parameter.numel()
        parameter.data = vec[start:stop].view_as(parameter).data
        start = stop


def check_one_device(parameters: list[Tensor]) -> None:
    if len({parameter.device for parameter in parameters}) > 1:
        raise TypeError("Found two parameters on different devices, this is currently not supported.")
