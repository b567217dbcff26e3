"""`ParameterGroup`: parameters of a module that are gathered in one collective, and their gradients reduced in one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import flambeau as torch
from flambeau import Tensor
from flambeau.autograd import Function

from ....nn import Module, Parameter
from ... import collectives
from ...device_mesh import DeviceMesh
from ...group import ProcessGroup
from ...reduction import ReduceOp
from ...tensor import DTensor, Partial, Placement, Replicate, Shard
from ...tensor._dtensor_spec import DTensorSpec, TensorMeta, local_shape
from ...tensor._redistribute import gradient_placements, redistribute_local_tensor
from ...tensor.placement_types import _StridedShard, padded
from .policies import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy

__all__ = ["ParameterGroup"]


class ParameterLocation(NamedTuple):
    """The (module, name) pairs under which a parameter is registered; several if modules share the parameter."""

    owners: tuple[tuple[Module, str], ...]
    dim: int  # the sharded dimension
    inner: DTensorSpec | None  # layout on the mesh of tensor parallelism, or None

    def get(self) -> Any:
        """Return the current parameter."""
        module, name = self.owners[0]
        return module._parameters[name]

    def put(self, value: Any) -> None:
        """Register the parameter in all its modules."""
        for module, name in self.owners:
            module._parameters[name] = value


class _Gather(Function):
    """Gather full parameters from shards in the forward pass; reduce-scatter their gradients in the backward pass.

    The backward pass starts the reductions asynchronously. The shards receive their gradients at the end of the entire
    backward pass.
    """

    @staticmethod
    def forward(ctx: Any, group: ParameterGroup, *parts: Any) -> Any:
        ctx.group, ctx.needed = group, [part.requires_grad for part in parts]
        ctx.set_materialize_grads(False)
        full_parameters = group.gather(parts)
        ctx.mark_non_differentiable(
            *(whole for whole, part in zip(full_parameters, parts, strict=True) if not part.requires_grad)
        )
        return tuple(full_parameters)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        with torch.no_grad():
            ctx.group.reduce(gradients)
        return (None,) * (1 + len(gradients))


class ParameterGroup:
    """Parameters of one module that `fully_shard` handles together, without those of submodules sharded separately.

    Args:
        locations: locations of the parameters.
        shard_mesh, replicate_mesh: meshes to shard over and to replicate over.
        policy, offload: see `fully_shard`.
        reshard_after_forward: whether full parameters are freed between forward and backward pass; None: only if this is
            not the outermost module.
        reshard_group: smaller group over which parameters are sharded between forward and backward pass; None: all processes.
    """

    def __init__(
        self,
        locations: Sequence[ParameterLocation],
        shard_mesh: DeviceMesh,
        replicate_mesh: DeviceMesh | None,
        policy: MixedPrecisionPolicy,
        offload: OffloadPolicy,
        reshard_after_forward: bool | None,
        reshard_group: ProcessGroup | None = None,
    ) -> None:
        self.locations, self.shard_mesh, self.replicate_mesh = list(locations), shard_mesh, replicate_mesh
        self.policy, self.offload, self.reshard_after_forward = policy, offload, reshard_after_forward
        self.reshard_group = reshard_group
        self.outermost: bool | None = None  # set in the first forward pass
        self.before: ParameterGroup | None = None  # previous group in the forward pass, hence next in the backward pass
        self.forward_prefetch: list[ParameterGroup] = []  # groups to gather during this group's forward pass
        self.backward_prefetch: list[ParameterGroup] | None = None  # groups to gather ahead in the backward pass
        self._started: StartedGather | None = None
        self.parts: list[Any] | None = None  # the shards, while modules have full parameters
        self.full_parameters: list[Any] | None = None
        self.kept = False  # whether `FSDPModule.unshard` was called, so forward does not free parameters
        self.syncs = self.all_reduces = True  # whether to reduce gradients over processes, and over replicas
        self.unsynced: dict[int, Tensor] = {}  # full gradients not reduced yet
        self.unreduced: dict[int, Tensor] = {}  # gradient shards not reduced over replicas yet
        self.divide_factor: float | None = None
        self.all_reduce_hook: Callable[[Tensor], None] | None = None

    @property
    def reshards_after_forward(self) -> bool:
        """Whether full parameters are freed between the forward and the backward pass."""
        return not self.outermost if self.reshard_after_forward is None else self.reshard_after_forward

    def prefetch_for_backward(self) -> None:
        """Start gathering the parameters that the backward pass needs next."""
        default = [] if self.before is None else [self.before]
        for group in default if self.backward_prefetch is None else self.backward_prefetch:
            if group.reshards_after_forward and group.reshard_group is None:
                group.prefetch()

    # --- full parameters ---

    def unshard(self) -> None:
        """Replace the modules' shards by full parameters, from which gradients flow back to the shards."""
        if self.parts is not None or not self.locations:
            return
        self.parts = [location.get() for location in self.locations]
        self.full_parameters = list(_Gather.apply(self, *self.parts))
        for location, whole in zip(self.locations, self.full_parameters, strict=True):
            whole._is_param = True  # makes `isinstance(whole, Parameter)` true for a non-leaf tensor
            location.put(whole)

    def reshard(self) -> None:
        """Replace the full parameters by the shards."""
        self.kept = False
        if self.parts is None:
            return
        for location, part in zip(self.locations, self.parts, strict=True):
            location.put(part)
        self.parts = self.full_parameters = None

    # --- communication ---

    def _local(self, part: Any) -> Tensor:
        local = part._local_tensor if isinstance(part, DTensor) else part
        if isinstance(self.offload, CPUOffloadPolicy):
            local = local.to(self.shard_mesh.device_type)
        dtype = self.policy.param_dtype
        return local.to(dtype) if dtype is not None and local.is_floating_point() else local

    def _length(self, part: Any, location: ParameterLocation) -> int:
        """Return the full parameter's size in the sharded dimension."""
        whole = location.inner.shape if location.inner is not None else part.shape
        if location.inner is not None:
            whole = local_shape(whole, location.inner.mesh, location.inner.placements)
        return int(whole[location.dim])

    def _rows(self, tensor: Tensor, location: ParameterLocation, length: int) -> Tensor:
        """Move the sharded dimension to the front and pad it to `length`, so that all processes have equal shapes."""
        return padded(tensor.movedim(location.dim, 0), 0, length).contiguous()

    def gather(self, parts: Sequence[Any]) -> list[Any]:
        """Return the full parameters, by one all-gather per dtype or those that `prefetch` has started."""
        started, self._started = self._started, None
        if started is not None and started.of == _state_of(parts):
            return self._finish(started, parts)
        return self._finish(self._start(parts), parts)

    def prefetch(self) -> None:
        """Start gathering the full parameters, for the next `gather`."""
        if self._started is None and self.parts is None and self.locations:
            with torch.no_grad():
                self._started = self._start([location.get() for location in self.locations], async_op=True)

    def _start(self, parts: Sequence[Any], async_op: bool = False) -> StartedGather:
        count, locals_ = self.shard_mesh.size(), [self._local(part) for part in parts]
        lengths = [self._length(part, location) for part, location in zip(parts, self.locations, strict=True)]
        rows = [
            self._rows(local, location, -(-length // count))
            for local, location, length in zip(locals_, self.locations, lengths, strict=True)
        ]
        return StartedGather(_state_of(parts), _exchanges(rows, self.shard_mesh.get_group(), count, async_op))

    def _finish(self, started: StartedGather, parts: Sequence[Any]) -> list[Any]:
        lengths = [self._length(part, location) for part, location in zip(parts, self.locations, strict=True)]
        return self._full_parameters(started.exchanges, lengths)

    def _full_parameters(self, exchanges: Sequence[GatherExchange], lengths: Sequence[int]) -> list[Any]:
        full_parameters: list[Any] = [None] * len(lengths)
        for exchange in exchanges:
            for index, rows in exchange.wait():
                location = self.locations[index]
                tensor = rows[: lengths[index]].movedim(0, location.dim).contiguous()
                full_parameters[index] = tensor if location.inner is None else _on_mesh(tensor, location.inner)
        return full_parameters

    def keep_shards(self, full_parameters: Sequence[Any]) -> Callable[[], list[Any]]:
        """Keep this process's shards of `full_parameters`, sharded over `reshard_group`; return a function that gathers them."""
        assert self.reshard_group is not None
        count, rank = self.reshard_group.size(), self.reshard_group.rank()
        locals_ = [whole._local_tensor if isinstance(whole, DTensor) else whole for whole in full_parameters]
        lengths = [local.size(location.dim) for local, location in zip(locals_, self.locations, strict=True)]
        rows = [
            self._rows(local, location, -(-length // count) * count).chunk(count)[rank].clone()
            for local, location, length in zip(locals_, self.locations, lengths, strict=True)
        ]
        return lambda: self._full_parameters(_exchanges(rows, self.reshard_group, count), lengths)

    def reduce(self, gradients: Sequence[Any]) -> None:
        """Start reducing the gradients of the full parameters; the shards get theirs at the end of the backward pass."""
        self.full_parameters = None
        locals_: dict[int, Tensor] = {}
        for index, gradient in enumerate(gradients):
            if gradient is None and index not in self.unsynced:
                continue
            local = self.unsynced.pop(index, None)
            if gradient is not None:
                own = self._local_gradient(gradient, self.locations[index])
                local = own if local is None else local + own
            assert local is not None
            locals_[index] = local
        parts = self.parts or [location.get() for location in self.locations]
        if self.kept:
            self.reshard()
        if not self.syncs:
            self.unsynced.update(locals_)
            return
        sums = self._start_sums({index: self._as_sent(local) for index, local in locals_.items()})
        torch.autograd.Variable._execution_engine.queue_callback(lambda: self._accumulate_gradients(sums, parts))

    @torch.no_grad()
    def _accumulate_gradients(self, sums: Sequence[GradientSum], parts: Sequence[Any]) -> None:
        """Wait for the reductions, then add the gradients to those of the shards and call hooks, as a backward pass does."""
        reduced = {}
        for gradient_sum in sums:
            for index, rows in gradient_sum.wait():
                reduced[index] = rows.movedim(0, self.locations[index].dim).contiguous()
        found = {}
        for index, local in self._over_replicas(reduced).items():
            part = parts[index]
            gradient = local.to(part._local_tensor.device, part.dtype)
            found[index] = DTensor(gradient, part._spec, requires_grad=False)
        if found:
            torch.autograd.backward([parts[index] for index in found], list(found.values()))

    def _local_gradient(self, gradient: Any, location: ParameterLocation) -> Tensor:
        if location.inner is None or not isinstance(gradient, DTensor):
            return gradient  # type: ignore[no-any-return]
        target = gradient._spec.with_placements(gradient_placements(location.inner.placements))
        return redistribute_local_tensor(gradient._local_tensor, gradient._spec, target)

    def _as_sent(self, gradient: Tensor) -> Tensor:
        dtype = self.policy.reduce_dtype
        return gradient if dtype is None else gradient.to(dtype)

    def _start_sums(self, gradients: dict[int, Tensor]) -> list[GradientSum]:
        """Start summing gradients over the processes: one reduce-scatter per dtype."""
        count, rank, sums = self.shard_mesh.size(), self.shard_mesh.get_local_rank(), []
        divisor = self.divide_factor or count * (1 if self.replicate_mesh is None else self.replicate_mesh.size())
        for indices in _by_dtype(gradients).values():
            rows, sizes = [], []
            for index in indices:
                length = gradients[index].size(self.locations[index].dim)
                rows.append(self._rows(gradients[index], self.locations[index], -(-length // count) * count))
                sizes.append(Shard.local_shard_size_and_offset(length, count, rank)[0])
            sent = torch.cat([row.reshape(count, -1) for row in rows], 1)
            own = sent.new_empty(sent.size(1))
            group = self.shard_mesh.get_group()
            work = collectives.reduce_scatter_tensor(own, sent.reshape(-1), ReduceOp.SUM, group, async_op=True)
            shapes = [(row.size(0) // count, *row.shape[1:]) for row in rows]
            sums.append(GradientSum(indices, shapes, sizes, divisor, own, work))
        return sums

    def _over_replicas(self, reduced: dict[int, Tensor]) -> dict[int, Tensor]:
        if self.replicate_mesh is None:
            return reduced
        for index, waiting in list(self.unreduced.items()):
            reduced[index] = reduced[index] + waiting if index in reduced else waiting
        self.unreduced.clear()
        if not self.all_reduces:
            self.unreduced.update(reduced)
            return {}
        for tensor in reduced.values():
            collectives.all_reduce(tensor, group=self.replicate_mesh.get_group())
            if self.all_reduce_hook is not None:
                self.all_reduce_hook(tensor)
        return reduced


class GatherExchange(NamedTuple):
    """A started all-gather of several parameters. Their sharded dimension is moved to the front, so shards are rows."""

    indices: list[int]  # indices of the parameters in the group
    shapes: list[Any]  # shape of one process's rows, for each parameter
    gathered: Tensor
    work: Any

    def wait(self) -> Iterator[tuple[int, Tensor]]:
        """Wait, and yield the index and the gathered rows of each parameter."""
        if self.work is not None:
            self.work.wait()
        columns = self.gathered.split([math.prod(shape) for shape in self.shapes], 1)
        for index, shape, column in zip(self.indices, self.shapes, columns, strict=True):
            yield index, column.reshape(-1, *shape[1:])


class GradientSum(NamedTuple):
    """A started reduce-scatter of several gradients. Their sharded dimension is moved to the front, so shards are rows."""

    indices: list[int]  # indices of the parameters in the group
    shapes: list[Any]  # shape of one process's rows, for each parameter
    sizes: list[int]  # number of rows without padding, for each parameter
    divisor: float
    own: Tensor
    work: Any

    def wait(self) -> Iterator[tuple[int, Tensor]]:
        """Wait, and yield the index and this process's rows of each parameter."""
        self.work.wait()
        pieces = self.own.div_(self.divisor).split([math.prod(shape) for shape in self.shapes])
        for index, shape, size, piece in zip(self.indices, self.shapes, self.sizes, pieces, strict=True):
            yield index, piece.reshape(shape)[:size]


class StartedGather(NamedTuple):
    """All-gathers in progress. `of` contains the version counters of the parameters: if an optimizer has changed these,
    they are gathered again.
    """

    of: Any
    exchanges: list[GatherExchange]


def _state_of(parts: Sequence[Any]) -> Any:
    locals_ = [part._local_tensor if isinstance(part, DTensor) else part for part in parts]
    return [(local.data_ptr(), part._version, local._version) for part, local in zip(parts, locals_, strict=True)]


def _exchanges(rows: Sequence[Tensor], group: Any, count: int, async_op: bool = False) -> list[GatherExchange]:
    """Gather rows from all processes of a group: one all-gather per dtype."""
    exchanges = []
    for indices in _by_dtype(rows).values():
        row = torch.cat([rows[index].reshape(-1) for index in indices])
        gathered = row.new_empty((count, row.numel()))
        work = collectives.all_gather_into_tensor(gathered, row, group, async_op)
        exchanges.append(GatherExchange(indices, [rows[index].shape for index in indices], gathered, work))
    return exchanges


def _by_dtype(tensors: Any) -> dict[Any, list[int]]:
    """Group the indices of tensors by dtype."""
    found: dict[Any, list[int]] = {}
    for index, tensor in tensors.items() if isinstance(tensors, dict) else enumerate(tensors):
        found.setdefault(tensor.dtype, []).append(index)
    return found


def _on_mesh(tensor: Tensor, spec: DTensorSpec) -> Any:
    meta = TensorMeta(spec.shape, spec.stride, tensor.dtype)
    return DTensor(tensor, DTensorSpec(spec.mesh, spec.placements, meta), requires_grad=False)


def shard_parameter(
    parameter: Parameter,
    owners: Sequence[tuple[Module, str]],
    shard_mesh: DeviceMesh,
    replicate_mesh: DeviceMesh | None,
    dim: int,
) -> ParameterLocation:
    """Shard a parameter, set the shard on its modules, and return its location."""
    data = parameter.detach()
    inner = data._spec if isinstance(data, DTensor) else None
    if inner is not None and any(isinstance(placement, Partial) for placement in inner.placements):
        raise ValueError(f"fully_shard does not support parameters with Partial placements: {inner}")
    local = data._local_tensor if isinstance(data, DTensor) else data
    size, start = Shard.local_shard_size_and_offset(local.size(dim), shard_mesh.size(), shard_mesh.get_local_rank())
    part = local.narrow(dim, start or 0, size).clone(memory_format=torch.contiguous_format)
    mesh, placements = _layout(inner, shard_mesh, replicate_mesh, dim)
    spec = DTensorSpec(mesh, placements, TensorMeta(data.shape, tuple(data.stride()), data.dtype))
    sharded = Parameter(DTensor(part, spec, requires_grad=False), parameter.requires_grad)
    for name, value in vars(parameter).items():
        if name not in ("_local_tensor", "_spec", "_is_param"):
            setattr(sharded, name, value)
    location = ParameterLocation(tuple(owners), dim, inner)
    location.put(sharded)
    return location


def _layout(
    inner: DTensorSpec | None, shard_mesh: DeviceMesh, replicate_mesh: DeviceMesh | None, dim: int
) -> tuple[DeviceMesh, tuple[Placement, ...]]:
    """Return the combined mesh and placements of a sharded parameter, including those of tensor parallelism."""
    meshes = [mesh for mesh in (replicate_mesh, shard_mesh, inner.mesh if inner else None) if mesh is not None]
    within = () if inner is None else inner.placements
    factor = (
        1 if inner is None else math.prod(inner.mesh.size(i) for i, placement in enumerate(within) if placement.is_shard(dim))
    )
    outer: tuple[Placement, ...] = (Shard(dim) if factor == 1 else _StridedShard(dim, factor),)
    if replicate_mesh is not None:
        outer = (Replicate(), *outer)
    if len(meshes) == 1:
        return shard_mesh, outer
    root = shard_mesh._get_root_mesh()
    if any(mesh.mesh_dim_names is None or mesh._get_root_mesh() != root for mesh in meshes):
        raise ValueError("fully_shard: sharding and tensor parallelism must use slices of one mesh with dimension names")
    return root[tuple(name for mesh in meshes for name in mesh.mesh_dim_names or ())], (*outer, *within)
