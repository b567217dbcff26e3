"""`DTensor`: a tensor distributed over a mesh of processes, with the same semantics as a tensor in one process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import flambeau as torch
from flambeau import Tensor
from flambeau.autograd import Function

from ...nn import Module, Parameter
from .. import collectives
from ..device_mesh import DeviceMesh, current_mesh
from . import _dispatch
from ._dtensor_spec import DTensorSpec, TensorMeta, contiguous_strides, global_shape, split_order
from ._redistribute import gradient_placements, redistribute_local_tensor
from .placement_types import Partial, Placement, Replicate, Shard

__all__ = ["DTensor", "distribute_module", "distribute_tensor", "normalized"]


def normalized(placements: Sequence[Placement] | None, mesh: DeviceMesh, ndim: int) -> tuple[Placement, ...]:
    """Return placements, one for each mesh dimension, with nonnegative tensor dimensions.

    Raises:
        ValueError: the number of placements is not the number of mesh dimensions, or `Partial` reductions differ.
    """
    if placements is None:
        placements = [Replicate()] * mesh.ndim
    if len(placements) != mesh.ndim:
        raise ValueError(
            "`placements` must have the same length as `device_mesh.ndim`! "
            f"Found placements length: {len(placements)}, and device_mesh.ndim: {mesh.ndim}."
        )
    if len({str(placement) for placement in placements if isinstance(placement, Partial)}) > 1:
        raise ValueError(f"Mixed Partial reduce types are not supported: {tuple(placements)}")
    return tuple(
        Shard(placement.dim % max(1, ndim)) if type(placement) is Shard and placement.dim < 0 else placement
        for placement in placements
    )


class _ToLocal(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Any, placements: Any) -> Tensor:
        ctx.spec, ctx.placements = tensor._spec, placements
        return tensor._local_tensor.view_as(tensor._local_tensor)  # type: ignore[no-any-return]

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        placements = ctx.placements or gradient_placements(ctx.spec.placements)
        return DTensor(gradient, ctx.spec.with_placements(placements), requires_grad=gradient.requires_grad), None


class _FromLocal(Function):
    @staticmethod
    def forward(ctx: Any, local: Tensor, spec: DTensorSpec, gradient: Any) -> Any:
        ctx.spec = spec.with_placements(gradient or gradient_placements(spec.placements))
        return DTensor(local.view_as(local), spec, requires_grad=False)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return redistribute_local_tensor(gradient._local_tensor, gradient._spec, ctx.spec), None, None


class _Redistribute(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Any, placements: tuple[Placement, ...], dtypes: tuple[Any, Any]) -> Any:
        forward_dtype, ctx.backward_dtype = dtypes
        ctx.spec = tensor._spec
        return _placed(tensor, placements, forward_dtype)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        dtype = ctx.spec.tensor_meta.dtype
        if ctx.backward_dtype is not None:
            gradient = gradient.to(ctx.backward_dtype)
        gradient = gradient.redistribute(placements=gradient_placements(ctx.spec.placements))
        return gradient.to(dtype), None, None


def _placed(tensor: Any, placements: tuple[Placement, ...], dtype: Any = None) -> Any:
    spec, local = tensor._spec, tensor._local_tensor
    if dtype is not None and dtype is not spec.tensor_meta.dtype:
        local = local.to(dtype)
        spec = DTensorSpec(spec.mesh, spec.placements, TensorMeta(spec.shape, spec.stride, dtype))
    target = spec.with_placements(placements)
    local = redistribute_local_tensor(local, spec, target) if target != spec else local.view_as(local)
    return DTensor(local, target, requires_grad=False)


class DTensor(Tensor):
    """A tensor distributed over a mesh: along each mesh dimension it is sharded, replicated, or a partial reduction
    (see `Placement`).

    Operations have the same result as in one process. Each process computes its part, and collectives exchange data
    where necessary. Create a DTensor by `distribute_tensor`, `DTensor.from_local`, or factories such as
    `torch.distributed.tensor.zeros`.
    """

    _local_tensor: Tensor
    _spec: DTensorSpec

    @staticmethod
    def __new__(cls, local_tensor: Tensor, spec: DTensorSpec, *, requires_grad: bool) -> Any:
        tensor = Tensor._make_wrapper_subclass(
            cls,
            spec.shape,
            strides=spec.stride,
            dtype=spec.tensor_meta.dtype,
            device=local_tensor.device,
            requires_grad=requires_grad,
        )
        tensor._local_tensor, tensor._spec = local_tensor, spec
        return tensor

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    __torch_function__: Any = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        return _dispatch.dispatch(DTensor, func, args, kwargs or {})

    def __repr__(self, **options: Any) -> str:  # type: ignore[override]
        return f"DTensor(local_tensor={self._local_tensor}, device_mesh={self._spec.mesh}, placements={self._spec.placements})"

    def __tensor_flatten__(self) -> tuple[list[str], Any]:
        return ["_local_tensor"], (self._spec, self.requires_grad)

    @staticmethod
    def __tensor_unflatten__(inner: dict[str, Tensor], meta: Any, size: Any, stride: Any) -> DTensor:
        spec, requires_grad = meta
        described = TensorMeta(torch.Size(size), tuple(stride), spec.tensor_meta.dtype)
        made: DTensor = DTensor(
            inner["_local_tensor"], DTensorSpec(spec.mesh, spec.placements, described), requires_grad=requires_grad
        )
        return made

    @property
    def device_mesh(self) -> DeviceMesh:
        """Return the mesh of the tensor."""
        return self._spec.mesh

    @property
    def placements(self) -> tuple[Placement, ...]:
        """Return the placement on each mesh dimension."""
        return self._spec.placements

    @staticmethod
    def from_local(
        local_tensor: Tensor,
        device_mesh: DeviceMesh | None = None,
        placements: Sequence[Placement] | None = None,
        *,
        run_check: bool = False,
        shape: Sequence[int] | None = None,
        stride: Sequence[int] | None = None,
        grad_placements: Sequence[Placement] | None = None,
    ) -> DTensor:
        """Return a DTensor made of the local tensors of all processes.

        Args:
            local_tensor: this process's part; gradients flow back to it.
            device_mesh: the mesh; default: the mesh of the enclosing `with mesh:`.
            placements: placement on each mesh dimension; default: replicated.
            run_check: whether to overwrite replicated tensors by those of the first process of each group.
            shape, stride: shape and strides of the global tensor, needed for uneven shards; give both or neither.
            grad_placements: placements of the local tensor's gradient; default: as `placements`, but replicated instead
                of `Partial`.

        Raises:
            RuntimeError: only one of `shape` and `stride` is given.
        """
        mesh = device_mesh or current_mesh()
        placed = normalized(placements, mesh, local_tensor.ndim)
        if (shape is None) != (stride is None):
            raise RuntimeError(f"Found shape:{shape}, stride:{stride}.", "Please pass both shape and stride at the same time.")
        whole = torch.Size(shape) if shape is not None else global_shape(local_tensor.shape, mesh, placed)
        strides = tuple(stride) if stride is not None else contiguous_strides(whole, local_tensor.stride())
        if run_check:
            for dim, placement in enumerate(placed):
                if isinstance(placement, Replicate):
                    local_tensor = local_tensor.contiguous()
                    collectives.broadcast(local_tensor.detach(), group=mesh.get_group(dim), group_src=0)
        spec = DTensorSpec(mesh, placed, TensorMeta(whole, strides, local_tensor.dtype))
        gradient = None if grad_placements is None else normalized(grad_placements, mesh, local_tensor.ndim)
        made: DTensor = _FromLocal.apply(local_tensor, spec, gradient)
        return made

    def to_local(self, *, grad_placements: Sequence[Placement] | None = None) -> Tensor:
        """Return this process's local tensor. Its gradient flows back to the DTensor.

        Args:
            grad_placements: placements of that gradient; default: those of the tensor.
        """
        if not torch.is_grad_enabled():
            return self._local_tensor
        chosen = None if grad_placements is None else normalized(grad_placements, self.device_mesh, self.ndim)
        local: Tensor = _ToLocal.apply(self, chosen)
        return local

    def redistribute(
        self,
        device_mesh: DeviceMesh | None = None,
        placements: Sequence[Placement] | None = None,
        *,
        async_op: bool = False,
        forward_dtype: Any = None,
        backward_dtype: Any = None,
    ) -> DTensor:
        """Return the same tensor with other placements. The backward pass redistributes the gradient back.

        Args:
            device_mesh: must be the tensor's mesh, the default.
            placements: the new placements.
            async_op: accepted for compatibility: communication is complete on return.
            forward_dtype, backward_dtype: dtypes of the communication in forward and backward passes.

        Raises:
            RuntimeError: `placements` is missing, or contains a `Partial` that the tensor does not have.
        """
        mesh = device_mesh or self.device_mesh
        if placements is None:
            raise RuntimeError("placements is needed for redistribute!")
        if mesh != self.device_mesh:
            raise NotImplementedError("Cross device mesh comm not supported yet!")
        target = normalized(placements, mesh, self.ndim)
        for source, goal in zip(self.placements, target, strict=True):
            if isinstance(goal, Partial) and source != goal:
                raise RuntimeError(
                    f"Can not redistribute from {source} to {goal}, redistributing to Partial is for internal use only!"
                )
        if not (torch.is_grad_enabled() and self.requires_grad):
            moved: DTensor = _placed(self, target, forward_dtype)
        else:
            moved = _Redistribute.apply(self, target, (forward_dtype, backward_dtype))
        return moved

    def full_tensor(self, *, grad_placements: Sequence[Placement] | None = None) -> Tensor:
        """Return the global tensor in every process. All processes must call this.

        Args:
            grad_placements: placements of the gradient of the result; default: replicated.
        """
        whole = self.redistribute(placements=[Replicate()] * self.device_mesh.ndim)
        return whole.to_local(grad_placements=grad_placements)

    # --- Python values of the global tensor: collective calls ---

    def _known(self) -> Tensor:
        with torch.no_grad():
            return self.full_tensor()

    def item(self) -> Any:
        """Return the element of a one-element tensor. All processes must call this."""
        return self._known().item()

    def tolist(self) -> Any:
        """Return the elements of the global tensor as nested lists. All processes must call this."""
        return self._known().tolist()

    def __bool__(self) -> bool:
        return bool(self._known())

    def __float__(self) -> float:
        return float(self._known())

    def __int__(self) -> int:
        return int(self._known())

    def __format__(self, spec: str) -> str:
        return format(self._known(), spec) if self.ndim == 0 and spec else repr(self)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _rebuilt, (self._local_tensor, self._spec, self.requires_grad, isinstance(self, Parameter))


def _rebuilt(local: Tensor, spec: DTensorSpec, requires_grad: bool, is_parameter: bool) -> Any:
    made = DTensor(local, spec, requires_grad=requires_grad)
    return Parameter(made, requires_grad) if is_parameter else made


# --- distributing ----------------------------------------------------------------------------------------------------


def distribute_tensor(
    tensor: Tensor,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> DTensor:
    """Distribute a tensor over a mesh.

    Args:
        tensor: the global tensor, a leaf. The values in process `src_data_rank` are used.
        device_mesh: the mesh; default: the mesh of the enclosing `with mesh:`.
        placements: placement on each mesh dimension; default: replicated.
        src_data_rank: rank, in each group along a mesh dimension, of the process that has the data. None if all
            processes have the same data, which avoids communication.

    Raises:
        RuntimeError: the tensor is not a leaf.
        ValueError: the number of placements differs from that of mesh dimensions, or the tensor is a DTensor with other
            placements.
    """
    mesh = device_mesh or current_mesh()
    if not tensor.is_leaf:
        raise RuntimeError("`distribute_tensor` should be used to distribute leaf tensors! but found non-leaf tensor!")
    if tensor.device.type not in (mesh.device_type, "meta"):
        tensor = tensor.to(mesh.device_type)
    placed = normalized(placements, mesh, tensor.ndim)
    if isinstance(tensor, DTensor):
        if tensor.device_mesh != mesh:
            raise ValueError(
                f"Cannot distribute a DTensor with device mesh {tensor.device_mesh} to a different device mesh {mesh}."
            )
        if tensor.placements != placed:
            raise ValueError(
                f"Cannot distribute a DTensor with placements {tensor.placements} to a different placements {placements}. do you "
                "want to call `redistribute` instead?"
            )
        return tensor
    whole = TensorMeta(tensor.shape, tensor.stride(), tensor.dtype)
    local = tensor.detach()
    for dim in split_order(placed):
        local = _part(local, placed[dim], mesh, dim, src_data_rank)
    made: DTensor = DTensor(local.requires_grad_(False), DTensorSpec(mesh, placed, whole), requires_grad=tensor.requires_grad)
    return made


def _part(tensor: Tensor, placement: Placement, mesh: DeviceMesh, mesh_dim: int, source: int | None) -> Tensor:
    """Return this process's part along one mesh dimension, received from the process that has the data."""
    group, rank, count = mesh.get_group(mesh_dim), mesh.get_local_rank(mesh_dim), mesh.size(mesh_dim)
    known = source is None or tensor.is_meta
    if isinstance(placement, Shard):
        size, start = placement.local_shard_size_and_offset(tensor.size(placement.dim), count, rank)
        if known:
            return tensor.narrow(placement.dim, start or 0, size).clone(memory_format=torch.contiguous_format)
        parts, _ = placement._split_tensor(tensor, count)
        own = torch.empty_like(parts[rank])
        if own.numel():
            collectives.scatter(own, parts if rank == source else None, group=group, group_src=source)
        return own.narrow(placement.dim, 0, size).contiguous()
    whole = tensor.clone(memory_format=torch.contiguous_format)
    if not known:
        collectives.broadcast(whole, group=group, group_src=source)
    return placement.partial_of(whole, rank, count) if isinstance(placement, Partial) else whole


def distribute_module(
    module: Module,
    device_mesh: DeviceMesh | None = None,
    partition_fn: Callable[[str, Module, DeviceMesh], None] | None = None,
    input_fn: Callable[[Module, Any, DeviceMesh], Any] | None = None,
    output_fn: Callable[[Module, Any, DeviceMesh], Any] | None = None,
) -> Module:
    """Distribute the parameters and buffers of a module over a mesh.

    Args:
        module: the module to modify in place.
        device_mesh: the mesh; default: the mesh of the enclosing `with mesh:`.
        partition_fn: called with the name of each submodule, the submodule and the mesh. It may replace parameters by
            results of `distribute_tensor`; others are replicated.
        input_fn: called with the module, its inputs and the mesh before each forward pass. A result other than None
            replaces the inputs.
        output_fn: called with the module, its outputs and the mesh after each forward pass. A result other than None
            replaces the outputs.
    """
    mesh = device_mesh or current_mesh()
    if getattr(module, "_distribute_module_applied", False):
        raise RuntimeError(
            "distribute_module should only be called once on a module, but it has already been called on this module!"
        )
    for name, submodule in module.named_modules():
        if partition_fn is not None:
            partition_fn(name, submodule, mesh)
        _replicate_members(submodule, mesh)
    if input_fn is not None:
        before = input_fn
        module.register_forward_pre_hook(lambda module, inputs: before(module, inputs, mesh))
    if output_fn is not None:
        after = output_fn
        module.register_forward_hook(lambda module, inputs, outputs: after(module, outputs, mesh))
    module._distribute_module_applied = True
    return module


def _replicate_members(module: Module, mesh: DeviceMesh) -> None:
    for key, parameter in module._parameters.items():
        if parameter is not None and not isinstance(parameter, DTensor):
            placed = distribute_tensor(parameter.data, mesh)
            module.register_parameter(key, Parameter(placed, parameter.requires_grad))
    for key, buffer in module._buffers.items():
        if buffer is not None and not isinstance(buffer, DTensor):
            module._buffers[key] = distribute_tensor(buffer, mesh)
