"""`replicate`: `DistributedDataParallel` without a wrapper, so that the module keeps its attributes and parameter names."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn

import flambeau as torch

from ..modules.module import Module
from .distributed import DistributedDataParallel

__all__ = ["DDP", "replicate"]


class DDP:
    """What `replicate` adds to the class of a module."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Create an object of the original class, as when a container is sliced."""
        original = cls.__mro__[2]
        return original(*args, **kwargs) if original is not object else object.__new__(cls)

    def set_requires_gradient_sync(self, requires_gradient_sync: bool) -> None:
        """Set whether the backward passes of later forward passes average gradients over the processes."""
        _state_of(self).syncs = requires_gradient_sync

    def register_comm_hook(self, state: Any, hook: Callable[..., Any]) -> None:
        """Average gradients by a custom hook. See `DistributedDataParallel.register_comm_hook`."""
        _state_of(self).comm_hooks.append((state, hook))

    def prepare_for_backward(self, output: Any) -> None:
        """Let the next backward pass average all gradients, for an output that was computed without synchronization."""
        _state_of(self).wrapper.prepare_for_backward(output)

    def __deepcopy__(self, memo: Any) -> NoReturn:
        raise AssertionError("DDP does not support deepcopy. Please use state dict for serialization.")


class _State:
    """The wrapper of a module, which is created by the first forward pass, when the parameters have memory."""

    def __init__(self, module: Module, options: dict[str, Any]) -> None:
        self.module, self.options, self.syncs = module, options, True
        self.comm_hooks: list[tuple[Any, Callable[..., Any]]] = []
        self._wrapper: DistributedDataParallel | None = None

    @property
    def wrapper(self) -> DistributedDataParallel:
        if self._wrapper is None:
            self._wrapper = DistributedDataParallel(self.module, **self.options)
        while self.comm_hooks:
            self._wrapper.register_comm_hook(*self.comm_hooks.pop(0))
        return self._wrapper

    def before(self, module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        self.wrapper.require_backward_grad_sync = self.syncs
        return self.wrapper._pre_forward(*args, **kwargs)

    def after(self, module: Module, args: tuple[Any, ...], output: Any) -> Any:
        return self.wrapper._post_forward(output)


def _state_of(module: Any) -> _State:
    state: _State = module.__dict__["_replicate_state"]
    return state


def replicate(module: Module, ignored_modules: Iterable[Module] | None = None, **options: Any) -> Module:
    """Average the gradients of a module over processes, in place.

    Args:
        module: the module. Its class becomes a subclass of `DDP`.
        ignored_modules: submodules whose parameters are not synchronized.
        options: those of `DistributedDataParallel`, such as `device_mesh` and `bucket_cap_mb`; or `device_id`, the device of
            the module.

    Returns:
        the module.

    Raises:
        RuntimeError: `device_id` is not a device, or `fully_shard` manages the module.

    Example, with one process:
        >>> import flambeau.distributed as dist
        >>> from flambeau.distributed._composable.replicate import replicate
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> net = replicate(torch.nn.Linear(3, 2))
        >>> net(torch.ones(1, 3)).sum().backward()
        >>> type(net).__name__, net.weight.grad.shape
        ('DDPLinear', torch.Size([2, 3]))
        >>> dist.destroy_process_group()
    """
    if "_fsdp_state" in module.__dict__:
        raise RuntimeError("Cannot apply `replicate()` on a Module already managed by `fully_shard`")
    if "device_id" in options:
        device = options.pop("device_id")
        if not isinstance(device, (int, torch.device)):
            raise RuntimeError(f"Expected device_id to be int or torch.device, but got {type(device)}")
        options["device_ids"] = None if isinstance(device, torch.device) and device.type == "cpu" else [device]
    ignored = {id(parameter) for one in ignored_modules or () for parameter in one.parameters()}
    names = [name for name, parameter in module.named_parameters() if id(parameter) in ignored]
    DistributedDataParallel._set_params_and_buffers_to_ignore_for_model(module, names)
    state = module.__dict__["_replicate_state"] = _State(module, options)
    module.register_forward_pre_hook(state.before, with_kwargs=True)
    module.register_forward_hook(state.after)
    kind = type(module)
    module.__class__ = type(f"DDP{kind.__name__}", (DDP, kind), {"__module__": kind.__module__, "__doc__": kind.__doc__})
    return module
