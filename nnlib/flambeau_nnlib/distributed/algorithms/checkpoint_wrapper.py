"""Module wrappers that recompute activations in the backward pass or store them on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum, auto
from functools import partial
from typing import Any

from flambeau.autograd.graph import save_on_cpu

from ...checkpoint import checkpoint
from ...nn import Module, Parameter
from ..fsdp.wrap import CustomPolicy, lambda_auto_wrap_policy, wrapped_children

__all__ = [
    "ActivationWrapper", "CheckpointImpl", "CheckpointWrapper", "OffloadWrapper", "apply_activation_checkpointing",
    "checkpoint_wrapper", "offload_wrapper",
]  # fmt: skip

_CHECKPOINT_WRAPPED_MODULE = "_checkpoint_wrapped_module"
_CHECKPOINT_PREFIX = f"{_CHECKPOINT_WRAPPED_MODULE}."


class CheckpointImpl(Enum):
    """The implementation of `torch.utils.checkpoint` to use: reentrant or non-reentrant."""

    REENTRANT = auto()
    NO_REENTRANT = auto()


class ActivationWrapper(Module):
    """A wrapper that forwards attributes to the inner module; parameter names and state dict keys are those of the
    inner module.
    """

    def __init__(self, mod: Module) -> None:
        super().__init__()
        self._checkpoint_wrapped_module = mod
        self._register_state_dict_hook(self._post_state_dict_hook)
        self.register_load_state_dict_pre_hook(self._pre_load_state_dict_hook)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self._checkpoint_wrapped_module, name)

    def __getitem__(self, key: int) -> Any:
        inner: Any = self._checkpoint_wrapped_module
        return inner[key]

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Parameter]]:
        """Yield the parameters with their names in the inner module."""
        for name, parameter in super().named_parameters(*args, **kwargs):
            yield name.replace(_CHECKPOINT_PREFIX, ""), parameter

    @staticmethod
    def _post_state_dict_hook(module: Module, state_dict: dict[str, Any], prefix: str, *args: Any) -> dict[str, Any]:
        _rename(state_dict, prefix + _CHECKPOINT_PREFIX, prefix)
        return state_dict

    @staticmethod
    def _pre_load_state_dict_hook(module: Module, state_dict: dict[str, Any], prefix: str, *args: Any) -> None:
        _rename(state_dict, prefix, prefix + _CHECKPOINT_PREFIX)


def _rename(state: dict[str, Any], old: str, new: str) -> None:
    """Replace a prefix of keys, in place."""
    for name in [name for name in state if name.startswith(old)]:
        state[new + name[len(old) :]] = state.pop(name)


class OffloadWrapper(ActivationWrapper):
    """A wrapper that stores the activations of a module on the CPU until the backward pass."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        with save_on_cpu(pin_memory=True):
            return self._checkpoint_wrapped_module(*args, **kwargs)


class CheckpointWrapper(ActivationWrapper):
    """A wrapper that recomputes the activations of a module in the backward pass; see `checkpoint_wrapper`."""

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
            checkpoint_fn = partial(checkpoint, use_reentrant=checkpoint_impl is CheckpointImpl.REENTRANT)
        self.checkpoint_fn = partial(checkpoint_fn, **checkpoint_fn_kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        if self.checkpoint_impl is not CheckpointImpl.REENTRANT or not kwargs:
            return self.checkpoint_fn(self._checkpoint_wrapped_module, *args, **kwargs)
        count, names = len(args), tuple(kwargs)  # reentrant checkpointing accepts no keyword arguments

        def call(*values: Any) -> Any:
            return self._checkpoint_wrapped_module(*values[:count], **dict(zip(names, values[count:], strict=True)))

        return self.checkpoint_fn(call, *args, *kwargs.values())


def offload_wrapper(module: Module) -> Module:
    """Wrap a module so that its activations are stored on the CPU until the backward pass."""
    return OffloadWrapper(module)


def checkpoint_wrapper(
    module: Module,
    checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
    checkpoint_fn: Callable[..., Any] | None = None,
    **checkpoint_fn_kwargs: Any,
) -> Module:
    """Wrap a module so that its activations are recomputed in the backward pass.

    Args:
        module: the module to wrap.
        checkpoint_impl: reentrant or non-reentrant implementation of `torch.utils.checkpoint.checkpoint`.
        checkpoint_fn: a function to use instead of `checkpoint`; it is called with the module and its arguments.
        checkpoint_fn_kwargs: further keyword arguments of the function.
    """
    return CheckpointWrapper(module, checkpoint_impl, checkpoint_fn, **checkpoint_fn_kwargs)


def apply_activation_checkpointing(
    model: Module,
    checkpoint_wrapper_fn: Callable[..., Module] = checkpoint_wrapper,
    check_fn: Callable[[Module], Any] = lambda _: True,
    auto_wrap_policy: Any = None,
) -> None:
    """Wrap submodules in place; `model` itself is not wrapped.

    Args:
        checkpoint_wrapper_fn: wraps a module.
        check_fn: whether to wrap a submodule.
        auto_wrap_policy: a wrapping policy as for `FullyShardedDataParallel`, instead of `check_fn`.

    >>> from flambeau.distributed.algorithms.checkpoint_wrapper import apply_activation_checkpointing
    >>> net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
    >>> apply_activation_checkpointing(net, check_fn=lambda m: isinstance(m, torch.nn.Linear))
    >>> type(net[0]).__name__, [name for name, _ in net.named_parameters()], sorted(net.state_dict())
    ('CheckpointWrapper', ['0._checkpoint_wrapped_module.weight', '0._checkpoint_wrapped_module.bias'], ['0.bias', '0.weight'])
    """
    policy = auto_wrap_policy or partial(lambda_auto_wrap_policy, lambda_fn=check_fn)
    if isinstance(policy, CustomPolicy):
        wrapped_children(model, policy, set(), lambda module, options: checkpoint_wrapper_fn(module, **options))
    else:
        _wrap_children(model, policy, checkpoint_wrapper_fn)


def _wrap_children(module: Module, policy: Any, wrapper: Callable[[Module], Module]) -> int:
    """Wrap the descendants that a policy selects, inner ones first. Return the number of wrapped parameter elements."""
    total = 0
    for name, child in list(module.named_children()):
        size = sum(parameter.numel() for parameter in child.parameters())
        inside = _wrap_children(child, policy, wrapper) if policy(module=child, recurse=True, nonwrapped_numel=size) else 0
        if policy(module=child, recurse=False, nonwrapped_numel=size - inside):
            setattr(module, name, wrapper(child))
            inside = size
        total += inside
    return total
