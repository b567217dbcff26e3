"""`torch._functorch`: `eager_transforms` is the module `flambeau.func`, and `vmap` is `flambeau.transforms.batching.vmap`."""

from __future__ import annotations

from importlib import import_module

from ... import func as eager_transforms
from . import apis

__all__ = ["apis", "eager_transforms", "vmap"]

vmap = import_module("flambeau.transforms.batching.vmap")  # the package has a function with the same name
