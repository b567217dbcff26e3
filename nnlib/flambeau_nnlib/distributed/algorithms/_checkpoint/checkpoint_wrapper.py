"""Layers that compute their inner values again in the backward, or keep them on the CPU, rather than keep them where they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum, auto
from functools import partial
from typing import Any

import flambeau as torch
from flambeau.autograd.graph import save_on_cpu

from ....nn import Module
from ...fsdp.wrap import lambda_auto_wrap_policy, wrapped_children

__all__ = [
    "ActivationWrapper", "CheckpointImpl", "CheckpointWrapper", "OffloadWrapper", "apply_activation_checkpointing",
    "checkpoint_wrapper", "offload_wrapper",
]  # fmt: skip

_CHECKPOINT_WRAPPED_MODULE = "_checkpoint_wrapped_module"
_CHECKPOINT_PREFIX = _CHECKPOINT_WRAPPED_MODULE + "."


class CheckpointImpl(Enum):
    """How the forward is repeated; see `torch.utils.checkpoint`."""

    REENTRANT = auto()
    NO_REENTRANT = auto()


class ActivationWrapper(Module):
    """A module around another, whose names in states are those of the inner one.

    Args:
        mod: the inner module.
    """

    def __init__(self, mod: Module) -> None:
        super().__init__()
        self._checkpoint_wrapped_module = mod
        self._register_state_dict_hook(_without_prefix)
        self.register_load_state_dict_pre_hook(_with_prefix)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__(_CHECKPOINT_WRAPPED_MODULE), name)

    def __getitem__(self, key: int) -> Any:
        return self._checkpoint_wrapped_module[key]  # type: ignore[index]  # where the module has items

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        """The parameters by the inner module's names."""
        for name, parameter in super().named_parameters(*args, **kwargs):
            yield name.replace(_CHECKPOINT_PREFIX, ""), parameter


def _without_prefix(module: Module, state: dict[str, Any], prefix: str, *_: Any) -> None:
    inner = prefix + _CHECKPOINT_PREFIX
    for name in [name for name in state if name.startswith(inner)]:
        state[prefix + name.removeprefix(inner)] = state.pop(name)


def _with_prefix(module: Module, state: dict[str, Any], prefix: str, *_: Any) -> None:
    inner = prefix + _CHECKPOINT_PREFIX
    for name in [name for name in state if name.startswith(prefix) and not name.startswith(inner)]:
        state[inner + name.removeprefix(prefix)] = state.pop(name)


class OffloadWrapper(ActivationWrapper):
    """A module whose inner values are kept on the CPU between forward and backward."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The inner module's result."""
        with save_on_cpu(pin_memory=True) if torch.cuda.is_available() else save_on_cpu():
            return self._checkpoint_wrapped_module(*args, **kwargs)


class CheckpointWrapper(ActivationWrapper):
    """A module that computes its inner values again in the backward.

    Args:
        mod: the inner module.
        checkpoint_impl: how the forward is repeated.
        checkpoint_fn: a function in place of `torch.utils.checkpoint.checkpoint`.
        checkpoint_fn_kwargs: its options.
    """

    def __init__(
        self,
        mod: Module,
        checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
        checkpoint_fn: Callable[..., Any] | None = None,
        **checkpoint_fn_kwargs: Any,
    ) -> None:
        super().__init__(mod)
        self.checkpoint_impl = checkpoint_impl
        if checkpoint_fn is None:
            reentrant = checkpoint_impl is CheckpointImpl.REENTRANT
            checkpoint_fn = partial(torch.utils.checkpoint.checkpoint, use_reentrant=reentrant)
        self.checkpoint_fn = partial(checkpoint_fn, **checkpoint_fn_kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The inner module's result."""
        if self.checkpoint_impl is CheckpointImpl.REENTRANT and kwargs:  # which takes no arguments by name
            return self.checkpoint_fn(lambda *given: self._checkpoint_wrapped_module(*given, **kwargs), *args)
        return self.checkpoint_fn(self._checkpoint_wrapped_module, *args, **kwargs)


def offload_wrapper(module: Module) -> Module:
    """`OffloadWrapper(module)`."""
    return OffloadWrapper(module)


def checkpoint_wrapper(
    module: Module,
    checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
    checkpoint_fn: Callable[..., Any] | None = None,
    **checkpoint_fn_kwargs: Any,
) -> Module:
    """`CheckpointWrapper(module, ...)`."""
    return CheckpointWrapper(module, checkpoint_impl, checkpoint_fn, **checkpoint_fn_kwargs)


def apply_activation_checkpointing(
    model: Module,
    checkpoint_wrapper_fn: Callable[[Module], Module] = checkpoint_wrapper,
    check_fn: Callable[[Module], bool] = lambda _: True,
    auto_wrap_policy: Callable[..., bool] | None = None,
) -> None:
    """Wrap submodules of a model, in place.

    Args:
        model: the model.
        checkpoint_wrapper_fn: what wraps them.
        check_fn: says which.
        auto_wrap_policy: a policy of `torch.distributed.fsdp.wrap` in its place.
    """
    policy = auto_wrap_policy or partial(lambda_auto_wrap_policy, lambda_fn=check_fn)

    wrapped_children(model, policy, set(), lambda child, options: checkpoint_wrapper_fn(child))
