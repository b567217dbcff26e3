"""Dispatch of operations on DTensors: choose placements, redistribute the arguments, compute the local results."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import flambeau as torch
from flambeau import Tensor
from flambeau.utils.pytree import tree_flatten, tree_map, tree_unflatten

from ..device_mesh import DeviceMesh
from . import _view_strategies
from ._dtensor_spec import DTensorSpec, TensorMeta, local_shape, local_shape_and_offset
from ._redistribute import redistribute_local_tensor
from ._strategies import Call, Strategy, rule_of
from .placement_types import Partial, Placement, Replicate, Shard, _StridedShard

__all__ = ["dispatch", "implicit_replication", "registered"]

registered: dict[Any, Callable[..., Any]] = {}  # rules registered by `register_sharding`, keyed by operator
_implicit = ContextVar("implicit_replication", default=False)


class Plan(NamedTuple):
    """Placements of the arguments and results of a call. Plans are cached, since the same calls recur in every step."""

    inputs: list[DTensorSpec]
    outputs: list[DTensorSpec] | None  # None if the results are not tensors


_plans: dict[Any, Plan] = {}
MAX_PLANS = 10_000


@contextmanager
def implicit_replication() -> Any:
    """Return a context in which plain tensors mixed with DTensors are treated as replicated."""
    token = _implicit.set(True)
    try:
        yield
    finally:
        _implicit.reset(token)


def dispatch(cls: type, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Compute an operator of `torch.ops.aten` on DTensors.

    Raises:
        RuntimeError: plain tensors of more than one element are mixed with DTensors, or meshes differ.
    """
    name = func._packet.__name__
    if name in _RANDOM:
        return _draw(func, args, kwargs)
    if name in _SHARDED_DIM and _is_sharded(args[0], args[1]):
        return _SHARDED_DIM[name](args[0], args[1])
    leaves, structure = tree_flatten((args, kwargs))
    places = [index for index, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]
    mesh = next(leaves[index]._spec.mesh for index in places if isinstance(leaves[index], cls))
    for index in places:
        if not isinstance(leaves[index], cls):
            leaves[index] = _replicated(cls, func, leaves[index], mesh)
        elif leaves[index]._spec.mesh != mesh:
            raise NotImplementedError(
                f"{func}: DTensor does not support cross-mesh operation yet! Got meshes: {mesh} {leaves[index]._spec.mesh}"
            )
    tensors = [leaves[index] for index in places]
    in_place = name.endswith("_") and not name.endswith("__")
    described = list(leaves)
    for index in places:
        described[index] = leaves[index]._spec
    plan = _planned(func, name, described, structure, places, in_place)
    for index, tensor, wanted in zip(places, tensors, plan.inputs, strict=True):
        leaves[index] = tensor._local_tensor
        if tensor._spec.placements != wanted.placements:
            leaves[index] = redistribute_local_tensor(tensor._local_tensor, tensor._spec, wanted)
    local_args, local_kwargs = tree_unflatten(leaves, structure)
    result = _compute(func, name, local_args, local_kwargs, plan)
    if in_place:
        return args[0]
    if plan.outputs is None:
        return result
    if isinstance(result, Tensor):
        return cls(result, plan.outputs[0], requires_grad=False)
    specs = iter(plan.outputs)
    return tree_map(lambda leaf: cls(leaf, next(specs), requires_grad=False) if isinstance(leaf, Tensor) else leaf, result)


def _replicated(cls: Any, func: Any, tensor: Tensor, mesh: DeviceMesh) -> Any:
    """Return a replicated DTensor of a plain tensor. RuntimeError if it has several elements and `implicit_replication`
    is off.
    """
    if tensor.numel() == 1 and tensor.ndim == 1:
        warnings.warn(
            "Found a non-scalar tensor with numel=1 and ndim!=0, we are implicitly creating a replicated DTensor for it. "
            "However, please consider changing it to a scalar tensor or explicitly create a DTensor under distributed "
            "environment."
        )
    in_backward = torch._C._current_graph_task_id() != -1
    if not (tensor.numel() == 1 or _implicit.get() or in_backward):
        raise RuntimeError(
            f"{func}: got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to DTensor before calling "
            "distributed operators!"
        )
    meta = TensorMeta(tensor.shape, tensor.stride(), tensor.dtype)
    return cls(tensor.detach(), DTensorSpec(mesh, (Replicate(),) * mesh.ndim, meta), requires_grad=False)


# --- the plan -----------------------------------------------------------------------------------------------------------


def _planned(func: Any, name: str, leaves: list[Any], structure: Any, places: list[int], in_place: bool) -> Plan:
    key = (func, structure, *leaves, *map(type, leaves))
    try:
        plan = _plans.get(key)
    except TypeError:  # an unhashable argument, such as a slice
        return _plan(func, name, leaves, structure, places, in_place)
    if plan is None:
        if len(_plans) >= MAX_PLANS:
            _plans.clear()
        plan = _plans[key] = _plan(func, name, leaves, structure, places, in_place)
    return plan


def _plan(func: Any, name: str, leaves: list[Any], structure: Any, places: list[int], in_place: bool) -> Plan:
    specs: list[DTensorSpec] = [leaves[index] for index in places]
    args, kwargs = tree_unflatten(leaves, structure)
    outputs = _result_metadata(func, leaves, structure, specs[0], in_place)
    if outputs is None:
        return Plan([spec.with_placements([Replicate()] * spec.mesh.ndim) for spec in specs], None)
    mesh = specs[0].mesh
    wanted: list[list[Placement]] = [[] for _ in specs]
    found: list[Placement] = []
    plain = name[:-1] if in_place else name
    for mesh_dim in range(mesh.ndim):
        shapes, strides = [tuple(meta.shape) for meta in outputs], [tuple(meta.stride) for meta in outputs]
        call = Call(plain, specs, args, kwargs, shapes, strides, _part_counter(specs[0], mesh_dim))
        current = [spec.placements[mesh_dim] for spec in specs]
        strategy = _cheapest(_as_strided(_strategies(func, call), current), specs, current, mesh.size(mesh_dim), in_place, call)
        for placements, placement in zip(wanted, strategy.inputs, strict=True):
            placements.append(placement)
        found.append(strategy.output)
    inputs = [spec.with_placements(placements) for spec, placements in zip(specs, wanted, strict=True)]
    return Plan(inputs, [DTensorSpec(mesh, tuple(found), meta) for meta in outputs])


def _result_metadata(func: Any, leaves: list[Any], structure: Any, spec: DTensorSpec, in_place: bool) -> list[TensorMeta] | None:
    """Return shapes, strides and dtypes of the global results, by computing the operation on the device `meta`."""
    if in_place:
        return [spec.tensor_meta]
    described = [_without_elements(leaf) if isinstance(leaf, DTensorSpec) else leaf for leaf in leaves]
    args, kwargs = tree_unflatten(described, structure)
    if "device" in kwargs:
        kwargs["device"] = "meta"
    results = [leaf for leaf in tree_flatten(func(*args, **kwargs))[0] if isinstance(leaf, Tensor)]
    return [TensorMeta(result.shape, result.stride(), result.dtype) for result in results] or None


def _without_elements(spec: DTensorSpec) -> Tensor:
    return torch.empty_strided(spec.shape, spec.stride, dtype=spec.tensor_meta.dtype, device="meta")


def _part_counter(spec: DTensorSpec, mesh_dim: int) -> Callable[[int], int]:
    """Return a function of a tensor dimension. It returns the number of parts that the dimension is split into if mesh
    dimension `mesh_dim` shards it, in addition to the other mesh dimensions.
    """
    sizes = {dim: spec.mesh.size(dim) for dim in range(spec.mesh.ndim)}

    def count(dim: int) -> int:
        others = (size for other, size in sizes.items() if other != mesh_dim and spec.placements[other].is_shard(dim))
        return sizes[mesh_dim] * math.prod(others)

    return count


def _strategies(func: Any, call: Call) -> list[Strategy]:
    replicated = Strategy((Replicate(),) * len(call.tensors), Replicate())
    rule = registered.get(func) or rule_of(call.name)
    return [replicated, *(rule(call) if rule else ())]


def _as_strided(options: list[Strategy], current: Sequence[Placement]) -> list[Strategy]:
    """If a tensor has a strided shard on this mesh dimension, add a copy of each strategy with strided shards."""
    factor = next((placement.split_factor for placement in current if isinstance(placement, _StridedShard)), None)
    if factor is None:
        return options

    def strided(placement: Placement) -> Placement:
        return _StridedShard(placement.dim, factor) if isinstance(placement, Shard) else placement

    return [*(Strategy(tuple(map(strided, option.inputs)), strided(option.output)) for option in options), *options]


def _cheapest(
    options: Sequence[Strategy],
    specs: Sequence[DTensorSpec],
    current: Sequence[Placement],
    size: int,
    in_place: bool,
    call: Call,
) -> Strategy:
    """Return the strategy with the lowest redistribution cost. An in-place operation must keep the placement of its tensor."""
    if in_place:
        options = [option for option in options if option.inputs[0] == option.output == current[0]]
        if not options:
            raise RuntimeError(f"{call.name}_: in-place operations on a DTensor that is {current[0]} cannot change its placement")
    costs = [sum(map(_cost, current, option.inputs, specs, [size] * len(specs))) for option in options]
    return options[costs.index(min(costs))]


def _cost(source: Placement, goal: Placement, spec: DTensorSpec, size: int) -> float:
    """Estimate the number of elements a process sends to change a placement. Dropping local data costs almost nothing."""
    count = max(1, math.prod(spec.shape)) * (size - 1) / size
    if source == goal:
        return 0
    if isinstance(source, Replicate):
        return 0.5
    if isinstance(source, Partial):
        return 1 + (count if isinstance(goal, Shard) else 2 * count)
    return 1 + (count / size if isinstance(goal, Shard) else count * (10 if isinstance(goal, Partial) else 1))


# --- the local computation -------------------------------------------------------------------------------------------


def _compute(func: Any, name: str, args: Any, kwargs: Any, plan: Plan) -> Any:
    if name in _view_strategies.SHAPED and plan.outputs is not None:
        spec = plan.outputs[0]
        args = (args[0], local_shape(spec.shape, spec.mesh, spec.placements), *args[2:])
    elif name in _SHARDED and any(placement.is_shard(_SHARDED[name][0]) for placement in plan.inputs[0].placements):
        return _SHARDED[name][1](plan.inputs[0], *args, **kwargs)
    return func(*args, **kwargs)


def _sharded_embedding(spec: DTensorSpec, weight: Tensor, indices: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Look up the rows in this process's shard, and use zeros for others. The sum over the processes is the embedding."""
    start = local_shape_and_offset(spec.shape, spec.mesh, spec.placements)[1][0]
    here = (indices >= start) & (indices < start + weight.size(0))
    if not weight.size(0):
        return weight.new_zeros((*indices.shape, weight.size(1)))
    rows = torch.nn.functional.embedding((indices - start).where(here, 0), weight)
    return rows.where(here.unsqueeze(-1), 0)


def _sharded_nll_loss(
    spec: DTensorSpec, input: Tensor, target: Tensor, weight: Any = None, reduction: str = "mean", ignore_index: int = -100
) -> Tensor:
    """Return the terms of `nll_loss` for this process's classes. The sum over the processes is the loss."""
    start = local_shape_and_offset(spec.shape, spec.mesh, spec.placements)[1][1]
    counted = target != ignore_index
    here = (target >= start) & (target < start + input.size(1)) & counted
    places = (target - start).where(here, 0).unsqueeze(1)
    found = input.gather(1, places).squeeze(1) if input.size(1) else input.new_zeros(target.shape)
    weights = counted.to(input.dtype) if weight is None else weight[target.where(counted, 0)] * counted
    losses = (-found * weights).where(here, 0)
    if reduction == "none":
        return losses
    return losses.sum() / weights.sum() if reduction == "mean" else losses.sum()


_SHARDED: dict[str, tuple[int, Callable[..., Tensor]]] = {
    "embedding": (0, _sharded_embedding),
    "nll_loss": (1, _sharded_nll_loss),
}  # operation -> (sharded dimension of its first argument, function of the local shard)


# --- softmax along a sharded dimension: only row maxima and sums are exchanged ------------------------------


def _is_sharded(tensor: Any, dim: Any) -> bool:
    dim = dim % max(1, tensor.ndim)
    return any(isinstance(placement, Shard) and placement.dim == dim for placement in tensor.placements)


def _softmax(input: Any, dim: int) -> Any:
    terms = (input - input.amax(dim, keepdim=True)).exp()
    return terms / terms.sum(dim, keepdim=True)


def _log_softmax(input: Any, dim: int) -> Any:
    shifted = input - input.amax(dim, keepdim=True)
    return shifted - shifted.exp().sum(dim, keepdim=True).log()


_SHARDED_DIM = {"softmax": _softmax, "log_softmax": _log_softmax}


# --- random numbers --------------------------------------------------------------------------------------------------

_RANDOM = frozenset({
    "bernoulli_", "uniform_", "normal_", "exponential_", "random_", "cauchy_", "log_normal_", "geometric_", "rand_like",
    "randn_like", "randint_like", "bernoulli", "normal", "poisson",
})  # fmt: skip


def _draw(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Draw random numbers for a DTensor: each process draws those of the global tensor, and keeps its part.

    All processes draw the same numbers if their generators have the same state.
    """
    target: Any = next(leaf for leaf in tree_flatten((args, kwargs))[0] if hasattr(leaf, "_spec"))
    spec = target._spec
    if any(isinstance(placement, Partial) for placement in spec.placements):
        raise RuntimeError(f"{func}: random numbers are not supported for tensors with Partial placements ({spec})")

    def whole(leaf: Any) -> Any:
        if not hasattr(leaf, "_spec"):
            return leaf
        if func.__name__.split(".")[0] in ("bernoulli", "normal", "poisson"):
            return leaf.full_tensor()
        return torch.empty_strided(leaf.shape, leaf.stride(), dtype=leaf.dtype, device=leaf._local_tensor.device)

    args, kwargs = tree_map(whole, args), tree_map(whole, kwargs)
    drawn = func(*args, **kwargs)
    replicated = spec.with_placements([Replicate()] * spec.mesh.ndim)
    part = redistribute_local_tensor(drawn, replicated, spec)
    if func._packet.__name__.endswith("_"):
        target._local_tensor.copy_(part)
        return target
    meta = TensorMeta(drawn.shape, drawn.stride(), drawn.dtype)
    return type(target)(part, DTensorSpec(spec.mesh, spec.placements, meta), requires_grad=False)
