"""`DistributedDataParallel`: one process for each replica of the network, with averaged gradients."""

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
    """A network of which every process of a group trains a replica on batches of its own.

    All replicas start from the first process's parameters. Every backward averages the gradients over the processes, so
    that the same optimizer steps keep the replicas equal.

    Args:
        module: the network; at least one of its parameters must require a gradient.
        device_ids: the device that inputs are moved to, in a list; None leaves them.
        output_device, dim, bucket_cap_mb, check_reduction, gradient_as_bucket_view, static_graph: accepted for compatibility.
        broadcast_buffers: whether each forward in training first copies the buffers of the first process to all.
        init_sync: whether to copy the parameters and buffers of the first process to all at the start.
        process_group: the group (all processes by default).
        find_unused_parameters: whether some parameters may take no part in a forward.

    Raises:
        RuntimeError: no parameter requires a gradient.
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
        self._trained_parameters: list[Tensor] = [parameter for parameter in module.parameters() if parameter.requires_grad]
        if not self._trained_parameters:
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
        for parameter in self._trained_parameters:
            parameter.register_post_accumulate_grad_hook(self._on_gradient)
        if init_sync:
            self._broadcast_from_first([*module.parameters(), *module.buffers()])

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The network's result for this process's batch."""
        if self.training and self.broadcast_buffers and self.require_backward_grad_sync:
            self._broadcast_from_first(list(self.module.buffers()))
        if self.device_ids:
            from .scatter_gather import scatter_kwargs

            (inputs,), (kwargs,) = scatter_kwargs(inputs, kwargs, as_devices(self.device_ids)[:1]) or ((inputs,), (kwargs,))
        output = self.module(*inputs, **kwargs)
        self._ready = set(self._trained_parameters) - _used_by(output) if self.find_unused_parameters else set()
        return output

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """A context in which each process accumulates its own gradients, without averaging."""
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def _on_gradient(self, parameter: Tensor) -> None:
        """Hook on each parameter: note that its gradient is ready, and average all gradients once the last one is."""
        if not self.require_backward_grad_sync:
            return
        self._ready.add(parameter)
        if len(self._ready) == len(self._trained_parameters):
            self._ready = set()
            self._average_gradients()

    @torch.no_grad()
    def _average_gradients(self) -> None:
        """Average the gradients over the processes, all those of one dtype in a single flat tensor."""
        if self.world_size == 1:
            return
        for dtype in {p.dtype for p in self._trained_parameters}:
            group = [p for p in self._trained_parameters if p.dtype == dtype]
            flat = torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).reshape(-1) for p in group])
            torch.distributed.all_reduce(flat, group=self.process_group)
            flat /= self.world_size
            for p, part in zip(group, flat.split([p.numel() for p in group]), strict=True):
                if p.grad is None:
                    p.grad = part.reshape(p.shape).clone()
                else:
                    p.grad.copy_(part.reshape(p.shape))

    @torch.no_grad()
    def _broadcast_from_first(self, tensors: Sequence[Tensor]) -> None:
        """Make tensors equal to those of the group's first process."""
        if self.world_size > 1:
            for tensor in tensors:
                torch.distributed.broadcast(tensor.data, group=self.process_group, group_src=0)


def _used_by(output: Any) -> set[Tensor]:
    """The leaf tensors in the graph of `output`, which may be a tensor or containers of tensors."""
    pending = list(_nodes(output))
    seen: set[Any] = set()
    leaves: set[Tensor] = set()
    while pending:
        node = pending.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            leaves.add(node.variable)
        pending += [next_node for next_node, _ in node.next_functions]
    return leaves


def _nodes(value: Any) -> Iterator[Any]:
    if isinstance(value, Tensor):
        yield value.grad_fn
    elif isinstance(value, (tuple, list, dict)):
        for member in value.values() if isinstance(value, dict) else value:
            yield from _nodes(member)
