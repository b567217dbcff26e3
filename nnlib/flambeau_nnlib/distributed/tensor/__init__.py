"""Tensors distributed over a mesh of processes: `DTensor` and its placements.

The strategies of an operation (`_strategies`) list possible placements. A call selects one, redistributes its
arguments, and applies the operation to the local tensors. Invariant: an operation without a strategy runs on replicated
tensors or raises, so it never returns a wrong result.

>>> from flambeau.distributed.tensor import Replicate, Shard
>>> Shard(0), Replicate()
(Shard(dim=0), Replicate())
"""

from __future__ import annotations

import flambeau as torch

from ..device_mesh import DeviceMesh as DeviceMesh
from ..device_mesh import init_device_mesh as init_device_mesh
from ._api import DTensor, _rebuilt, distribute_module, distribute_tensor
from ._dtensor_spec import DTensorSpec, TensorMeta
from ._factories import empty, full, ones, rand, randn, zeros
from .placement_types import Partial, Placement, Replicate, Shard

__all__ = [
    "DTensor", "Partial", "Placement", "Replicate", "Shard", "distribute_module", "distribute_tensor", "empty", "full", "ones",
    "rand", "randn", "zeros",
]  # fmt: skip

torch.serialization.add_safe_globals([DTensor, DTensorSpec, DeviceMesh, Partial, Replicate, Shard, TensorMeta, _rebuilt])
