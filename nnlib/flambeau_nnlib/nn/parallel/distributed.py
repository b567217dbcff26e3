"""`DistributedDataParallel`: one process for each copy of the network, gradients averaged among them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import flambeau as torch
from flambeau import Tensor

from ..modules.module import Module
from .places import as_devices

__all__ = ["DistributedDataParallel"]


class DistributedDataParallel(Module):
    """A network of which every process of a group has a copy that sees its own batches.

    All start from the first process's parameters; every backward averages the gradients, so that equal optimizers keep
    the copies equal.

    Args:
        module: the network; some of its parameters must want a gradient.
        device_ids: the device that inputs are moved to, in a list; None leaves them.
        output_device, dim, bucket_cap_mb, gradient_as_bucket_view, static_graph: for programs that give them.
        broadcast_buffers: whether buffers are made equal to the first process's before each forward in training.
        process_group: the group (all processes by default).
        find_unused_parameters: whether some parameters may take no part in a forward.

    Raises:
        RuntimeError: no parameter wants a gradient.
        ValueError: `torch.distributed` has not been initialized.
    """

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[Any] | None = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool = True,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
    ) -> None:
        super().__init__()
        self._wanted = [each for each in module.parameters() if each.requires_grad]
        if not self._wanted:
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameter that requires a gradient."
            )
        self.module, self.dim = module, dim
        self.device_ids = device_ids
        self.broadcast_buffers, self.find_unused_parameters = broadcast_buffers, find_unused_parameters
        self.process_group = process_group
        self.world_size = torch.distributed.get_world_size(process_group)
        self.require_backward_grad_sync = True
        self._ready: set[Tensor] = set()
        for each in self._wanted:
            each.register_post_accumulate_grad_hook(self._on_gradient)
        if init_sync:
            self._follow_first([*module.parameters(), *module.buffers()])

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The network's result for this process's batch."""
        if self.training and self.broadcast_buffers and self.require_backward_grad_sync:
            self._follow_first(list(self.module.buffers()))
        if self.device_ids:
            from .scatter_gather import scatter_kwargs

            (inputs,), (kwargs,) = scatter_kwargs(inputs, kwargs, as_devices(self.device_ids)[:1]) or ((inputs,), (kwargs,))
        output = self.module(*inputs, **kwargs)
        self._ready = set(self._wanted) - _used_by(output) if self.find_unused_parameters else set()
        return output

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """A context in which gradients are accumulated by each process for itself."""
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def _on_gradient(self, parameter: Tensor) -> None:
        """Count a gradient that is there, and average them all after the last."""
        if not self.require_backward_grad_sync:
            return
        self._ready.add(parameter)
        if len(self._ready) == len(self._wanted):
            self._ready = set()
            self._average()

    @torch.no_grad()
    def _average(self) -> None:
        """All gradients of one dtype travel as one tensor."""
        if self.world_size == 1:
            return
        for dtype in {each.dtype for each in self._wanted}:
            group = [each for each in self._wanted if each.dtype == dtype]
            flat = torch.cat([(torch.zeros_like(each) if each.grad is None else each.grad).reshape(-1) for each in group])
            torch.distributed.all_reduce(flat, group=self.process_group)
            flat /= self.world_size
            for each, part in zip(group, flat.split([each.numel() for each in group]), strict=True):
                if each.grad is None:
                    each.grad = part.reshape(each.shape).clone()
                else:
                    each.grad.copy_(part.reshape(each.shape))

    @torch.no_grad()
    def _follow_first(self, tensors: Sequence[Tensor]) -> None:
        """Make tensors equal to those of the group's first process."""
        if self.world_size > 1:
            for each in tensors:
                torch.distributed.broadcast(each.data, group=self.process_group, group_src=0)


def _used_by(output: Any) -> set[Tensor]:
    """The leaves that a result, with any tensors nested in it, was computed from."""
    pending, seen, leaves = list(_nodes(output)), set(), set()
    while pending:
        node = pending.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            leaves.add(node.variable)
        pending += [each for each, _ in node.next_functions]
    return leaves


def _nodes(value: Any) -> Iterator[Any]:
    if isinstance(value, Tensor):
        yield value.grad_fn
    elif isinstance(value, (tuple, list, dict)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _nodes(each)
