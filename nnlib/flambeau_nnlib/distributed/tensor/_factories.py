"""Factory functions of DTensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import flambeau as torch
from flambeau import Tensor

from ..device_mesh import DeviceMesh, current_mesh
from ._api import DTensor, normalized
from ._dtensor_spec import DTensorSpec, TensorMeta, contiguous_strides, local_shape
from ._redistribute import redistribute_local_tensor
from .placement_types import Placement, Replicate

__all__ = ["empty", "full", "ones", "rand", "randn", "zeros"]

Layout = Sequence[Placement]


def _new(
    factory: Callable[..., Tensor],
    shape: Any,
    dtype: Any,
    requires_grad: bool,
    device_mesh: DeviceMesh | None,
    placements: Layout | None,
    drawn: bool = False,
) -> DTensor:
    """Create a DTensor. With `drawn`, each process draws the random numbers of the global tensor and keeps its part."""
    mesh, shape = device_mesh or current_mesh(), torch.Size(shape)
    placed = normalized(placements, mesh, len(shape))
    dtype = dtype or torch.get_default_dtype()
    spec = DTensorSpec(mesh, placed, TensorMeta(shape, contiguous_strides(shape), dtype))
    if drawn:
        whole = factory(shape, dtype=dtype, device=mesh.device_type)
        local = redistribute_local_tensor(whole, spec.with_placements([Replicate()] * mesh.ndim), spec)
    else:
        local = factory(local_shape(shape, mesh, placed), dtype=dtype, device=mesh.device_type)
    new: DTensor = DTensor(local, spec, requires_grad=requires_grad)
    return new


def _factory(factory: Callable[..., Tensor], what: str, drawn: bool = False) -> Callable[..., DTensor]:
    """Return the DTensor version of a factory function."""

    def of_size(
        *size: Any,
        dtype: Any = None,
        layout: Any = torch.strided,
        requires_grad: bool = False,
        device_mesh: DeviceMesh | None = None,
        placements: Layout | None = None,
    ) -> DTensor:
        shape = size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
        return _new(factory, shape, dtype, requires_grad, device_mesh, placements, drawn)

    of_size.__name__ = of_size.__qualname__ = factory.__name__
    of_size.__doc__ = f"""{what}

    Args:
        size: shape of the global tensor.
        dtype: default: `torch.get_default_dtype()`.
        layout: `torch.strided`.
        requires_grad: whether the tensor requires a gradient.
        device_mesh: the mesh; default: the mesh of the enclosing `with mesh:`.
        placements: placement on each mesh dimension; default: replicated.
    """
    return of_size


_SAME = "the same for all placements if all processes have the same seed."
empty = _factory(torch.empty, "Return an uninitialized DTensor.")
zeros = _factory(torch.zeros, "Return a DTensor of zeros.")
ones = _factory(torch.ones, "Return a DTensor of ones.")
rand = _factory(torch.rand, f"Return a DTensor of uniform random numbers in [0, 1): {_SAME}", drawn=True)
randn = _factory(torch.randn, f"Return a DTensor of standard normal random numbers: {_SAME}", drawn=True)


def full(
    size: Any,
    fill_value: Any,
    *,
    dtype: Any = None,
    layout: Any = torch.strided,
    requires_grad: bool = False,
    device_mesh: DeviceMesh | None = None,
    placements: Layout | None = None,
) -> DTensor:
    """Return a DTensor filled with `fill_value`. Other arguments as for `empty`."""

    def filled(shape: Any, **options: Any) -> Tensor:
        return torch.full(shape, fill_value, **options)

    return _new(filled, size, dtype, requires_grad, device_mesh, placements)
