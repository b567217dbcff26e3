"""New tensors on a mesh, of which each process makes its part."""

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
    """A tensor of which each process makes its part; of drawn numbers, it makes the whole and keeps its part."""
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
    """The function for a mesh that corresponds to one for a device."""

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
        size: the shape of the whole tensor.
        dtype: its dtype; the default dtype otherwise.
        layout: `torch.strided`.
        requires_grad: whether it requires a gradient.
        device_mesh: the mesh; that of `with mesh:` by default.
        placements: how it lies on each dimension of the mesh; replicated by default.
    """
    return of_size


_SAME = "the same in any layout, if all processes have the same seed."
empty = _factory(torch.empty, "A DTensor that is not filled.")
zeros = _factory(torch.zeros, "A DTensor of zeros.")
ones = _factory(torch.ones, "A DTensor of ones.")
rand = _factory(torch.rand, f"A DTensor of random numbers from 0 to 1: {_SAME}", drawn=True)
randn = _factory(torch.randn, f"A DTensor of normally distributed random numbers: {_SAME}", drawn=True)


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
    """A DTensor of `fill_value`; other arguments as for `empty`."""

    def filled(shape: Any, **options: Any) -> Tensor:
        return torch.full(shape, fill_value, **options)

    return _new(filled, size, dtype, requires_grad, device_mesh, placements)
