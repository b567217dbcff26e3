"""`fully_shard`, and the methods that it adds to modules."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any
from weakref import WeakKeyDictionary

import flambeau as torch
from flambeau import Tensor
from flambeau.utils.pytree import tree_map

from ....nn import Module, Parameter
from ...device_mesh import DeviceMesh, init_device_mesh
from ...group import ProcessGroup
from ...tensor import Shard
from ...world import default_group, get_world_size, new_group
from .group import ParameterGroup, ParameterLocation, shard_parameter
from .policies import CPUOffloadPolicy, DataParallelMeshDims, MixedPrecisionPolicy, OffloadPolicy

__all__ = [
    "CPUOffloadPolicy", "DataParallelMeshDims", "FSDPModule", "MixedPrecisionPolicy", "OffloadPolicy", "UnshardHandle",
    "fully_shard", "register_fsdp_forward_method", "share_comm_ctx",
]  # fmt: skip


class UnshardHandle:
    """The handle that `FSDPModule.unshard` returns with `async_op=True`."""

    def __init__(self, group: ParameterGroup) -> None:
        self._group = group

    def wait(self) -> None:
        """Wait for the gathered parameters and set them on the module. The forward pass also does this."""
        self._group.unshard()


class _Running(threading.local):
    """The parameter groups whose forward pass is running in this thread, outermost first (`groups`), and the group whose
    forward pass ended last (`ended`).
    """

    def __init__(self) -> None:
        self.groups: list[ParameterGroup] = []
        self.ended: ParameterGroup | None = None


_running = _Running()


class _State:
    """The hooks around the forward pass of a sharded module."""

    def __init__(self, group: ParameterGroup) -> None:
        self.group = group
        self.contexts: list[ExitStack] = []

    def enter(self, inputs: Any, named: Any) -> tuple[Any, Any]:
        group, policy = self.group, self.group.policy
        if group.outermost is None:
            group.outermost = not _running.groups
        if not _running.groups:
            _running.ended = None
        _running.groups.append(group)
        if policy.param_dtype is not None and policy.cast_forward_inputs:
            inputs, named = tree_map(_casting(policy.param_dtype), (inputs, named))
        group.unshard()
        for ahead in group.forward_prefetch:
            ahead.prefetch()
        context = ExitStack()
        if group.reshards_after_forward and torch.is_grad_enabled():
            context.enter_context(torch.autograd.graph.saved_tensors_hooks(*_saved_tensors_hooks(group)))
        self.contexts.append(context)
        return inputs, named

    def leave(self, outputs: Any) -> Any:
        if self.contexts:
            self.contexts.pop().close()
            outermost = _running.groups[0].outermost  # False if checkpointing recomputes a submodule's forward
            _running.groups.pop()
            if outermost and _running.ended is not self.group:
                self.group.before, _running.ended = _running.ended, self.group
        if not self.contexts and not self.group.kept:
            self.group.reshard()
        dtype = self.group.policy.output_dtype
        return outputs if dtype is None else tree_map(_casting(dtype), outputs)


def _casting(dtype: Any) -> Callable[[Any], Any]:
    return lambda value: value.to(dtype) if isinstance(value, Tensor) and value.is_floating_point() else value


def _saved_tensors_hooks(group: ParameterGroup) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """Return saved-tensor hooks that keep full parameters out of the graph: the backward pass gathers them again."""
    full_parameters = group.full_parameters or []
    numbers = {_identity(whole): number for number, whole in enumerate(full_parameters)}
    with torch.no_grad():
        gather_shards = group.keep_shards(full_parameters) if group.reshard_group is not None and full_parameters else None
    again: list[Any] = []

    def pack(tensor: Any) -> Any:
        return numbers.get(_identity(tensor), tensor)

    def unpack(saved: Any) -> Any:
        if not isinstance(saved, int):
            return saved
        if not again:
            with torch.no_grad():
                parts = [location.get() for location in group.locations] if group.parts is None else group.parts
                again.extend(group.gather(parts) if gather_shards is None else gather_shards())
            group.prefetch_for_backward()
        return again[saved]

    return pack, unpack


def _identity(tensor: Any) -> tuple[Any, ...]:
    local = getattr(tensor, "_local_tensor", tensor)
    return (local.data_ptr(), tuple(local.shape), tuple(local.stride()), local.dtype)


class FSDPModule:
    """Methods that `fully_shard` adds to a module."""

    def _groups(self, recurse: bool = True) -> Iterator[ParameterGroup]:
        for module in self.modules() if recurse else [self]:  # type: ignore[attr-defined]
            if isinstance(module, FSDPModule):
                yield _state_of(module).group

    def unshard(self, async_op: bool = False) -> UnshardHandle | None:
        """Gather the full parameters of this module, without submodules sharded separately; they stay until `reshard`
        or the backward pass.

        Args:
            async_op: return a handle immediately; the module's forward pass also waits for the parameters.
        """
        group = _state_of(self).group
        group.kept = True
        if async_op:
            group.prefetch()
            return UnshardHandle(group)
        group.unshard()
        return None

    def reshard(self) -> None:
        """Replace the full parameters by this process's shards."""
        _state_of(self).group.reshard()

    def set_requires_gradient_sync(self, requires_gradient_sync: bool, *, recurse: bool = True) -> None:
        """Set whether backward passes reduce gradients over the processes. If not, gradients accumulate until a
        backward pass that does.
        """
        for group in self._groups(recurse):
            group.syncs = requires_gradient_sync

    def set_requires_all_reduce(self, requires_all_reduce: bool, *, recurse: bool = True) -> None:
        """Set whether backward passes reduce gradients over replicas. If not, gradients accumulate until a backward
        pass that does.
        """
        for group in self._groups(recurse):
            group.all_reduces = requires_all_reduce

    def set_reshard_after_forward(self, reshard_after_forward: bool, recurse: bool = True) -> None:
        """Set whether full parameters are freed between the forward and the backward pass."""
        for group in self._groups(recurse):
            group.reshard_after_forward = reshard_after_forward

    def set_reshard_after_backward(self, reshard_after_backward: bool, *, recurse: bool = True) -> None:
        """Accepted for compatibility: full parameters are freed with the graph that uses them."""

    def set_is_last_backward(self, is_last_backward: bool) -> None:
        """Accepted for compatibility: every backward pass completes its reductions."""

    def set_modules_to_forward_prefetch(self, modules: Sequence[Any]) -> None:
        """Start gathering the parameters of these modules before this module's forward pass, to overlap communication
        and computation.
        """
        _state_of(self).group.forward_prefetch = [_state_of(module).group for module in _all_sharded(modules)]

    def set_modules_to_backward_prefetch(self, modules: Sequence[Any]) -> None:
        """Start gathering the parameters of these modules before this module's backward pass.

        The default is the module whose forward pass ended before this one's.
        """
        _state_of(self).group.backward_prefetch = [_state_of(module).group for module in _all_sharded(modules)]

    def set_unshard_in_backward(self, unshard_in_backward: bool) -> None:
        """Accepted for compatibility: the graph determines which parameters are gathered in the backward pass."""

    def set_post_optim_event(self, event: Any) -> None:
        """Accepted for compatibility: collectives are complete when they return."""

    def set_reduce_scatter_divide_factor(self, factor: float) -> None:
        """Set the divisor of reduced gradients; default: the number of processes."""
        _state_of(self).group.divide_factor = factor

    set_gradient_divide_factor = set_reduce_scatter_divide_factor

    def set_force_sum_reduction_for_comms(self, enable: bool) -> None:
        """Accepted for compatibility: gradients are always summed and then divided."""

    def set_all_reduce_hook(self, hook: Callable[[Tensor], None], *, stream: Any = None) -> None:
        """Set a function that is called with each gradient when the replicas' gradients have been summed."""
        _state_of(self).group.all_reduce_hook = hook


def _all_sharded(modules: Sequence[Any]) -> Sequence[Any]:
    for module in modules:
        if not isinstance(module, FSDPModule):
            raise ValueError(f"FSDP prefetching requires FSDP modules, but got {type(module)}")
    return modules


def _state_of(module: Any) -> _State:
    state: _State = module.__dict__["_fsdp_state"]
    return state


def fully_shard(
    module: Any,
    *,
    mesh: DeviceMesh | None = None,
    reshard_after_forward: bool | int | None = None,
    shard_placement_fn: Callable[[Parameter], Any] | None = None,
    mp_policy: MixedPrecisionPolicy = MixedPrecisionPolicy(),  # noqa: B008  # frozen
    offload_policy: OffloadPolicy = OffloadPolicy(),  # noqa: B008  # has no state
    ignored_params: set[Parameter] | None = None,
    dp_mesh_dims: DataParallelMeshDims | None = None,
) -> Any:
    """Shard a module's parameters over processes, each of which trains on separate batches (FSDP2, ZeRO stage 3).

    Apply it first to submodules, for example the blocks of a transformer, and last to the entire model. The full
    parameters of a module are gathered in one collective before its forward pass and freed after it. The backward pass
    sums gradients over the processes and keeps each process's shard. Optimizers work on `DTensor`s, so their states are
    sharded also.

    Args:
        module: the module to modify in place, or a list of modules whose parameters are gathered together.
        mesh: a one-dimensional mesh to shard over, or a two-dimensional mesh whose first dimension replicates the
            shards. Default: all processes.
        reshard_after_forward: whether full parameters are freed between forward and backward pass; the backward pass
            gathers them again. Default: True except for the outermost module. An integer is a number of processes, for
            example those of one host, that keep shards of the parameters between the passes; it must divide the number
            of all processes.
        shard_placement_fn: returns the `Shard` dimension for a parameter; None for dimension 0.
        mp_policy: dtypes of computation and communication.
        offload_policy: where parameters are stored.
        ignored_params: parameters that are not sharded.
        dp_mesh_dims: names of the dimensions of `mesh` to use.

    Returns:
        The module, whose class is now a subclass of `FSDPModule`.

    Raises:
        ValueError: the mesh has more than two dimensions, the module is already sharded, or an integer
            `reshard_after_forward` does not divide the number of processes.
    """
    modules = list(module) if isinstance(module, (list, tuple)) else [module]
    for one in modules:
        if isinstance(one, FSDPModule):
            raise ValueError(f"Expects no module that fully_shard has already been applied to, but got {type(one).__name__}")
    shard_mesh, replicate_mesh = _meshes(mesh, dp_mesh_dims, modules)
    locations = _shard_parameters(modules, shard_mesh, replicate_mesh, shard_placement_fn, ignored_params or set())
    reshard, reshard_group = _reshard_group(reshard_after_forward, shard_mesh)
    group = ParameterGroup(locations, shard_mesh, replicate_mesh, mp_policy, offload_policy, reshard, reshard_group)
    state = _State(group)
    for one in modules:
        cls = type(one)
        one.__class__ = type(f"FSDP{cls.__name__}", (FSDPModule, cls), {"__module__": cls.__module__, "__doc__": cls.__doc__})
        one.__dict__["_fsdp_state"] = state
        one.register_forward_pre_hook(_before_forward, prepend=True, with_kwargs=True)
        one.register_forward_hook(_after_forward, always_call=True)
    return module


def _before_forward(module: Module, inputs: Any, named: Any) -> Any:
    return _state_of(module).enter(inputs, named)


def _after_forward(module: Module, inputs: Any, outputs: Any) -> Any:
    return _state_of(module).leave(outputs)


def _meshes(
    mesh: DeviceMesh | None, dims: DataParallelMeshDims | None, modules: Sequence[Module]
) -> tuple[DeviceMesh, DeviceMesh | None]:
    """Return the meshes to shard over and to replicate over."""
    if mesh is None:
        first = next((p for module in modules for p in module.parameters()), None)
        device_type = "cpu" if first is None or first.is_meta else first.device.type
        return init_device_mesh(device_type, (get_world_size(),)), None
    if dims is not None:
        return mesh[dims.shard], None if dims.replicate is None else mesh[dims.replicate]
    if mesh.ndim not in (1, 2):
        raise ValueError(f"fully_shard expects a 1D or 2D DeviceMesh but got {mesh}")
    if mesh.ndim == 1:
        return mesh, None
    if mesh.mesh_dim_names is None:
        raise AssertionError("Please init the 2D mesh for HSDP with mesh_dim_names specified")
    replicate, shard = mesh.mesh_dim_names
    return mesh[shard], mesh[replicate]


def _reshard_group(reshard: bool | int | None, mesh: DeviceMesh) -> tuple[bool | None, ProcessGroup | None]:
    """Return whether to reshard after the forward pass, and over which group; None instead of a group for the entire mesh."""
    if reshard is None or isinstance(reshard, bool):
        return reshard, None
    size = mesh.size()
    if not isinstance(reshard, int):
        raise ValueError(
            f"reshard_after_forward should be a bool or an int representing the group size to reshard to, not {reshard}"
        )
    if reshard < 1 or size % reshard:
        raise ValueError(f"If passing reshard_after_forward as an int, it should be a factor of {size}, not {reshard}")
    if reshard in (1, size):
        return reshard != 1, None
    ranks = mesh.get_group().ranks
    first = mesh.get_local_rank() // reshard * reshard
    return True, _subgroup(tuple(ranks[first : first + reshard]))


_groups_of_world: WeakKeyDictionary[ProcessGroup, dict[tuple[int, ...], ProcessGroup]] = WeakKeyDictionary()


def _subgroup(ranks: tuple[int, ...]) -> ProcessGroup:
    """Return the process group of these ranks; all modules use the same group."""
    groups = _groups_of_world.setdefault(default_group(), {})
    if ranks not in groups:
        groups[ranks] = new_group(ranks, use_local_synchronization=True)
    return groups[ranks]


def _shard_parameters(
    modules: Sequence[Module],
    shard_mesh: DeviceMesh,
    replicate_mesh: DeviceMesh | None,
    placement_of: Callable[[Parameter], Any] | None,
    ignored: set[Parameter],
) -> list[ParameterLocation]:
    """Shard the parameters of modules, except those of submodules that are already sharded."""
    owners: dict[Any, list[tuple[Module, str]]] = {}
    for module in modules:
        for submodule in _own_modules(module):
            for name, parameter in submodule._parameters.items():
                if parameter is not None and parameter not in ignored:
                    owners.setdefault(parameter, []).append((submodule, name))
    locations = []
    for parameter, several in owners.items():
        placement = placement_of(parameter) if placement_of is not None else None
        dim = placement.dim % parameter.ndim if isinstance(placement, Shard) else 0
        if not parameter.ndim:
            raise ValueError("fully_shard doesn't support scalar parameters. Change it to a 1D tensor with numel equal to 1.")
        locations.append(shard_parameter(parameter, several, shard_mesh, replicate_mesh, dim))
    return locations


def _own_modules(module: Module) -> Iterator[Module]:
    yield module
    for child in module.children():
        if not isinstance(child, FSDPModule):
            yield from _own_modules(child)


def register_fsdp_forward_method(module: Any, method_name: str) -> None:
    """Let a method other than `forward` gather the parameters before it runs and free them afterwards.

    Raises:
        ValueError: the module has no such method.
    """
    if not isinstance(module, FSDPModule):
        return
    if not hasattr(module, method_name):
        raise ValueError(f"{type(module)} does not have a method {method_name}")
    method = getattr(module, method_name)

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        state, outputs = _state_of(module), None
        args, kwargs = state.enter(args, kwargs)
        try:
            outputs = method(*args, **kwargs)
        finally:
            outputs = state.leave(outputs)
        return outputs

    setattr(module, method_name, wrapped)


def share_comm_ctx(modules: Sequence[Any]) -> None:
    """Accepted for compatibility: flambeau has no communication streams."""
    for module in modules:
        if not isinstance(module, FSDPModule):
            raise ValueError(f"Expects list of FSDPModules but got {type(module)}")


fully_shard.state = _state_of  # type: ignore[attr-defined]  # PyTorch has this function as an attribute
