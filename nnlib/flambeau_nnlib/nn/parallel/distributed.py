"""`DistributedDataParallel`: one process for each replica of the network, with averaged gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import flambeau as torch
from flambeau import Tensor

from ...distributed.algorithms.join import Join, Joinable, JoinHook
from ..modules.module import Module
from .devices import as_devices
from .reducer import GradBucket, Reducer

__all__ = ["DistributedDataParallel"]

BUCKET_CAP_MB = 25


class DistributedDataParallel(Module, Joinable):
    """Trains replicas of a network in several processes, each on different batches.

    All replicas start from the first process's parameters. Every backward averages the gradients over the processes, so
    that the same optimizer steps keep the replicas equal. Gradients are reduced in buckets while the backward still runs.

    Args:
        module: the network; at least one of its parameters must require a gradient.
        device_ids: the device that inputs are moved to, in a list; None leaves them.
        output_device, dim, check_reduction: accepted for compatibility.
        broadcast_buffers: whether each forward in training first copies the buffers of the first process to all.
        init_sync: whether to copy the parameters and buffers of the first process to all at the start.
        process_group: the group (all processes by default).
        bucket_cap_mb: the size of a bucket of gradients in megabytes (25).
        find_unused_parameters: whether some parameters may be unused in a forward; each forward then searches for them. The
            `grad` of parameters that no process used does not change.
        gradient_as_bucket_view: whether gradients are views of the buckets, which saves a copy.
        static_graph: whether every step uses the same parameters, equally often; unused ones are found in the first step only.
        device_mesh: a mesh of one dimension, whose group is used.

    Raises:
        RuntimeError: no parameter requires a gradient, or the processes have different networks; in a forward, if the last
            backward did not reach all parameters and `find_unused_parameters` is off.
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
        device_mesh: Any = None,
    ) -> None:
        Module.__init__(self)
        Joinable.__init__(self)
        ignored = getattr(module, "_ddp_params_and_buffers_to_ignore", ())
        trained = [(name, p) for name, p in module.named_parameters() if p.requires_grad and name not in ignored]
        if not trained:
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameter that requires a gradient."
            )
        if process_group is not None and device_mesh is not None:
            raise RuntimeError("Cannot specify both process_group and device_mesh arguments.")
        if device_mesh is not None:
            process_group = device_mesh.get_group()
        self.module, self.dim, self.device_ids = module, dim, device_ids
        self.broadcast_buffers, self.find_unused_parameters = broadcast_buffers, find_unused_parameters
        self.process_group = torch.distributed.group.WORLD if process_group is None else process_group
        self.world_size = torch.distributed.get_world_size(process_group)
        self.static_graph, self.gradient_as_bucket_view = static_graph, gradient_as_bucket_view
        self.require_backward_grad_sync = self.require_forward_param_sync = True
        states = [*module.named_parameters(), *module.named_buffers()]
        self._synchronized = [tensor for name, tensor in states if name not in ignored]
        cap = (BUCKET_CAP_MB if bucket_cap_mb is None else bucket_cap_mb) * (1 << 20)
        names, parameters = zip(*trained, strict=True)
        if self.world_size > 1:
            self._check_same_parameters(parameters)
        if init_sync:
            self._broadcast(self._synchronized)
        self.reducer = Reducer(
            parameters,
            process_group,
            cap,
            gradient_as_bucket_view,
            find_unused_parameters and not static_graph,
            static_graph,
            names,
        )

    def _check_same_parameters(self, parameters: Sequence[Tensor]) -> None:
        """Raise RuntimeError if the number or shapes of parameters differ between processes."""
        mine = [(tuple(parameter.shape), str(parameter.dtype)) for parameter in parameters]
        everyone: list[Any] = [None] * self.world_size
        torch.distributed.all_gather_object(everyone, mine, self.process_group)
        for rank, theirs in enumerate(everyone):
            if len(theirs) != len(everyone[0]):
                raise RuntimeError(
                    f"DDP expects same model across all ranks, but Rank 0 has {len(everyone[0])} params, while rank {rank} has "
                    f"inconsistent {len(theirs)} params."
                )
            for index, (first, other) in enumerate(zip(everyone[0], theirs, strict=True)):
                if first != other:
                    raise RuntimeError(
                        f"[{self.world_size} processes]: params[{index}] of rank {rank} is {list(other[0])} {other[1]}, "
                        f"but that of rank 0 {list(first[0])} {first[1]}"
                    )

    # --- a step ---

    @staticmethod
    def _set_params_and_buffers_to_ignore_for_model(module: Module, params_and_buffers_to_ignore: Any) -> None:
        """Exclude parameters and buffers of a module, given by name, from synchronization by a later wrapper."""
        module._ddp_params_and_buffers_to_ignore = params_and_buffers_to_ignore

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Return the network's result for this process's batch."""
        args, kwargs = self._pre_forward(*inputs, **kwargs)
        return self._post_forward(self.module(*args, **kwargs))

    def _pre_forward(self, *args: Any, **kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Prepare a forward pass; return the network's arguments."""
        if torch.is_grad_enabled() and self.require_backward_grad_sync:
            self.reducer.check_finished()
            self._notify_joined_processes()
        if self.training and self.broadcast_buffers and self.require_forward_param_sync:
            self._broadcast_buffers(True)
        self.require_forward_param_sync = self.require_backward_grad_sync
        if self.device_ids:
            from .scatter_gather import scatter_kwargs

            (args,), (kwargs,) = scatter_kwargs(args, kwargs, as_devices(self.device_ids)[:1]) or ((args,), (kwargs,))
        return args, kwargs

    def _post_forward(self, output: Any) -> Any:
        """Prepare the backward pass of an output; return the output."""
        self.reducer.expects = False
        if torch.is_grad_enabled() and self.require_backward_grad_sync:
            self.prepare_for_backward(output)
        return output

    def prepare_for_backward(self, output: Any) -> None:
        """Let the next backward pass average all gradients, for an output that was computed in `no_sync`."""
        self.reducer.prepare(self._find_unused(output) if self.reducer.find_unused else ())

    def _find_unused(self, output: Any) -> list[int]:
        used = _find_used(output)
        return [index for index, parameter in enumerate(self.reducer.parameters) if parameter not in used]

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Context in which each process accumulates its own gradients, without averaging.

        The first forward and backward after the context average all accumulated gradients. The forward must also run in
        the context.
        """
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def register_comm_hook(self, state: Any, hook: Callable[[Any, GradBucket], Any]) -> None:
        """Average the gradients of each bucket by a custom hook instead of an `all_reduce`.

        Args:
            state: the hook's first argument.
            hook: called with the state and a `GradBucket`; returns a `torch.futures.Future` of the averaged buffer.

        Raises:
            TypeError: the hook cannot be called.
            RuntimeError: a hook is already registered.
        """
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        if self.reducer.hook is not None:
            raise RuntimeError("register_comm_hook or register_builtin_comm_hook can only be called once.")
        self.reducer.hook, self.reducer.hook_state = hook, state

    def _register_builtin_comm_hook(self, comm_hook_type: Any) -> None:
        from ...distributed.algorithms.ddp_comm_hooks import default_hooks

        hooks = {"ALLREDUCE": default_hooks.allreduce_hook, "FP16_COMPRESS": default_hooks.fp16_compress_hook}
        self.register_comm_hook(None, hooks[comm_hook_type.name])

    @torch.no_grad()
    def _broadcast(self, tensors: Sequence[Tensor], root: int = 0) -> None:
        """Overwrite tensors in all processes with those of process `root`."""
        if self.world_size > 1:
            for tensor in tensors:
                torch.distributed.broadcast(tensor.data, group=self.process_group, group_src=root)

    # --- uneven inputs ---

    def join(
        self, divide_by_initial_world_size: bool = True, enable: bool = True, throw_on_early_termination: bool = False
    ) -> Join:
        """Context in which processes may have different numbers of batches; finished processes contribute zero gradients.

        Args:
            divide_by_initial_world_size: whether to divide by the number of all processes, including finished ones.
            enable: False turns the context off.
            throw_on_early_termination: raise RuntimeError in all processes once one process has no more inputs.
        """
        return Join([self], enable, throw_on_early_termination, divide_by_initial_world_size=divide_by_initial_world_size)

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """Return the hook that takes part in the collectives once this process has no more inputs."""
        return _UnevenInputsHook(self, kwargs.get("divide_by_initial_world_size", True))

    @property
    def join_device(self) -> torch.device:
        """The device of the tensors that `Join` uses to count active processes."""
        return self.reducer.parameters[0].device

    @property
    def join_process_group(self) -> Any:
        """The process group of the collectives."""
        return self.process_group

    def _notify_joined_processes(self) -> None:
        work = Join.notify_join_context(self)
        self.reducer.divisor = self.world_size
        if work is not None and not self._join_config.divides_by_all:
            work.wait()
            self.reducer.divisor = int(work.result()[0])

    def _broadcast_buffers(self, active: bool) -> None:
        """Overwrite the buffers with those of the first process, or of the first process that still has inputs."""
        buffers, root = list(self.module.buffers()), 0
        if not buffers or self.world_size == 1:
            return
        if self._join_config.enable:
            rank = torch.distributed.get_rank(self.process_group)
            candidate = torch.tensor([rank if active else self.world_size])
            torch.distributed.all_reduce(candidate, torch.distributed.ReduceOp.MIN, group=self.process_group)
            root = int(candidate)
        self._broadcast(buffers, root)


class _UnevenInputsHook(JoinHook):
    """Join hook of `DistributedDataParallel`: matches the collectives of other processes after this one has no more inputs."""

    def __init__(self, parallel: DistributedDataParallel, divides_by_all: bool) -> None:
        self.parallel = parallel
        parallel._join_config.divides_by_all = divides_by_all

    def main_hook(self) -> None:
        """Run the collectives of one training step, for processes that still have inputs."""
        parallel = self.parallel
        if parallel.training and parallel.broadcast_buffers:
            parallel._broadcast_buffers(False)
        if not parallel._join_config.divides_by_all:
            parallel.reducer.divisor = max(1, parallel._join_config.active)
        parallel.reducer.reduce_zeros()

    def post_hook(self, is_last_joiner: bool) -> None:
        """After the last step, copy the parameters from a process that ran all steps."""
        parallel = self.parallel
        rank = torch.distributed.get_rank(parallel.process_group)
        candidate = torch.tensor([rank if is_last_joiner else -1])
        torch.distributed.all_reduce(candidate, torch.distributed.ReduceOp.MAX, group=parallel.process_group)
        parallel._broadcast(parallel._synchronized, int(candidate))


def _find_used(output: Any) -> set[Tensor]:
    """Return the leaf tensors in the autograd graph of `output`, a tensor or nested containers of tensors."""
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
