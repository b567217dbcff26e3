"""Post-local SGD, differentiable collectives, `local_map`, activation checkpointing, and other names of `distributed`."""

from __future__ import annotations

import importlib
from collections import OrderedDict

import pytest
from distributed_jobs import assert_job_ends, assert_same_weights
from flambeau.distributed.algorithms._checkpoint.checkpoint_wrapper import (
    CheckpointImpl,
    CheckpointWrapper,
    apply_activation_checkpointing,
    checkpoint_wrapper,
    offload_wrapper,
)
from flambeau.distributed.algorithms.ddp_comm_hooks.debugging_hooks import noop_hook
from flambeau.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook import PostLocalSGDState, post_localSGD_hook
from flambeau.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
from flambeau.distributed.algorithms.model_averaging.hierarchical_model_averager import HierarchicalModelAverager
from flambeau.distributed.device_mesh import init_device_mesh
from flambeau.distributed.optim import DistributedOptimizer, PostLocalSGDOptimizer, as_functional_optim
from flambeau.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from flambeau.distributed.tensor.experimental import implicit_replication, local_map, register_sharding

import flambeau as torch
import flambeau.distributed as dist
from flambeau import nn
from flambeau.distributed import _functional_collectives as functional
from flambeau.distributed import nn as collectives
from flambeau.nn.parallel import DistributedDataParallel


def one_weight(value=0.0):
    layer = nn.Linear(1, 1, bias=False)
    nn.init.constant_(layer.weight, value)
    return layer


def assert_post_local_sgd(rank, size):
    """Two steps with averaged gradients, then two steps with local gradients. The last step averages the weights."""
    net = DistributedDataParallel(one_weight())
    state = PostLocalSGDState(None, dist.new_subgroups(1)[0], start_localSGD_iter=2)
    net.register_comm_hook(state, post_localSGD_hook)
    local = torch.optim.SGD(net.parameters(), lr=1.0)
    optimizer = PostLocalSGDOptimizer(local, PeriodicModelAverager(2, warmup_steps=3))
    seen = []
    for _ in range(4):
        optimizer.zero_grad()
        net(torch.full((1, 1), 1.0 + rank)).sum().backward()
        optimizer.step()
        seen.append(net.module.weight.item())
    mean = (1 + size) / 2
    assert seen == [-mean, -2 * mean, -2 * mean - (1 + rank), -4 * mean]
    kept = optimizer.state_dict()
    assert kept["step"] == 4
    fresh = PostLocalSGDOptimizer(local, PeriodicModelAverager(2))
    fresh.load_state_dict(kept)
    assert fresh.averager.step == 4
    plain = DistributedDataParallel(one_weight())
    plain.register_comm_hook(None, noop_hook)
    plain(torch.full((1, 1), 1.0 + rank)).sum().backward()
    assert plain.module.weight.grad.item() == 1 + rank
    with pytest.raises(ValueError, match="``period`` must be a positive"):
        PeriodicModelAverager(0)
    averager = HierarchicalModelAverager(OrderedDict([(1, 1), (2, size)]))
    parameter = nn.Parameter(torch.full((1,), float(rank)))
    parameter.grad = torch.zeros(1)
    averager.average_parameters([parameter])
    assert parameter.item() == (size - 1) / 2
    with torch.no_grad():
        parameter.fill_(rank)
    averager.average_parameters([parameter])
    assert parameter.item() == rank


def assert_gradients_of_collectives(rank, size):
    """Check gradients through collectives. The loss is the sum over all processes of `rank + 1` times the process's result."""
    total = size * (size + 1) / 2

    def gradient(function):
        x = torch.full((size,), 1.0 + rank, requires_grad=True)
        (function(x).sum() * (rank + 1)).backward()
        return x.grad

    assert torch.equal(gradient(collectives.all_reduce), torch.full((size,), total))
    assert torch.equal(gradient(lambda x: torch.cat(collectives.all_gather(x))), torch.full((size,), total))
    assert torch.equal(gradient(lambda x: collectives.broadcast(x, 0)), torch.full((size,), total * (rank == 0)))
    places = torch.arange(1.0, size + 1)
    assert torch.equal(gradient(lambda x: collectives.reduce_scatter(x[:1], list(x.split(1)))), places)
    assert torch.equal(gradient(lambda x: collectives.all_to_all_single(torch.empty(size), x)), places)


def assert_results_of_collectives(rank, size):
    x = torch.full((size, 2), 1.0 + rank)
    mean = (1 + size) / 2
    assert torch.equal(functional.wait_tensor(functional.all_reduce(x, "avg", None)), torch.full((size, 2), mean))
    mesh = init_device_mesh("cpu", (size,))
    assert functional.all_gather_tensor(x, 1, mesh)[0].tolist() == [1.0 + place // 2 for place in range(2 * size)]
    assert torch.equal(functional.reduce_scatter_tensor(x, "sum", 0, (mesh, 0)), torch.full((1, 2), mean * size))
    assert torch.equal(functional.broadcast(x, 1, None), torch.full((size, 2), 2.0)) and x[0, 0] == 1 + rank


def assert_functions_on_local_tensors(rank, size):
    mesh = init_device_mesh("cpu", (size,))
    x = distribute_tensor(torch.arange(8.0).view(4, 2), mesh, [Shard(0)])
    doubled = local_map(lambda local: local * 2, out_placements=[Shard(0)], in_placements=([Shard(0)],))
    assert type(doubled(x)) is DTensor and torch.equal(doubled(x).full_tensor(), torch.arange(8.0).view(4, 2) * 2)
    with pytest.raises(ValueError, match="mismatched placements"):
        doubled(x.redistribute(placements=[Replicate()]))
    with implicit_replication():
        assert torch.equal((x + torch.ones(4, 2)).full_tensor(), torch.arange(8.0).view(4, 2) + 1)

    @register_sharding(torch.ops.aten.tan.default)
    def tan(x):
        return [([Replicate()], [Replicate()])]

    assert x.tan().placements == (Replicate(),) and x.sin().placements == (Shard(0),)


def test_on_two_processes():
    assert_job_ends(
        2,
        assert_post_local_sgd,
        assert_gradients_of_collectives,
        assert_results_of_collectives,
        assert_functions_on_local_tensors,
    )


def test_optimizers_take_gradients():
    layers = [nn.Linear(2, 2), nn.Linear(2, 2)]
    layers[1].load_state_dict(layers[0].state_dict())
    functional = as_functional_optim(torch.optim.Adam, lr=0.1)
    optimizer = torch.optim.Adam(layers[1].parameters(), lr=0.1)
    for _ in range(3):
        for mine, other in zip(layers[0].parameters(), layers[1].parameters(), strict=True):
            other.grad = torch.ones_like(other)
            functional.step_param(mine, torch.ones_like(mine))
        optimizer.step()
    assert_same_weights(layers[0], layers[1], 0)
    with pytest.raises(ValueError, match="does not have a functional counterpart"):
        as_functional_optim(torch.optim.LBFGS)
    with pytest.raises(RuntimeError, match="RPC framework"):
        DistributedOptimizer(torch.optim.SGD, [])
    assert not importlib.import_module("flambeau.distributed.rpc").is_available()


@pytest.mark.parametrize("kind", [CheckpointImpl.NO_REENTRANT, CheckpointImpl.REENTRANT])
def test_layers_compute_again(kind):
    calls = []

    class Layer(nn.Linear):
        def forward(self, x):
            calls.append(1)
            return super().forward(x).tanh()

    net = nn.Sequential(Layer(2, 2), Layer(2, 2))
    names = list(net.state_dict())
    x = torch.ones(1, 2, requires_grad=True)
    net(x).sum().backward()
    expected, calls[:] = net[0].weight.grad.clone(), []
    net.zero_grad()
    apply_activation_checkpointing(net, lambda layer: checkpoint_wrapper(layer, kind), lambda layer: isinstance(layer, Layer))
    assert all(isinstance(layer, CheckpointWrapper) for layer in net)
    net(x).sum().backward()
    assert len(calls) == 4 and torch.equal(net[0].weight.grad, expected)
    assert list(net.state_dict()) == names
    net.load_state_dict(net.state_dict())
    offloaded = offload_wrapper(nn.Linear(2, 2))
    offloaded(x).sum().backward()
    assert list(offloaded.state_dict()) == ["weight", "bias"]


NAMES = [
    "tensor",
    "tensor.parallel",
    "tensor.placement_types",
    "tensor.device_mesh",
    "tensor._dtensor_spec",
    "tensor.experimental",
    "_tensor",
    "device_mesh",
    "fsdp",
    "fsdp.api",
    "fsdp.wrap",
    "fsdp.fully_sharded_data_parallel",
    "fsdp.sharded_grad_scaler",
    "fsdp._fully_shard",
    "_composable",
    "_composable.fsdp",
    "checkpoint",
    "checkpoint.state_dict",
    "checkpoint.stateful",
    "checkpoint.metadata",
    "checkpoint.planner",
    "checkpoint.default_planner",
    "checkpoint.filesystem",
    "checkpoint.storage",
    "checkpoint.optimizer",
    "checkpoint.format_utils",
    "checkpoint.hf_storage",
    "checkpoint.state_dict_saver",
    "checkpoint.state_dict_loader",
    "algorithms.join",
    "algorithms.model_averaging.averagers",
    "algorithms._checkpoint.checkpoint_wrapper",
    "algorithms.ddp_comm_hooks.default_hooks",
    "algorithms.ddp_comm_hooks.powerSGD_hook",
    "algorithms.ddp_comm_hooks.post_localSGD_hook",
    "algorithms.ddp_comm_hooks.debugging_hooks",
    "optim",
    "optim.utils",
    "nn",
    "nn.functional",
    "autograd",
    "rpc",
    "distributed_c10d",
]


@pytest.mark.parametrize("name", NAMES)
def test_modules_that_libraries_import(name):
    module = importlib.import_module(f"flambeau.distributed.{name}")
    assert module.__doc__ and all(hasattr(module, public) for public in getattr(module, "__all__", ()))


def test_the_classes_for_uneven_inputs_are_in_the_package_of_algorithms():
    algorithms = importlib.import_module("flambeau.distributed.algorithms")
    join = importlib.import_module("flambeau.distributed.algorithms.join")
    assert (algorithms.Join, algorithms.JoinHook, algorithms.Joinable) == (join.Join, join.JoinHook, join.Joinable)


def test_flattened_dimensions_of_a_mesh():
    dist.init_process_group("fake", store=dist.HashStore(), rank=5, world_size=8)
    try:
        mesh = init_device_mesh("cpu", (2, 2, 2), mesh_dim_names=("a", "b", "c"))
        flat = mesh["b", "c"]._flatten("bc")
        assert flat.mesh.dtype == torch.int32 and flat.mesh.tolist() == [4, 5, 6, 7] == mesh["bc"].mesh.tolist()
        both = mesh["a", "bc"]
        assert both.mesh_dim_names == ("a", "bc") and both.mesh.tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]
        assert both.get_coordinate() == (1, 1) and mesh.get_coordinate() == (1, 0, 1)
        assert dist.get_process_group_ranks(mesh.get_group("bc")) == [4, 5, 6, 7] and mesh.get_local_rank("bc") == 1
        assert both["bc"].mesh.tolist() == [4, 5, 6, 7] and mesh["b", "c"]._flatten("bc") is flat
        for names in ("zz", ("bc", "a"), ("c", "a")):
            with pytest.raises(KeyError, match="Invalid mesh_dim_names"):
                mesh[names]
        with pytest.raises(RuntimeError, match="overlapping"):
            mesh["b", "bc"]
        with pytest.raises(ValueError, match="a already exists"):
            mesh._flatten("a")
        with pytest.raises(ValueError, match="created before"):
            mesh["b"]._flatten("bc")
    finally:
        dist.destroy_process_group()
