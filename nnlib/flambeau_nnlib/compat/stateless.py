"""`_reparametrize_module`, a private function of `torch.nn.utils.stateless` that libraries import."""

from __future__ import annotations

from contextlib import AbstractContextManager

from flambeau import Tensor, func

from ..nn.modules.module import Module

__all__: list[str] = []


def _reparametrize_module(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    tie_weights: bool = False,
    strict: bool = False,
    stack_weights: bool = False,
) -> AbstractContextManager[None]:
    """Return a context manager in which a module uses the given parameters and buffers."""
    return func._ReplacedState(module, parameters_and_buffers, tie_weights, strict)
