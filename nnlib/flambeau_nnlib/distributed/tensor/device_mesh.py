"""The mesh, under the name that it has beside `DTensor`."""

from __future__ import annotations

from ..device_mesh import DeviceMesh, init_device_mesh

__all__ = ["DeviceMesh", "init_device_mesh"]
