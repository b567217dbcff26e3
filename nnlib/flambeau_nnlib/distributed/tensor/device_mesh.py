"""Import path of `DeviceMesh` next to `DTensor`, as in PyTorch."""

from __future__ import annotations

from ..device_mesh import DeviceMesh, init_device_mesh

__all__ = ["DeviceMesh", "init_device_mesh"]
