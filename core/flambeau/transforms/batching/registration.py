"""Registers the hooks by which calls use `vmap`, when this module is imported."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...engine.calls.transform_hooks import BatchHooks, hooks
from ...engine.devices.devices import DispatchKey, device
from ...engine.tensors.tensor import Tensor
from . import indexing  # noqa: F401 (gives batched arrays their indexing)
from .keys import align, lift
from .loops import loop
from .random import BatchedGenerator, sampled

__all__: list[str] = []


class VmapHooks(BatchHooks):
    """The hooks of `vmap`."""

    def lift(self, tensor: Tensor, levels: Any) -> Tensor:
        return lift(tensor, levels)

    def align(self, tensors: Sequence[Any]) -> tuple[Any, ...]:
        return align(tensors)

    def loop(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return loop(function, args, kwargs)

    def generator(self, raw: Any, place: device) -> Any:
        return BatchedGenerator(raw, place)

    def sampled(self, array: Any, key: DispatchKey) -> Tensor:
        return sampled(array, key)


hooks.batches = VmapHooks()
